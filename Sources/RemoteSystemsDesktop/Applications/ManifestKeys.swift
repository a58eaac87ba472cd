// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Synchronization
internal import ValueSets

/// Collects the keys of a manifest that this version does not know, while the manifest is decoded.
///
/// A later version may add keys. An earlier one reports and ignores them, unless the manifest says in `requires` that it must not.
final class UnknownKeys: Sendable {
    private static let userInfoKey = CodingUserInfoKey(rawValue: "RemoteSystems.UnknownKeys")
    private let found = Mutex<[[String]: String]>([:])

    /// More of them in one file are not reported.
    private static let maxReported = 32

    /// Makes containers of the decoder note the keys that they do not know.
    func note(from decoder: JSONDecoder) {
        if let key = Self.userInfoKey { decoder.userInfo[key] = self }
    }

    /// What the decoder notes unknown keys in; `nil` if it has to refuse them.
    static func collected(by decoder: any Decoder) -> UnknownKeys? {
        Self.userInfoKey.flatMap { decoder.userInfo[$0] as? UnknownKeys }
    }

    /// Notes a key.
    ///
    /// - Parameters:
    ///   - path: where the key stands, from the top of the file; its last component is the key.
    ///   - known: the keys that are known there.
    func note(_ path: [String], known: some Sequence<String>) {
        let key = path.last ?? ""
        let hint = SimilarNames.closest(to: key, among: known).map { "Did you mean '\($0)'?" }
        let text =
            "'\(key)' is not known here and is ignored. "
            + (hint ?? "Known are: \(known.sorted().joined(separator: ", ")).")
        self.found.withLock { found in
            if found.count < Self.maxReported { found[path] = text }
        }
    }

    /// What was noted, in the order of the file.
    func warnings(about file: ConfigurationFile) -> [ConfigurationFileError] {
        let lines = JSONLines(file.bytes)
        return self.found.withLock { $0 }
            .map { ConfigurationFileError(path: file.path, line: lines.line(of: $0.key), $0.value) }
            .sorted { ($0.line ?? 0, $0.message) < ($1.line ?? 0, $1.message) }
    }
}

/// The names that a manifest's `requires` may hold: the keys that this version knows, each with the object that it stands in.
enum ManifestRequirement {
    private static let schemaKeys: Set<String> = ["base", "fields", "furtherKeys", "of", "required", "type"]

    /// Such as `schemes`, `services.callers`, `start.exec` and `schema.furtherKeys`.
    static let known: Set<String> =
        ApplicationManifest.keys
        .union(ApplicationManifest.serviceKeys.map { "services.\($0)" })
        .union(ApplicationStart.keys.map { "start.\($0)" })
        .union(Self.schemaKeys.map { "schema.\($0)" })

    /// Why a manifest cannot be used that requires this; `nil` if it can.
    static func refusal(of name: String) -> String? {
        guard !Self.known.contains(name) else { return nil }
        let hint = SimilarNames.question(for: name, among: Self.known)
        return
            "The manifest requires '\(name)', which this version does not know, so the application is left out.\(hint) "
            + "Otherwise update the host daemon, or remove the name from 'requires'."
    }
}

extension Decoder {
    /// A container for the keys that are known. Others are noted where the decoder collects them, and refused where it does not.
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
