// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// A message between the two sides while a system joins an account (`Docs/wire/joining.md`). On the wire each message
/// is a frame with the CBOR array `[kind, map]`.
enum JoinMessage: IntroductionMessage, Hashable {
    case hello(JoinHello)
    case challenge(JoinChallenge)
    case proof(JoinProof)
    case accepted(JoinAccepted)
    case refused(JoinRefusal)

    static let alpn = "remote-systems-join/1"
    static let slowAdvice = "Check that 'remotesystems account invite' still runs there, and try again."

    /// The maximum length of a joiner's frame, without its length field, in bytes.
    static let maxBytes = 8 << 10
    /// The maximum length of an inviter's frame, which may hold a revocation list. Only the joiner accepts it, since it
    /// connects to an address that its user gave.
    static let maxInviterBytes = Self.maxBytes + RevocationList.maxBytes

    private enum Kind: UInt64 {
        case hello, challenge, proof, accepted, refused
    }

    private enum Key {
        static let nonce = "nonce"
        static let request = "request"
        static let certificate = "certificate"
        static let rootCertificate = "root-certificate"
        static let code = "code"
        static let discoveryKey = "discovery-key"
        static let signedDiscoveryKey = "signed-discovery-key"
        static let revocations = "revocations"
        static let reason = "reason"
    }

    /// The allowed lengths of the values, in bytes. They are checked before the values are parsed.
    private enum Size {
        static let nonce = 32...32
        static let code = 32...32
        static let key = 32...32
        static let request = 1...2048
        static let certificate = 1...4096
        static let rootCertificates = 1...RootChain.maxBytes
        static let signedKey = DiscoveryKey.signedByteCount...DiscoveryKey.signedByteCount
        static let revocations = RevocationList.minBytes...RevocationList.maxBytes
    }

    // MARK: Writing

    func write(to buffer: inout ByteBuffer) throws(ValueSetError) {
        let (kind, map) = self.parts
        let frame = FrameArray(kind.rawValue, set: map)
        buffer.writeLengthPrefixed(frame, size: try frame.size())
    }

    private var parts: (Kind, ValueSet) {
        func data(_ bytes: [UInt8]) -> Value { .data(Data(bytes)) }
        switch self {
        case .hello(let hello):
            return (.hello, [Key.nonce: data(hello.nonce), Key.request: data(hello.signingRequest)])
        case .challenge(let challenge):
            return (
                .challenge,
                [
                    Key.nonce: data(challenge.nonce), Key.certificate: data(challenge.certificate),
                    Key.rootCertificate: data(challenge.rootCertificate),
                ]
            )
        case .proof(let proof):
            return (.proof, [Key.code: data(proof.code)])
        case .accepted(let accepted):
            var parts: ValueSet = [
                Key.code: data(accepted.code), Key.certificate: data(accepted.certificate),
                Key.discoveryKey: data(accepted.discoveryKey),
            ]
            if let key = accepted.signedDiscoveryKey { parts[Key.signedDiscoveryKey] = data(key) }
            if let list = accepted.revocations { parts[Key.revocations] = data(list) }
            return (.accepted, parts)
        case .refused(let refusal):
            return (.refused, [Key.reason: .string(refusal.rawValue)])
        }
    }

    // MARK: Reading

    /// Reads a frame, without its length field. Unknown elements and keys are ignored.
    init(_ frame: ByteBuffer) throws(TransportError) {
        let frame = try IntroductionFrame(frame)
        switch Kind(rawValue: frame.kind) {
        case .hello:
            self = .hello(
                JoinHello(
                    nonce: try frame.bytes(Key.nonce, Size.nonce),
                    signingRequest: try frame.bytes(Key.request, Size.request)
                )
            )
        case .challenge:
            self = .challenge(
                JoinChallenge(
                    nonce: try frame.bytes(Key.nonce, Size.nonce),
                    certificate: try frame.bytes(Key.certificate, Size.certificate),
                    rootCertificate: try frame.bytes(Key.rootCertificate, Size.rootCertificates)
                )
            )
        case .proof:
            self = .proof(JoinProof(code: try frame.bytes(Key.code, Size.code)))
        case .accepted:
            self = .accepted(
                JoinAccepted(
                    code: try frame.bytes(Key.code, Size.code),
                    certificate: try frame.bytes(Key.certificate, Size.certificate),
                    discoveryKey: try frame.bytes(Key.discoveryKey, Size.key),
                    signedDiscoveryKey: try frame.optionalBytes(Key.signedDiscoveryKey, Size.signedKey),
                    revocations: try frame.optionalBytes(Key.revocations, Size.revocations)
                )
            )
        case .refused:
            // An unknown reason, for example of a later version, is read as `failed`.
            self = .refused(frame.map[Key.reason]?.string.flatMap { JoinRefusal(rawValue: $0) } ?? .failed)
        case nil:
            throw IntroductionFrame.unknown(frame.kind)
        }
    }
}

typealias JoinConversation = Introduction<JoinMessage>
typealias JoinTLS = IntroductionTLS<JoinMessage>
