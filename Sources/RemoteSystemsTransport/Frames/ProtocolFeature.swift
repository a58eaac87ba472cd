// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// Named additions to the protocol, which each side says that it has (`Docs/wire-protocol.md`, section 10).
///
/// One is used on a connection if both sides have it, and after the connection is open only.
package enum ProtocolFeature {
    /// The features that this version has.
    package static let known: Set<String> = []

    /// Whether a text has the form of a feature's name: 1 to 64 of `a`–`z`, `0`–`9`, `-` and `.`.
    static func isName(_ text: String) -> Bool { WireFailure.isCode(text) }
}

extension ValueSet {
    /// A list of features; empty if there is none under the key.
    ///
    /// - Parameter placeholder: stands for entries of another form; `nil` passes over them.
    func features(_ key: String, orElse placeholder: String? = nil) throws(ValueSetError) -> Set<String> {
        guard let value = self[key] else { return [] }
        guard let entries = value.array else {
            throw ValueSetError(.typeMismatch, "'\(key)' is no array")
        }
        return Set(
            entries.compactMap { entry in
                entry.string.flatMap { ProtocolFeature.isName($0) ? $0 : nil } ?? placeholder
            }
        )
    }

    /// Writes a list of features; none if it is empty, so that those before features read what they know.
    mutating func write(features: Set<String>, under key: String) {
        if !features.isEmpty { self[key] = .array(features.sorted().map { .string($0) }) }
    }
}
