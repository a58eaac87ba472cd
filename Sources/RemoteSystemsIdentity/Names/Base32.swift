// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Base32 as in RFC 4648 §6, in lower case and without padding.
///
/// Only the canonical spelling is decoded, so two texts are equal exactly if their bytes are.
package enum Base32 {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var characters: [UInt8] = []
        var pending: UInt16 = 0
        var pendingBits = 0
        for byte in bytes {
            pending = (pending << 8) | UInt16(byte)
            pendingBits += 8
            while pendingBits >= 5 {
                pendingBits -= 5
                characters.append(Self.alphabet[Int((pending >> UInt16(pendingBits)) & 31)])
            }
        }
        if pendingBits > 0 {
            characters.append(Self.alphabet[Int((pending << UInt16(5 - pendingBits)) & 31)])
        }
        return String(decoding: characters, as: UTF8.self)
    }

    /// The bytes that `text` spells; `nil` unless it is the canonical spelling of exactly `count` bytes.
    package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
        guard text.utf8.count == (count * 8 + 4) / 5 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var pending: UInt16 = 0
        var pendingBits = 0
        for character in text.utf8 {
            let value: UInt8
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
            default: return nil
            }
            pending = ((pending << 5) | UInt16(value)) & 0xFFF
            pendingBits += 5
            if pendingBits >= 8 {
                pendingBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt16(pendingBits)))
            }
        }
        // Bits beyond the last whole byte have no meaning. A text that sets them is a second spelling of the same
        // bytes.
        guard pending & ((1 << UInt16(pendingBits)) - 1) == 0, bytes.count == count else { return nil }
        return bytes
    }
}
