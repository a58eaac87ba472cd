// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import UserNotifications

/// The directory of one extension. Its calls may block.
enum ExtensionFiles {
    /// Creates a directory that only this user can read.
    ///
    /// - Parameter parent: where it is created. Created if it does not exist.
    static func make(in parent: String) throws(NotificationError) -> String {
        _ = unsafe mkdir(parent, 0o700)
        var template = Array("\(parent)/XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            let reason = unsafe String(cString: strerror(errno))
            throw NotificationError(.notShown, "No directory can be created in \(parent): \(reason).")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes a directory, also if its owner has protected parts of it, or still writes.
    static func remove(_ directory: String, _ logger: Logger) {
        let files = FileManager.default
        var reason = ""
        for _ in 1...3 {
            guard files.fileExists(atPath: directory) else { return }
            do {
                return try files.removeItem(atPath: directory)
            } catch {
                reason = "\(error)"
                Self.unprotect(directory)
            }
        }
        logger.warning(
            "Files of an extension were not removed",
            metadata: ["directory": "\(directory)", "reason": "\(reason)"]
        )
    }

    private static func unprotect(_ directory: String) {
        unsafe chmod(directory, 0o700)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            let path = "\(directory)/\(name)"
            if Self.measure(path)?.isDirectory == true { Self.unprotect(path) }
        }
    }

    /// Whether the files in a directory use more disk space than they may, or are more than can be counted soon.
    ///
    /// - Parameter given: the size of the files that do not count.
    static func isTooLarge(_ directory: String, beside given: Int64) -> Bool {
        var rest = ExtensionLimits.maxDirectoryBytes + given
        var count = 0
        var directories = [directory]
        while let directory = directories.popLast() {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
                let path = "\(directory)/\(name)"
                guard let (bytes, isDirectory) = Self.measure(path) else { continue }
                rest -= bytes
                count += 1
                if rest < 0 || count > Self.maxFiles { return true }
                if isDirectory { directories.append(path) }
            }
        }
        return false
    }

    private static let maxFiles = 10_000

    private static func measure(_ path: String) -> (bytes: Int64, isDirectory: Bool)? {
        var bytes: Int64 = 0
        var isDirectory: CInt = 0
        guard unsafe remote_systems_measure(path, &bytes, &isDirectory) == 0 else { return nil }
        return (bytes, isDirectory != 0)
    }
}
