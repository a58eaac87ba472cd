// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// Named additions to the protocol, which each side offers in its hello or accept (`Docs/wire-protocol.md`, section
/// 10).
///
/// A feature is used on a connection only if both sides offer it, and only after the connection is open.
package enum ProtocolFeature {
    /// The features that this version offers.
    package static let known: Set<String> = []

    /// Whether a text has the form of a feature's name: 1 to 64 of `a`–`z`, `0`–`9`, `-` and `.`.
    static func isName(_ text: String) -> Bool { WireFailure.isCode(text) }
}

extension ValueSet {
    /// Reads a list of features; empty if the key is missing.
    ///
    /// - Parameter placeholder: replaces entries that are not feature names; `nil` ignores such entries.
    func features(_ key: String, orElse placeholder: String? = nil) throws(ValueSetError) -> Set<String> {
        guard let value = self[key] else { return [] }
        guard let entries = value.array else {
            throw ValueSetError(.typeMismatch, "'\(key)' is not an array")
        }
        return Set(
            entries.compactMap { entry in
                entry.string.flatMap { ProtocolFeature.isName($0) ? $0 : nil } ?? placeholder
            }
        )
    }

    /// Writes a list of features. An empty list is left out, because versions without features do not know the key.
    mutating func write(features: Set<String>, under key: String) {
        if !features.isEmpty { self[key] = .array(features.sorted().map { .string($0) }) }
    }
}
