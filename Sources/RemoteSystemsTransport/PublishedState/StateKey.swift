// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The key of a record in a topic, for example `system` or `attribute/volume`.
///
/// Keys are compared by their UTF-8 bytes, as on the wire. Swift's string equality would treat canonically equivalent
/// texts as equal.
package struct StateKey: Sendable, Hashable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Whether the key's length is valid: 1 to ``StateLimits/keyBytes`` bytes.
    package var isValid: Bool { (1...StateLimits.keyBytes).contains(self.text.utf8.count) }

    /// The part of the key after the prefix; `nil` if the key does not begin with it.
    package func suffix(after prefix: String) -> String? {
        guard self.text.utf8.starts(with: prefix.utf8) else { return nil }
        return String(self.text.utf8.dropFirst(prefix.utf8.count))
    }

    package static func == (left: StateKey, right: StateKey) -> Bool {
        left.text.hasSameUTF8(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        self.text.hashUTF8(into: &hasher)
    }
}

extension StateKey: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { self.text }
}
