// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// A secret that all systems of an account share, to recognise each other's advertisements.
///
/// A matching tag proves nothing: the advertised system must still be authorised when it connects.
package struct DiscoveryKey: Hashable, Sendable {
    package static let byteCount = 32
    package static let tagByteCount = 8

    package let bytes: [UInt8]

    /// Creates a random key.
    package init() {
        self.bytes = unsafe SymmetricKey(size: .bits256).withUnsafeBytes { unsafe Array($0) }
    }

    /// Creates a key from `bytes`; `nil` unless there are 32 of them.
    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The tag of an advertisement: the first 8 bytes of HMAC-SHA256(key, "remote-systems/1" ‖ instance name in UTF-8).
    ///
    /// Instance names are random and short-lived, so tags do not link advertisements to each other.
    package func discoveryTag(instance: String) -> [UInt8] {
        var code = HMAC<SHA256>(key: SymmetricKey(data: self.bytes))
        code.update(data: Array("remote-systems/1".utf8))
        code.update(data: Array(instance.utf8))
        return Array(code.finalize().prefix(Self.tagByteCount))
    }

    /// Whether `tag` is the tag of `instance`. Compares in constant time.
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
