// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import NIOCore

/// Writes an encoding into memory of the length that ``CBORMeasure`` computed.
///
/// It is memory-safe because every write checks the remaining space.
@safe
package struct CBORSink {
    private var cursor: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer

    /// Creates a sink. The memory must outlive it.
    @unsafe
    init(_ memory: UnsafeMutableRawBufferPointer, at start: UnsafeMutableRawPointer) {
        unsafe cursor = start
        unsafe end = start + memory.count
    }

    /// The remaining space, in bytes.
    var remaining: Int { unsafe end - cursor }

    @inline(__always)
    private mutating func claim(_ count: Int) -> UnsafeMutableRawPointer {
        // Cannot fail for any input: the length was measured from the same, immutable value.
        precondition(unsafe end - cursor >= count, "the encoding is longer than was measured")
        let start = unsafe cursor
        unsafe cursor += count
        return unsafe start
    }

    @inline(__always)
    mutating func write(byte: UInt8) {
        unsafe claim(1).storeBytes(of: byte, as: UInt8.self)
    }

    @inline(__always)
    mutating func write<Integer: FixedWidthInteger>(_ initial: UInt8, _ integer: Integer) {
        let start = unsafe claim(1 + MemoryLayout<Integer>.size)
        unsafe start.storeBytes(of: initial, as: UInt8.self)
        unsafe (start + 1).storeBytes(of: integer.bigEndian, as: Integer.self)
    }

    @inline(__always)
    mutating func writeHead(_ major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            write(byte: major | UInt8(truncatingIfNeeded: argument))
        } else if argument <= 0xff {
            write(major | 24, UInt8(truncatingIfNeeded: argument))
        } else if argument <= 0xffff {
            write(major | 25, UInt16(truncatingIfNeeded: argument))
        } else if argument <= 0xffff_ffff {
            write(major | 26, UInt32(truncatingIfNeeded: argument))
        } else {
            write(major | 27, argument)
        }
    }

    @inline(__always)
    mutating func writeInteger(_ integer: Int64) {
        if integer >= 0 {
            writeHead(CBORMajor.unsigned, UInt64(bitPattern: integer))
        } else {
            writeHead(CBORMajor.negative, UInt64(bitPattern: ~integer))
        }
    }

    @inline(__always)
    mutating func writeFloat(_ float: CBORFloat) {
        switch float {
        case .half(let bits): write(CBORSimple.half, bits)
        case .single(let bits): write(CBORSimple.single, bits)
        case .double(let bits): write(CBORSimple.double, bits)
        }
    }

    @inline(__always)
    mutating func write(bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        unsafe claim(bytes.count).copyMemory(from: source, byteCount: bytes.count)
    }

    @inline(__always)
    mutating func writeText(_ text: String) {
        let utf8 = text.utf8Span.span
        writeHead(CBORMajor.text, UInt64(truncatingIfNeeded: utf8.count))
        unsafe utf8.withUnsafeBufferPointer { utf8 in unsafe write(bytes: UnsafeRawBufferPointer(utf8)) }
    }

    mutating func write(_ value: Value) {
        switch value {
        case .null:
            write(byte: CBORSimple.null)
        case .bool(let bool):
            write(byte: bool ? CBORSimple.true : CBORSimple.false)
        case .integer(let integer):
            writeInteger(integer)
        case .unsigned(let unsigned):
            writeHead(CBORMajor.unsigned, unsigned)
        case .double(let double):
            writeFloat(CBORFloat(shortest: double))
        case .string(let string):
            writeText(string)
        case .data(let data):
            writeHead(CBORMajor.bytes, UInt64(truncatingIfNeeded: data.count))
            unsafe data.withUnsafeBytes { bytes in unsafe write(bytes: bytes) }
        case .date(let seconds):
            writeHead(CBORMajor.tag, CBORTag.date)
            switch CBORSeconds(seconds) {
            case .integer(let integer): writeInteger(integer)
            case .float(let float): writeFloat(float)
            }
        case .uuid(let uuid):
            writeHead(CBORMajor.tag, CBORTag.uuid)
            writeHead(CBORMajor.bytes, 16)
            unsafe withUnsafeBytes(of: uuid.uuid) { bytes in unsafe write(bytes: bytes) }
        case .url(let url):
            writeHead(CBORMajor.tag, CBORTag.uri)
            writeText(url.absoluteString)
        case .array(let array):
            writeHead(CBORMajor.array, UInt64(truncatingIfNeeded: array.count))
            for element in array { write(element) }
        case .set(let set):
            write(set)
        case .dictionary(let dictionary):
            write(dictionary)
        }
    }

    package mutating func write(_ set: ValueSet) {
        let entries = set.entries
        writeHead(CBORMajor.map, UInt64(truncatingIfNeeded: entries.count))
        // Reading through a span avoids retaining the elements.
        let span = entries.span
        for index in span.indices {
            writeText(span[index].key)
            write(span[index].value)
        }
    }

    /// Writes a set's elements in the order of their encodings, so that equal sets have equal encodings.
    private mutating func write(_ set: Set<Value>) {
        writeHead(CBORMajor.tag, CBORTag.set)
        writeHead(CBORMajor.array, UInt64(truncatingIfNeeded: set.count))
        let start = unsafe cursor
        var ranges: [Range<Int>] = []
        ranges.reserveCapacity(set.count)
        for element in set {
            let lower = unsafe cursor - start
            write(element)
            ranges.append(unsafe lower..<(cursor - start))
        }
        let unsorted = unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: cursor - start))
        unsafe unsorted.withUnsafeBytes { bytes in
            ranges.sort { left, right in
                // No encoding is a prefix of another one, so comparing the common length is sufficient.
                unsafe compareBytes(
                    bytes.baseAddress.map { unsafe $0 + left.lowerBound },
                    bytes.baseAddress.map { unsafe $0 + right.lowerBound },
                    count: min(left.count, right.count)
                ) < 0
            }
            unsafe cursor = start
            for range in ranges {
                unsafe write(bytes: UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
        }
    }
}

// MARK: - Arrays that are written item by item

extension CBORSink {
    /// The size of an item's head, in bytes. An unsigned integer is only a head.
    @inline(__always)
    package static func headSize(_ argument: UInt64) -> Int {
        if argument < 24 { return 1 }
        if argument <= 0xff { return 2 }
        if argument <= 0xffff { return 3 }
        return argument <= 0xffff_ffff ? 5 : 9
    }

    /// Writes the head of an array. Its items come next.
    package mutating func writeArrayHead(_ count: UInt64) { self.writeHead(CBORMajor.array, count) }

    package mutating func writeUnsigned(_ integer: UInt64) { self.writeHead(CBORMajor.unsigned, integer) }

    package mutating func writeNull() { self.write(byte: CBORSimple.null) }

    package mutating func writeByteString(_ bytes: [UInt8]) {
        self.writeHead(CBORMajor.bytes, UInt64(bytes.count))
        unsafe bytes.withUnsafeBytes { bytes in unsafe self.write(bytes: bytes) }
    }
}

extension ByteBuffer {
    /// Appends an encoding of exactly `size` bytes.
    package mutating func writeCBOR(size: Int, _ body: (inout CBORSink) -> Void) {
        unsafe self.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { memory in
            guard let start = memory.baseAddress else { return 0 }
            var sink = unsafe CBORSink(UnsafeMutableRawBufferPointer(rebasing: memory[..<size]), at: start)
            body(&sink)
            assert(sink.remaining == 0, "the encoding is shorter than was measured")
            return size
        }
    }
}
