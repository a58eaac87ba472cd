// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

extension Value: Hashable {
    /// Returns whether the two values have the same encoding.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.integer(let left), .unsigned(let right)): left == right
        case (.unsigned(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.canonicalBits == right.canonicalBits
        case (.string(let left), .string(let right)): left.hasSameUTF8(as: right)
        case (.data(let left), .data(let right)): left == right
        case (.date(let left), .date(let right)): left == right || (left.isNaN && right.isNaN)
        case (.uuid(let left), .uuid(let right)): left == right
        case (.url(let left), .url(let right)): left.absoluteString.hasSameUTF8(as: right.absoluteString)
        case (.array(let left), .array(let right)): left == right
        case (.set(let left), .set(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left == right
        default: false
        }
    }

    /// Feeds the parts of the value that equality compares into the hasher.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let bool):
            hasher.combine(1 as UInt8)
            hasher.combine(bool)
        case .integer(let integer):
            hasher.combine(2 as UInt8)
            hasher.combine(UInt64(bitPattern: integer))
            hasher.combine(integer < 0)
        case .unsigned(let unsigned):
            hasher.combine(2 as UInt8)
            hasher.combine(unsigned)
            hasher.combine(false)
        case .double(let double):
            hasher.combine(3 as UInt8)
            hasher.combine(double.canonicalBits)
        case .string(let string):
            hasher.combine(4 as UInt8)
            string.hashUTF8(into: &hasher)
        case .data(let data):
            hasher.combine(5 as UInt8)
            // `Data` hashes only its first 80 bytes, so a peer could send a set of values that all collide.
            hasher.combine(data.count)
            unsafe data.withUnsafeBytes { bytes in unsafe hasher.combine(bytes: bytes) }
        case .date(let seconds):
            hasher.combine(6 as UInt8)
            hasher.combine((seconds + 0).canonicalBits)
        case .uuid(let uuid):
            hasher.combine(7 as UInt8)
            hasher.combine(uuid)
        case .url(let url):
            hasher.combine(8 as UInt8)
            url.absoluteString.hashUTF8(into: &hasher)
        case .array(let array):
            hasher.combine(9 as UInt8)
            hasher.combine(array)
        case .set(let set):
            hasher.combine(10 as UInt8)
            hasher.combine(set)
        case .dictionary(let dictionary):
            hasher.combine(11 as UInt8)
            hasher.combine(dictionary)
        }
    }
}

extension Double {
    /// The bit pattern, with one pattern for every NaN.
    var canonicalBits: UInt64 {
        isNaN ? 0x7ff8_0000_0000_0000 : bitPattern
    }
}
