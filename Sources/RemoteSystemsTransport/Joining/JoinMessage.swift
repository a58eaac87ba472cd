// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// A message between the two sides while a system joins an account (`Docs/wire/joining.md`).
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

    enum Kind: UInt64 {
        case hello, challenge, proof, accepted, refused
    }

    private typealias Key = IntroductionKey
    private typealias Size = IntroductionSize

    var parts: (Kind, ValueSet) {
        switch self {
        case .hello(let hello):
            return (.hello, [Key.nonce: .bytes(hello.nonce), Key.request: .bytes(hello.signingRequest)])
        case .challenge(let challenge):
            return (
                .challenge,
                [
                    Key.nonce: .bytes(challenge.nonce), Key.certificate: .bytes(challenge.certificate),
                    Key.roots: .bytes(challenge.rootCertificate),
                ]
            )
        case .proof(let proof):
            var map: ValueSet = [Key.code: .bytes(proof.code)]
            if let name = proof.name { map[Key.name] = .string(name) }
            return (.proof, map)
        case .accepted(let accepted):
            var map = accepted.admission.map
            map[Key.code] = .bytes(accepted.code)
            return (.accepted, map)
        case .refused(let refusal):
            return (.refused, [Key.reason: .string(refusal.rawValue)])
        }
    }

    /// Reads a frame, without its length field. Unknown elements and keys are ignored.
    init(_ frame: ByteBuffer) throws(TransportError) {
        let frame = try IntroductionFrame(frame)
        switch Kind(rawValue: frame.kind) {
        case .hello:
            self = .hello(
                JoinHello(
                    nonce: try frame.bytes(Key.nonce, Size.hash),
                    signingRequest: try frame.bytes(Key.request, Size.request)
                )
            )
        case .challenge:
            self = .challenge(
                JoinChallenge(
                    nonce: try frame.bytes(Key.nonce, Size.hash),
                    certificate: try frame.bytes(Key.certificate, Size.certificate),
                    rootCertificate: try frame.bytes(Key.roots, Size.roots)
                )
            )
        case .proof:
            self = .proof(
                JoinProof(code: try frame.bytes(Key.code, Size.hash), name: try frame.optionalString(Key.name))
            )
        case .accepted:
            self = .accepted(JoinAccepted(code: try frame.bytes(Key.code, Size.hash), try AccountAdmission(frame)))
        case .refused:
            self = .refused(frame.reason(otherwise: .failed))
        case nil:
            throw IntroductionFrame.unknown(frame.kind)
        }
    }
}

typealias JoinConversation = Introduction<JoinMessage>
typealias JoinTLS = IntroductionTLS<JoinMessage>
