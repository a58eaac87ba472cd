// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems

/// The manifests of the installed applications, as they were read from their directories.
struct InstalledManifests: Sendable {
    /// The maximum number of manifests.
    private static let maxCount = 256

    /// The manifests, by application id.
    private(set) var manifests: [String: ApplicationManifest] = [:]
    /// The paths of the manifests, by application id.
    private(set) var files: [String: String] = [:]
    private(set) var problems: [ConfigurationFileError] = []
    /// The ids of applications whose manifests have a signature that is not valid.
    private(set) var badlySigned: Set<String> = []
    /// Whether a manifest that cannot be used states a publisher.
    private(set) var hasDamagedSignature = false
    /// Shows a change of the files without reading them.
    private(set) var stamp: [FileStamp] = []

    /// Creates an empty list.
    init() {}

    /// Reads all manifests, which blocks for the time of file access.
    init(in directories: [String]) {
        self.stamp = Self.stamp(of: directories)
        // An invalid manifest also hides those of the same name in later directories: it was meant to replace them.
        var seen: Set<String> = []
        for directory in directories {
            for name in Self.names(in: directory) where seen.insert(name).inserted {
                let path = "\(directory)/\(name)"
                do throws(ConfigurationFileError) {
                    guard seen.count <= Self.maxCount else {
                        throw ConfigurationFileError(
                            path: path,
                            "The manifest is omitted: there are more than \(Self.maxCount) manifests."
                        )
                    }
                    guard let file = try ConfigurationFile(path: path, limit: ApplicationManifest.largestFile) else {
                        // A file may have been removed since it was listed. A symbolic link is still there.
                        guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil else {
                            continue
                        }
                        throw ConfigurationFileError(
                            path: path,
                            "The manifest is a link to a file that does not exist."
                        )
                    }
                    guard let manifest = ApplicationManifest.read(file, problems: &self.problems) else {
                        // The file may be no JSON any more.
                        if String(decoding: file.bytes, as: UTF8.self).contains("\"publisher\"") {
                            self.hasDamagedSignature = true
                        }
                        do throws(IdentityError) {
                            _ = try ManifestSignature(of: file.bytes)
                        } catch {
                            self.badlySigned.insert(String(name.dropLast(".json".count)))
                        }
                        continue
                    }
                    self.manifests[manifest.application.id] = manifest
                    self.files[manifest.application.id] = path
                } catch {
                    self.problems.append(error)
                }
            }
        }
    }

    /// The keys that this version does not know.
    var warnings: [ConfigurationFileError] {
        self.manifests.sorted { $0.key < $1.key }.flatMap(\.value.warnings)
    }

    private static func names(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
    }

    /// Shows a change of a file, or of the target of a symbolic link, without reading it.
    struct FileStamp: Hashable {
        var path: String
        var status: FileStatus?

        init(_ path: String) {
            self.path = path
            self.status = FileStatus(following: path)
        }
    }

    static func stamp(of directories: [String]) -> [FileStamp] {
        directories.flatMap { directory in
            let names = Self.names(in: directory)
            // A directory without manifests has no stamp: it may not exist.
            let paths = names.prefix(Self.maxCount + 1).map { "\(directory)/\($0)" }
            return (names.isEmpty ? [] : [directory] + paths).map { FileStamp($0) }
        }
    }
}
