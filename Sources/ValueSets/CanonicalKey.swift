// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

// Keys are ordered by their encoding (RFC 8949 §4.2.1): the shorter UTF-8 first, equal lengths bytewise. Swift's own order
// of strings goes by normalised scalars and would neither match the wire nor tell "é" from "e" + combining accent.

extension String {
    /// Whether both have the same UTF-8 bytes.
    @inline(__always)
    package func hasSameUTF8(as other: String) -> Bool {
        utf8.count == other.utf8.count && compareEqualLengthUTF8(with: other) == 0
    }

    /// Negative if this key comes first in canonical order, 0 if it is the same key, positive if it comes later.
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

/// What decides the order of most keys, so that sorting rarely looks at the strings: the length and the first 16 bytes.
struct CanonicalSortKey {
    /// Where the key stands before it is sorted.
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

    /// Whether this key comes first, or `nil` if the strings must be compared. Keys of one length are padded alike.
    @inline(__always)
    func precedes(_ other: CanonicalSortKey) -> Bool? {
        if length != other.length { return length < other.length }
        if head != other.head { return head < other.head }
        if tail != other.tail { return tail < other.tail }
        // The standard library does not promise a stable sort, so the place decides between equal keys.
        return length <= 16 ? index < other.index : nil
    }
}

/// Compares two runs of bytes of the same length: negative, 0 or positive.
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
