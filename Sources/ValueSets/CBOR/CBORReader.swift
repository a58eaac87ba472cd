// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import NIOCore

/// Reads consecutive CBOR items from memory and accepts only the canonical form.
///
/// The items of an array can be read one by one:
///
/// ```swift
/// let entry = try CBORReader.read(buffer) { reader throws(ValueSetError) in
///     let count = try reader.readArrayHead()
///     let kind = try reader.readUnsigned()
///     …
///     let message = try reader.readValueSet()
///     try reader.finish()
///     return …
/// }
/// ```
///
/// It is memory-safe for two reasons. Every read checks the number of remaining bytes. A reader exists only inside
/// ``read(_:limits:_:)``: it cannot be created elsewhere or copied out.
@safe
package struct CBORReader: ~Copyable {
    let limits: ValueSetLimits
    private let base: UnsafeRawPointer
    private let count: Int
    /// The object that keeps the bytes in memory, if it can be shared, and the size of its storage.
    private let owner: Unmanaged<AnyObject>?
    private let ownedBytes: Int
    /// The number of bytes read so far.
    package private(set) var offset = 0
    private var items = 0

    private init(
        _ bytes: UnsafeRawBufferPointer,
        owner: Unmanaged<AnyObject>?,
        ownedBytes: Int,
        limits: ValueSetLimits
    ) {
        self.limits = limits
        unsafe self.owner = owner
        self.ownedBytes = ownedBytes
        // An empty buffer may have no address. Any address works then, because it is never read.
        unsafe base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        count = bytes.count
    }

    /// Reads from the buffer's readable bytes without moving the buffer's indices. Data that takes at least half of the
    /// buffer's storage is not copied but shares that storage.
    @inline(__always)
    package static func read<Result, Failure: Error>(
        _ buffer: ByteBuffer,
        limits: ValueSetLimits = .defaults,
        _ body: (inout CBORReader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe buffer.withUnsafeReadableBytesWithStorageManagement { bytes, owner throws(Failure) in
            var reader = unsafe CBORReader(bytes, owner: owner, ownedBytes: buffer.storageCapacity, limits: limits)
            return try body(&reader)
        }
    }

    /// Reads from `bytes`.
    @inline(__always)
    package static func read<Result, Failure: Error>(
        _ bytes: RawSpan,
        limits: ValueSetLimits = .defaults,
        _ body: (inout CBORReader) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe bytes.withUnsafeBytes { bytes throws(Failure) in
            var reader = unsafe CBORReader(bytes, owner: nil, ownedBytes: 0, limits: limits)
            return try body(&reader)
        }
    }

    // MARK: Items

    /// The number of bytes that are left.
    package var remaining: Int { count - offset }

    /// Checks that all bytes have been read.
    ///
    /// - Throws: ``ValueSetError/Code/trailingBytes``.
    package func finish() throws(ValueSetError) {
        guard offset == count else { throw .trailingBytes(count - offset, at: offset) }
    }

    /// Reads the head of an array. Its items come next.
    ///
    /// - Returns: The number of items that follow. It is never greater than the number of bytes left.
    package mutating func readArrayHead() throws(ValueSetError) -> Int {
        let initial = try readInitial(CBORMajor.array, expecting: "an array")
        return try readCount(initial, bytesEach: 1)
    }

    /// Reads a non-negative integer.
    package mutating func readUnsigned() throws(ValueSetError) -> UInt64 {
        let initial = try readInitial(CBORMajor.unsigned, expecting: "an integer from 0 on")
        return try readArgument(initial)
    }

    /// Skips one item of any kind, including unknown tags and simple values.
    ///
    /// Checks lengths, depth and the number of items, but not text.
    package mutating func skipItem() throws(ValueSetError) {
        try skipItem(depth: 1)
    }

    private mutating func skipItem(depth: Int) throws(ValueSetError) {
        let initial = try readInitial()
        switch initial & 0xe0 {
        case CBORMajor.bytes, CBORMajor.text:
            _ = unsafe take(try readCount(initial, bytesEach: 1))
        case CBORMajor.array:
            let count = try readCount(initial, bytesEach: 1)
            try enter(count: count, depth: depth)
            for _ in 0..<count { try skipItem(depth: depth + 1) }
        case CBORMajor.map:
            let count = try readCount(initial, bytesEach: 2)
            try enter(count: count, depth: depth)
            for _ in 0..<count {
                try skipItem(depth: depth + 1)
                try skipItem(depth: depth + 1)
            }
        case CBORMajor.tag:
            _ = try readArgument(initial)
            try enter(count: 1, depth: depth)
            try skipItem(depth: depth + 1)
        case CBORMajor.simple:
            switch initial & 0x1f {
            case 0..<24: break
            case 24:
                // A value below 32 in this form is not well-formed (RFC 8949, section 3.3).
                guard try read(UInt8.self) >= 32 else { throw .unsupportedSimple(initial, at: offset - 2) }
            case 25: _ = unsafe take(try requireRemaining(2))
            case 26: _ = unsafe take(try requireRemaining(4))
            case 27: _ = unsafe take(try requireRemaining(8))
            default: throw .indefiniteOrReserved(initial, at: offset - 1)
            }
        default:
            _ = try readArgument(initial)
        }
    }

    // MARK: Heads

    @inline(__always)
    private func peek() -> UInt8 {
        unsafe base.load(fromByteOffset: offset, as: UInt8.self)
    }

    /// Reads the first byte of the next item: the major type and the beginning of its argument.
    @inline(__always)
    mutating func readInitial() throws(ValueSetError) -> UInt8 {
        guard offset < count else { throw .truncated(at: offset) }
        let byte = peek()
        offset += 1
        return byte
    }

    @inline(__always)
    mutating func readInitial(_ major: UInt8, expecting kind: StaticString) throws(ValueSetError) -> UInt8 {
        let initial = try readInitial()
        guard initial & 0xe0 == major else { throw .unexpectedItem(at: offset - 1, expecting: kind) }
        return initial
    }

    @inline(__always)
    mutating func readArgument(_ initial: UInt8) throws(ValueSetError) -> UInt64 {
        let argument = initial & 0x1f
        return argument < 24 ? UInt64(argument) : try readLongArgument(initial)
    }

    private mutating func readLongArgument(_ initial: UInt8) throws(ValueSetError) -> UInt64 {
        let start = offset - 1
        let argument: UInt64
        let smallest: UInt64
        switch initial & 0x1f {
        case 24: (argument, smallest) = (UInt64(try read(UInt8.self)), 24)
        case 25: (argument, smallest) = (UInt64(try read(UInt16.self)), 1 << 8)
        case 26: (argument, smallest) = (UInt64(try read(UInt32.self)), 1 << 16)
        case 27: (argument, smallest) = (try read(UInt64.self), 1 << 32)
        default: throw .indefiniteOrReserved(initial, at: start)
        }
        guard argument >= smallest else { throw .notShortest(at: start) }
        return argument
    }

    /// Reads a length or count, and checks it against the remaining bytes before any memory is allocated for it.
    @inline(__always)
    mutating func readCount(_ initial: UInt8, bytesEach: UInt64) throws(ValueSetError) -> Int {
        let start = offset - 1
        let argument = try readArgument(initial)
        guard argument <= UInt64(truncatingIfNeeded: remaining) / bytesEach else { throw .truncated(at: start) }
        return Int(truncatingIfNeeded: argument)
    }

    @inline(__always)
    mutating func read<Integer: FixedWidthInteger>(_: Integer.Type) throws(ValueSetError) -> Integer {
        let bytes = unsafe take(try requireRemaining(MemoryLayout<Integer>.size))
        return unsafe Integer(bigEndian: bytes.loadUnaligned(as: Integer.self))
    }

    @inline(__always)
    private func requireRemaining(_ length: Int) throws(ValueSetError) -> Int {
        guard length <= remaining else { throw .truncated(at: offset) }
        return length
    }

    /// Returns the address of the next `length` bytes and moves past them. The caller must have checked that they
    /// exist.
    @inline(__always)
    @unsafe
    mutating func take(_ length: Int) -> UnsafeRawPointer {
        let start = unsafe base + offset
        offset += length
        return unsafe start
    }

    /// The address of a byte that was already read.
    @inline(__always)
    @unsafe
    func pointer(at offset: Int) -> UnsafeRawPointer {
        unsafe base + offset
    }

    /// Returns the next `length` bytes. The caller must have checked that they exist.
    mutating func takeData(_ length: Int) -> Data {
        // Sharing keeps the whole storage in memory, so the data must be large and at least half of it. TLS would also
        // have to copy the whole shared storage in order to reuse it.
        guard let owner = unsafe owner, length >= Self.minSharedBytes, length >= ownedBytes / 2 else {
            return unsafe Data(bytes: take(length), count: length)
        }
        let kept = unsafe owner.takeUnretainedValue()
        return unsafe Data(
            bytesNoCopy: UnsafeMutableRawPointer(mutating: take(length)),
            count: length,
            deallocator: .custom { _, _ in withExtendedLifetime(kept) {} }
        )
    }

    private static var minSharedBytes: Int { 16 << 10 }

    @inline(__always)
    mutating func readText(_ initial: UInt8) throws(ValueSetError) -> String {
        let start = offset - 1
        let length = try readCount(initial, bytesEach: 1)
        let utf8 = unsafe take(length).assumingMemoryBound(to: UInt8.self)
        do {
            // Several times faster than String(validating:as:), which looks up generic metadata at run time.
            return unsafe String(copying: try UTF8Span(validating: Span(_unsafeStart: utf8, count: length)))
        } catch {
            throw .invalidUTF8(at: start)
        }
    }

    /// Counts a collection's elements against the limits.
    @inline(__always)
    mutating func enter(count: Int, depth: Int) throws(ValueSetError) {
        guard depth <= limits.depth else { throw .tooDeep(limits: limits, at: offset) }
        items += count
        guard items <= limits.items else { throw .tooManyItems(limits: limits, at: offset) }
    }
}
