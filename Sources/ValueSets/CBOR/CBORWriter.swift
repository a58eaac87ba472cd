// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Writes CBOR items one after another behind what a `ByteBuffer` holds.
///
/// Frames are arrays that mix fixed items with a message, so the items compose:
///
/// ```swift
/// try buffer.writeCBOR { writer throws(ValueSetError) in
///     writer.writeArrayHead(count: 3)
///     writer.writeUnsigned(kind)
///     writer.writeUnsigned(id)
///     try writer.write(message)
/// }
/// ```
///
/// Only writing a ``Value`` or a ``ValueSet`` can fail, and then it has written nothing.
package struct CBORWriter: ~Copyable {
    /// The buffer, owned by the writer until ``finish()``.
    package private(set) var buffer: ByteBuffer
    private let limits: ValueSetLimits

    /// A writer that appends to the buffer. Hand over the only reference to it, or its contents are copied.
    package init(appendingTo buffer: consuming ByteBuffer, limits: ValueSetLimits = .defaults) {
        self.buffer = buffer
        self.limits = limits
    }

    /// Ends writing and gives the buffer back.
    package consuming func finish() -> ByteBuffer {
        buffer
    }

    /// Begins an array of `count` items, which the caller writes next.
    package mutating func writeArrayHead(count: Int) {
        writeHead(CBORMajor.array, UInt64(count))
    }

    /// Begins a map of `count` pairs, which the caller writes next: keys in canonical order.
    package mutating func writeMapHead(count: Int) {
        writeHead(CBORMajor.map, UInt64(count))
    }

    /// Writes an integer from 0 on.
    package mutating func writeUnsigned(_ integer: UInt64) {
        writeHead(CBORMajor.unsigned, integer)
    }

    /// Writes an integer.
    package mutating func writeInteger(_ integer: Int64) {
        if integer >= 0 {
            writeHead(CBORMajor.unsigned, UInt64(bitPattern: integer))
        } else {
            writeHead(CBORMajor.negative, UInt64(bitPattern: ~integer))
        }
    }

    /// Writes text.
    package mutating func writeText(_ text: String) {
        writeHead(CBORMajor.text, UInt64(text.utf8.count))
        buffer.writeString(text)
    }

    /// Writes bytes.
    package mutating func writeBytes(_ bytes: some Collection<UInt8>) {
        writeHead(CBORMajor.bytes, UInt64(bytes.count))
        buffer.writeBytes(bytes)
    }

    /// Writes `true` or `false`.
    package mutating func writeBool(_ bool: Bool) {
        buffer.writeInteger(bool ? CBORSimple.true : CBORSimple.false)
    }

    /// Writes null.
    package mutating func writeNull() {
        buffer.writeInteger(CBORSimple.null)
    }

    /// Writes a value.
    ///
    /// - Throws: ``ValueSetError`` if it is over the limits or not representable.
    package mutating func write(_ value: Value) throws(ValueSetError) {
        let size = try CBORMeasure.size(of: value, limits: limits)
        withSink(size) { sink in sink.write(value) }
    }

    /// Writes a dictionary.
    ///
    /// - Throws: ``ValueSetError`` if it is over the limits or not representable.
    package mutating func write(_ set: ValueSet) throws(ValueSetError) {
        let size = try CBORMeasure.size(of: set, limits: limits)
        withSink(size) { sink in sink.write(set) }
    }

    private mutating func writeHead(_ major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            buffer.writeInteger(major | UInt8(truncatingIfNeeded: argument))
        } else {
            withSink(CBORMeasure.headCount(argument)) { sink in sink.writeHead(major, argument) }
        }
    }

    @inline(__always)
    private mutating func withSink(_ size: Int, _ body: (inout CBORSink) -> Void) {
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: size) { memory in
            guard let start = memory.baseAddress else { return 0 }
            var sink = unsafe CBORSink(memory, at: start)
            body(&sink)
            return memory.count - sink.remaining
        }
    }
}

extension ByteBuffer {
    /// Appends what the body writes. If the body throws, the buffer is as long as it was before.
    package mutating func writeCBOR<Failure: Error>(
        limits: ValueSetLimits = .defaults,
        _ body: (inout CBORWriter) throws(Failure) -> Void
    ) throws(Failure) {
        let index = writerIndex
        // The writer must be the only owner while it writes, so the buffer is moved out and back.
        var writer = CBORWriter(appendingTo: exchange(&self, with: ByteBuffer()), limits: limits)
        do {
            try body(&writer)
        } catch {
            self = writer.finish()
            moveWriterIndex(to: index)
            throw error
        }
        self = writer.finish()
    }
}

private func exchange<T>(_ value: inout T, with replacement: consuming T) -> T {
    let old = value
    value = replacement
    return old
}
