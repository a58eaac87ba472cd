// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// A CBOR array with the layout of every frame: one to three integers, then optionally a dictionary and up to two more
/// items.
///
/// The size is measured first, so that a frame that is too long is refused before memory is allocated. It is then
/// written in one pass.
package struct CBORArray {
    /// The item after the dictionary.
    package enum Last {
        case set(ValueSet)
        case bytes([UInt8])
        /// A placeholder for a missing item that is followed by another one.
        case null
    }

    private let first: UInt64
    private let second: UInt64?
    private let third: UInt64?
    private let set: ValueSet?
    private let last: Last?
    private let further: ValueSet?

    package init(
        _ first: UInt64,
        _ second: UInt64? = nil,
        _ third: UInt64? = nil,
        set: ValueSet? = nil,
        last: Last? = nil,
        further: ValueSet? = nil
    ) {
        self.first = first
        self.second = second
        self.third = third
        self.set = set
        self.last = last
        self.further = further
    }

    private var count: UInt64 {
        var count: UInt64 = 1
        if second != nil { count += 1 }
        if third != nil { count += 1 }
        if set != nil { count += 1 }
        if last != nil { count += 1 }
        if further != nil { count += 1 }
        return count
    }

    /// Returns the size of the encoding, in bytes.
    ///
    /// - Throws: ``ValueSetError`` if a dictionary exceeds the limits or cannot be represented.
    package func size(limits: ValueSetLimits = .defaults) throws(ValueSetError) -> Int {
        var size = 1 + CBORMeasure.headCount(first)
        if let second { size += CBORMeasure.headCount(second) }
        if let third { size += CBORMeasure.headCount(third) }
        if let set { size += try CBORMeasure.size(of: set, limits: limits) }
        switch last {
        case .set(let set): size += try CBORMeasure.size(of: set, limits: limits)
        case .bytes(let bytes): size += CBORMeasure.headCount(UInt64(bytes.count)) + bytes.count
        case .null: size += 1
        case nil: break
        }
        if let further { size += try CBORMeasure.size(of: further, limits: limits) }
        return size
    }

    fileprivate func write(to sink: inout CBORSink) {
        sink.writeHead(CBORMajor.array, count)
        sink.writeHead(CBORMajor.unsigned, first)
        if let second { sink.writeHead(CBORMajor.unsigned, second) }
        if let third { sink.writeHead(CBORMajor.unsigned, third) }
        if let set { sink.write(set) }
        switch last {
        case .set(let set):
            sink.write(set)
        case .bytes(let bytes):
            sink.writeHead(CBORMajor.bytes, UInt64(bytes.count))
            unsafe bytes.withUnsafeBytes { bytes in unsafe sink.write(bytes: bytes) }
        case .null:
            sink.write(byte: CBORSimple.null)
        case nil:
            break
        }
        if let further { sink.write(further) }
    }
}

extension ByteBuffer {
    /// Appends the length as four bytes, big-endian, and then the array.
    ///
    /// - Parameter size: The result of ``CBORArray/size(limits:)``.
    package mutating func writeLengthPrefixed(_ array: CBORArray, size: Int) {
        let prefix = MemoryLayout<UInt32>.size
        unsafe writeWithUnsafeMutableBytes(minimumWritableBytes: prefix + size) { memory in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<(prefix + size)])
            guard let start = room.baseAddress else { return 0 }
            var sink = unsafe CBORSink(room, at: start)
            sink.write(bigEndian: UInt32(truncatingIfNeeded: size))
            array.write(to: &sink)
            assert(sink.remaining == 0, "the encoding is shorter than was measured")
            return prefix + size
        }
    }
}
