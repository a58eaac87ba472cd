// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The place of a signed statement in the order of its account's statements: a statement of a later root key is newer,
/// whatever its number. So a thief of a replaced root key cannot outnumber its successor.
package struct TrustPosition: Hashable, Comparable, Codable, Sendable {
    /// The number of the root key that signed the statement, from 1.
    package var root: Int
    package var number: UInt64

    package init(root: Int, number: UInt64) {
        self.root = root
        self.number = number
    }

    package static func < (one: TrustPosition, other: TrustPosition) -> Bool {
        (one.root, one.number) < (other.root, other.number)
    }
}
