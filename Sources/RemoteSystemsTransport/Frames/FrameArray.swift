// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ValueSets

/// The CBOR array of a frame: one to three integers, then optionally a dictionary and up to two more
/// items.
///
/// The size is measured first, so that a frame that is too long is refused before memory is allocated. It is then
/// written in one pass.
struct FrameArray {
    /// The item after the dictionary.
    enum Last {
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

    init(
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
    func size() throws(ValueSetError) -> Int {
        var size = 1 + CBORSink.headSize(first)
        if let second { size += CBORSink.headSize(second) }
        if let third { size += CBORSink.headSize(third) }
        if let set { size += try set.encodedSize() }
        switch last {
        case .set(let set): size += try set.encodedSize()
        case .bytes(let bytes): size += CBORSink.headSize(UInt64(bytes.count)) + bytes.count
        case .null: size += 1
        case nil: break
        }
        if let further { size += try further.encodedSize() }
        return size
    }

    fileprivate func write(to sink: inout CBORSink) {
        sink.writeArrayHead(count)
        sink.writeUnsigned(first)
        if let second { sink.writeUnsigned(second) }
        if let third { sink.writeUnsigned(third) }
        if let set { sink.write(set) }
        switch last {
        case .set(let set): sink.write(set)
        case .bytes(let bytes): sink.writeByteString(bytes)
        case .null: sink.writeNull()
        case nil: break
        }
        if let further { sink.write(further) }
    }
}

extension ByteBuffer {
    /// Appends the length as four bytes, big-endian, and then the array.
    ///
    /// - Parameter size: The result of ``FrameArray/size()``.
    mutating func writeLengthPrefixed(_ array: FrameArray, size: Int) {
        self.reserveCapacity(minimumWritableBytes: MemoryLayout<UInt32>.size + size)
        self.writeInteger(UInt32(truncatingIfNeeded: size))
        self.writeCBOR(size: size) { sink in array.write(to: &sink) }
    }
}
