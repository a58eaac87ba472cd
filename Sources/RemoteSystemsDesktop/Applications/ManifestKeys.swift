// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization
internal import ValueSets

/// Collects the keys of a manifest that this version does not know, while the manifest is decoded.
///
/// Later versions may add keys. An earlier version reports and ignores them, unless `requires` in the manifest lists
/// them.
final class UnknownKeys: Sendable {
    private static let userInfoKey = CodingUserInfoKey(rawValue: "RemoteSystems.UnknownKeys")
    private let found = Mutex<[[String]: String]>([:])

    /// The maximum number of unknown keys that are reported per file.
    private static let maxReported = 32
    /// The maximum number of characters of a key that are reported.
    private static let maxShown = 128

    /// Makes the decoder's containers record unknown keys.
    func note(from decoder: JSONDecoder) {
        if let key = Self.userInfoKey { decoder.userInfo[key] = self }
    }

    /// The collection of the decoder; `nil` if unknown keys are errors.
    static func collected(by decoder: any Decoder) -> UnknownKeys? {
        Self.userInfoKey.flatMap { decoder.userInfo[$0] as? UnknownKeys }
    }

    /// Records an unknown key.
    ///
    /// - Parameters:
    ///   - path: The path of the key from the top of the file. The last component is the key.
    ///   - known: The known keys at that place.
    func note(_ path: [String], known: some Sequence<String>) {
        let key = String((path.last ?? "").prefix(Self.maxShown))
        let hint = SimilarNames.closest(to: key, among: known).map { "Did you mean '\($0)'?" }
        let text =
            "'\(key)' is not known here and is ignored. "
            + (hint ?? "Known are: \(known.sorted().joined(separator: ", ")).")
        self.found.withLock { found in
            if found.count < Self.maxReported { found[path] = text }
        }
    }

    /// The recorded keys as warnings, in the order of the file.
    func warnings(about file: ConfigurationFile) -> [ConfigurationFileError] {
        let lines = JSONLines(file.bytes)
        return self.found.withLock { $0 }
            .map { ConfigurationFileError(path: file.path, line: lines.line(of: $0.key), $0.value) }
            .sorted { ($0.line ?? 0, $0.message) < ($1.line ?? 0, $1.message) }
    }
}

/// The names that a manifest's `requires` may contain: the keys that this version knows, each with its enclosing
/// object.
enum ManifestRequirement {
    private static let schemaKeys: Set<String> = ["base", "fields", "furtherKeys", "of", "required", "type"]

    /// The known names, such as `schemes`, `services.callers`, `start.exec` and `schema.furtherKeys`.
    static let known: Set<String> =
        ApplicationManifest.keys
        .union(ApplicationManifest.serviceKeys.map { "services.\($0)" })
        .union(ApplicationManifest.documentTypeKeys.map { "documentTypes.\($0)" })
        .union(ApplicationManifest.publisherKeys.map { "publisher.\($0)" })
        .union(ApplicationManifest.serviceExtensionKeys.map { "notificationServiceExtension.\($0)" })
        .union(ApplicationManifest.contentExtensionKeys.map { "notificationContentExtensions.\($0)" })
        .union(ApplicationStart.keys.map { "start.\($0)" })
        .union(Self.schemaKeys.map { "schema.\($0)" })

    /// The reason why a manifest that requires the name cannot be used; `nil` if it can.
    static func refusal(of name: String) -> String? {
        guard !Self.known.contains(name) else { return nil }
        let hint = SimilarNames.question(for: name, among: Self.known)
        return
            "The manifest requires '\(name)', which this version does not know, so the application is omitted.\(hint) "
            + "Otherwise update the host daemon, or remove the name from 'requires'."
    }
}

extension Decoder {
    /// Returns a container for the known keys.
    ///
    /// Unknown keys are recorded if the decoder collects them; otherwise they are errors.
    func tolerantContainer<Key: CodingKey & CaseIterable>(
        keyedBy type: Key.Type
    ) throws -> KeyedDecodingContainer<Key> {
        guard let unknown = UnknownKeys.collected(by: self) else { return try self.strictContainer(keyedBy: type) }
        let known = Key.allCases.map(\.stringValue)
        let path = self.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
        for key in try self.container(keyedBy: FileKey.self).allKeys where !known.contains(key.stringValue) {
            unknown.note(path + [key.stringValue], known: known)
        }
        return try self.container(keyedBy: type)
    }
}
