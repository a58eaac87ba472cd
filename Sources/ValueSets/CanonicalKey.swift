// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Keys are ordered by their encoding (RFC 8949 §4.2.1): shorter UTF-8 first, equal lengths bytewise. Swift's own string
// order uses normalised scalars. It differs from the wire order and treats "é" and "e" + combining accent as equal.

extension String {
    /// Whether the two strings have the same UTF-8 bytes.
    @inline(__always)
    package func hasSameUTF8(as other: String) -> Bool {
        utf8.count == other.utf8.count && compareEqualLengthUTF8(with: other) == 0
    }

    /// Negative if this key comes first in canonical order, 0 if the keys are equal, positive if it comes later.
    @inline(__always)
    func canonicalOrder(to other: String) -> Int {
        let difference = utf8.count - other.utf8.count
        return difference != 0 ? difference : compareEqualLengthUTF8(with: other)
    }

    package func hashUTF8(into hasher: inout Hasher) {
        var copy = self
        copy.withUTF8 { bytes in unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes)) }
        hasher.combine(0xff as UInt8)
    }

    private func compareEqualLengthUTF8(with other: String) -> Int {
        let left = utf8Span.span
        let right = other.utf8Span.span
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe compareBytes(left.baseAddress, right.baseAddress, count: left.count)
            }
        }
    }
}

/// The length and the first 16 bytes of a key. They decide the order of most keys, so that sorting rarely compares
/// strings.
struct CanonicalSortKey {
    /// The key's position before sorting.
    let index: Int
    private let length: Int
    private let head: UInt64
    private let tail: UInt64

    init(_ key: String, index: Int) {
        self.index = index
        length = key.utf8.count
        var head: UInt64 = 0
        var tail: UInt64 = 0
        for (offset, byte) in key.utf8.prefix(16).enumerated() {
            if offset < 8 { head = head << 8 | UInt64(byte) } else { tail = tail << 8 | UInt64(byte) }
        }
        self.head = head
        self.tail = tail
    }

    /// Whether this key comes first; `nil` if the strings must be compared. Both keys are padded to 16 bytes with
    /// zeros.
    @inline(__always)
    func precedes(_ other: CanonicalSortKey) -> Bool? {
        if length != other.length { return length < other.length }
        if head != other.head { return head < other.head }
        if tail != other.tail { return tail < other.tail }
        // The standard library does not promise a stable sort, so the position decides between equal keys.
        return length <= 16 ? index < other.index : nil
    }
}

/// Compares two byte ranges of the same length. Returns a negative number, 0 or a positive number.
@inline(__always)
func compareBytes(_ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?, count: Int) -> Int {
    guard let left = unsafe left, let right = unsafe right else { return 0 }
    var offset = 0
    // Eight bytes at a time, most significant first, so that the integers compare as the bytes do.
    while offset + 8 <= count {
        let leftWord = unsafe UInt64(bigEndian: left.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        let rightWord = unsafe UInt64(bigEndian: right.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        if leftWord != rightWord { return leftWord < rightWord ? -1 : 1 }
        offset += 8
    }
    while offset < count {
        let leftByte = unsafe left.load(fromByteOffset: offset, as: UInt8.self)
        let rightByte = unsafe right.load(fromByteOffset: offset, as: UInt8.self)
        if leftByte != rightByte { return leftByte < rightByte ? -1 : 1 }
        offset += 1
    }
    return 0
}
