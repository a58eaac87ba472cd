// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// A secret that all systems of an account share, so that they recognise each other's announcements and nobody else can
/// It proves nothing: whoever answers to an announcement must still be authorised.
package struct DiscoveryKey: Hashable, Sendable {
    package static let byteCount = 32
    package static let tagByteCount = 8

    package let bytes: [UInt8]

    /// A new random key.
    package init() {
        self.bytes = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
    }

    /// The key made of `bytes`, or nil unless there are 32 of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The tag of an announcement: the first 8 bytes of HMAC-SHA256(key, "remote-systems/1" ‖ instance name in UTF-8).
    ///
    /// Instance names are random and short-lived, so tags do not link one announcement to another.
    package func discoveryTag(instance: String) -> [UInt8] {
        var code = HMAC<SHA256>(key: SymmetricKey(data: self.bytes))
        code.update(data: Array("remote-systems/1".utf8))
        code.update(data: Array(instance.utf8))
        return Array(code.finalize().prefix(Self.tagByteCount))
    }

    /// Whether `tag` is the tag of `instance`, told in a time that does not depend on how much of it is right.
    package func matches(_ tag: [UInt8], instance: String) -> Bool {
        let expected = self.discoveryTag(instance: instance)
        guard tag.count == expected.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(tag, expected) {
            difference |= one ^ other
        }
        return difference == 0
    }
}

extension DiscoveryKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "DiscoveryKey(secret)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
