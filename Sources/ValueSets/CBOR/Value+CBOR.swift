// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension ValueSet {
    /// Encodes the value set for the wire, as deterministic CBOR (article "The wire profile"). Equal value sets give
    /// equal bytes.
    ///
    /// - Parameter limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Returns: The encoded bytes.
    /// - Throws: ``ValueSetError`` with the key path: ``ValueSetError/Code/limitExceeded`` if the value set exceeds the
    ///   limits, ``ValueSetError/Code/notRepresentable`` if it holds a date that is not finite or a URL without a
    ///   scheme.
    public func encoded(limits: ValueSetLimits = .defaults) throws(ValueSetError) -> [UInt8] {
        let size = try CBORMeasure.size(of: self, limits: limits)
        return CBORSink.bytes(count: size) { sink in sink.write(self) }
    }

    /// Returns the length of the encoding, in bytes, without creating it.
    ///
    /// - Throws: ``ValueSetError``, as ``encoded(limits:)``.
    package func encodedSize(limits: ValueSetLimits = .defaults) throws(ValueSetError) -> Int {
        try CBORMeasure.size(of: self, limits: limits)
    }

    /// Decodes a value set that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - bytes: The encoding of one value set, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value set, or exceed the limits.
    public init(encoded bytes: RawSpan, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        guard bytes.byteCount <= limits.bytes else { throw .tooManyBytes(bytes.byteCount, limits: limits) }
        self = try CBORReader.read(bytes, limits: limits) { reader throws(ValueSetError) in
            let set = try reader.readValueSet()
            try reader.finish()
            return set
        }
    }

    /// Decodes a value set that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - bytes: The encoding of one value set, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value set, or exceed the limits.
    public init(encoded bytes: [UInt8], limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try unsafe self.init(encoded: bytes.span.bytes, limits: limits)
    }

    /// Decodes a value set that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - data: The encoding of one value set, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value set, or exceed the limits.
    public init(encoded data: Data, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try self.init(encoded: data.bytes, limits: limits)
    }
}

extension Value {
    /// Encodes the value for the wire, as deterministic CBOR (article "The wire profile"). Equal values give equal
    /// bytes.
    ///
    /// - Parameter limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Returns: The encoded bytes.
    /// - Throws: ``ValueSetError`` with the key path: ``ValueSetError/Code/limitExceeded`` if the value exceeds the
    ///   limits, ``ValueSetError/Code/notRepresentable`` if it holds a date that is not finite or a URL without a
    ///   scheme.
    public func encoded(limits: ValueSetLimits = .defaults) throws(ValueSetError) -> [UInt8] {
        let size = try CBORMeasure.size(of: self, limits: limits)
        return CBORSink.bytes(count: size) { sink in sink.write(self) }
    }

    /// Decodes a value that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - bytes: The encoding of one value, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value, or exceed the limits.
    public init(encoded bytes: RawSpan, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        guard bytes.byteCount <= limits.bytes else { throw .tooManyBytes(bytes.byteCount, limits: limits) }
        self = try CBORReader.read(bytes, limits: limits) { reader throws(ValueSetError) in
            let value = try reader.readValue()
            try reader.finish()
            return value
        }
    }

    /// Decodes a value that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - bytes: The encoding of one value, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value, or exceed the limits.
    public init(encoded bytes: [UInt8], limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try unsafe self.init(encoded: bytes.span.bytes, limits: limits)
    }

    /// Decodes a value that ``encoded(limits:)`` has encoded.
    ///
    /// - Parameters:
    ///   - data: The encoding of one value, without further bytes.
    ///   - limits: The limits of the encoding. Defaults to ``ValueSetLimits/defaults``.
    /// - Throws: ``ValueSetError``, with byte offset and key path, if the bytes are not the canonical encoding of
    ///   exactly one value, or exceed the limits.
    public init(encoded data: Data, limits: ValueSetLimits = .defaults) throws(ValueSetError) {
        try self.init(encoded: data.bytes, limits: limits)
    }
}

extension CBORSink {
    fileprivate static func bytes(count: Int, _ body: (inout CBORSink) -> Void) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, written in
            guard let start = memory.baseAddress else { return }
            var sink = unsafe CBORSink(UnsafeMutableRawBufferPointer(memory), at: UnsafeMutableRawPointer(start))
            body(&sink)
            written = memory.count - sink.remaining
        }
    }
}
