// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import ValueSets

/// The messages of one protocol between systems that do not trust each other yet: joining or pairing.
protocol IntroductionMessage: Sendable {
    /// The protocol's name in TLS's application-layer protocol negotiation (RFC 7301).
    static var alpn: String { get }
    /// What to do when the other side takes too long. A full sentence.
    static var slowAdvice: String { get }
    /// The maximum length of a frame, without its length field, in bytes, until a conversation raises it.
    static var maxBytes: Int { get }

    /// Reads a frame, without its length field.
    init(_ frame: ByteBuffer) throws(TransportError)

    /// Appends the frame with its length field.
    func write(to buffer: inout ByteBuffer) throws(ValueSetError)
}

/// A frame of an introduction: the CBOR array `[kind, map]`. Further elements and unknown keys are ignored.
struct IntroductionFrame {
    let kind: UInt64
    let map: ValueSet

    /// Reads a frame, without its length field.
    init(_ frame: ByteBuffer) throws(TransportError) {
        do throws(ValueSetError) {
            (self.kind, self.map) = try CBORReader.read(frame) { reader throws(ValueSetError) in
                var elements = try reader.readArrayHead()
                guard elements >= 2 else {
                    throw ValueSetError(.missingKey, "an element of the frame is missing")
                }
                let kind = try reader.readUnsigned()
                let map = try reader.readValueSet()
                elements -= 2
                for _ in 0..<elements { try reader.skipItem() }
                try reader.finish()
                return (kind, map)
            }
        } catch {
            throw .violation("a frame cannot be read: \(error)", .frameMalformed)
        }
    }

    func bytes(_ key: String, _ size: ClosedRange<Int>) throws(TransportError) -> [UInt8] {
        guard let data = self.map[key]?.data, size.contains(data.count) else {
            throw .violation(
                "'\(key)' is missing, or is not \(size.lowerBound) to \(size.upperBound) bytes of data",
                .helloMalformed
            )
        }
        return Array(data)
    }

    func optionalBytes(_ key: String, _ size: ClosedRange<Int>) throws(TransportError) -> [UInt8]? {
        self.map[key] == nil ? nil : try self.bytes(key, size)
    }

    static func unknown(_ kind: UInt64) -> TransportError {
        .violation("a frame of the unknown kind \(kind) came", .frameUnexpected)
    }
}
