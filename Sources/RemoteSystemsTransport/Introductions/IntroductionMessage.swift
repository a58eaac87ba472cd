// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// The messages of one protocol between systems that do not trust each other yet: joining or pairing. On the wire each
/// message is a frame with the CBOR array `[kind, map]`.
protocol IntroductionMessage: Sendable {
    /// The kinds of messages. The raw values are on the wire.
    associatedtype Kind: RawRepresentable<UInt64>

    /// The protocol's name in TLS's application-layer protocol negotiation (RFC 7301).
    static var alpn: String { get }
    /// What to do when the other side takes too long. A full sentence.
    static var slowAdvice: String { get }
    /// The maximum length of a frame, without its length field, in bytes, until a conversation raises it.
    static var maxBytes: Int { get }

    /// Reads a frame, without its length field.
    init(_ frame: ByteBuffer) throws(TransportError)

    /// The kind of message, and its map.
    var parts: (Kind, ValueSet) { get }
}

extension IntroductionMessage {
    /// Appends the frame with its length field.
    func write(to buffer: inout ByteBuffer) throws(ValueSetError) {
        let (kind, map) = self.parts
        let frame = FrameArray(kind.rawValue, set: map)
        buffer.writeLengthPrefixed(frame, size: try frame.size())
    }
}

/// The keys of the messages' maps.
enum IntroductionKey {
    static let nonce = "nonce"
    static let code = "code"
    static let name = "name"
    static let reason = "reason"
    static let request = "request"
    static let certificate = "certificate"
    static let roots = "root-certificate"
    static let discoveryKey = "discovery-key"
    static let signedDiscoveryKey = "signed-discovery-key"
    static let revocations = "revocations"
}

/// The allowed lengths of the values, in bytes. They are checked before the values are parsed.
enum IntroductionSize {
    /// Nonces, codes and hashes.
    static let hash = 32...32
    static let request = 1...2048
    static let certificate = 1...4096
    static let roots = 1...RootChain.maxBytes
    static let discoveryKey = DiscoveryKey.byteCount...DiscoveryKey.byteCount
    static let signedKey = DiscoveryKey.signedByteCount...DiscoveryKey.signedByteCount
    static let revocations = RevocationList.minBytes...RevocationList.maxBytes
}

/// The coding of an admission, which is the same in both protocols.
extension AccountAdmission {
    private typealias Key = IntroductionKey
    private typealias Size = IntroductionSize

    var map: ValueSet {
        var map: ValueSet = [
            Key.certificate: .bytes(self.certificate), Key.discoveryKey: .bytes(self.discoveryKey),
        ]
        if let signedDiscoveryKey { map[Key.signedDiscoveryKey] = .bytes(signedDiscoveryKey) }
        if let revocations { map[Key.revocations] = .bytes(revocations) }
        return map
    }

    init(_ frame: IntroductionFrame) throws(TransportError) {
        self.init(
            certificate: try frame.bytes(Key.certificate, Size.certificate),
            discoveryKey: try frame.bytes(Key.discoveryKey, Size.discoveryKey),
            signedDiscoveryKey: try frame.optionalBytes(Key.signedDiscoveryKey, Size.signedKey),
            revocations: try frame.optionalBytes(Key.revocations, Size.revocations)
        )
    }
}

extension Value {
    static func bytes(_ bytes: [UInt8]) -> Value { .data(Data(bytes)) }
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

    func optionalString(_ key: String) throws(TransportError) -> String? {
        guard let value = self.map[key] else { return nil }
        guard let text = value.string else { throw .violation("'\(key)' is not a string", .helloMalformed) }
        return text
    }

    /// The reason of a refusal. An unknown one, for example of a later version, is read as `other`.
    func reason<Refusal: RawRepresentable<String>>(otherwise other: Refusal) -> Refusal {
        self.map[IntroductionKey.reason]?.string.flatMap { Refusal(rawValue: $0) } ?? other
    }

    static func unknown(_ kind: UInt64) -> TransportError {
        .violation("a frame of the unknown kind \(kind) came", .frameUnexpected)
    }
}
