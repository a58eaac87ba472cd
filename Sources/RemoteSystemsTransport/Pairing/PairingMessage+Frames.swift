// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// The coding of pairing messages (`Docs/wire/pairing.md`).
extension PairingMessage: IntroductionMessage {
    static let alpn = "remote-systems-pair/2"
    static let slowAdvice = "Check that 'remotesystems pair' still runs there, and try again."

    /// The maximum length of a frame until both persons have confirmed, without its length field, in bytes.
    static let maxBytes = 1 << 10
    /// The maximum length afterwards. A frame may then hold the offer of a link or a revocation list.
    static let maxConfirmedBytes = (8 << 10) + max(LinkOffer.maxBytes, RevocationList.maxBytes)

    enum Kind: UInt64 {
        case commitment, answer, reveal, confirmed, refused, welcome, request, accepted, offer, done
    }

    private typealias Key = IntroductionKey
    private typealias Size = IntroductionSize

    /// The keys that only these messages have.
    private enum OwnKey {
        static let commitment = "commitment"
        static let intention = "intention"
        static let offer = "offer"
        static let signature = "signature"
        static let account = "account"
    }

    private enum OwnSize {
        static let intention = 1...PairingIntention.maxBytes
        static let offer = 1...LinkOffer.maxBytes
        static let signature = LinkOffer.signatureBytes...LinkOffer.signatureBytes
    }

    var parts: (Kind, ValueSet) {
        switch self {
        case .commitment(let commitment):
            (.commitment, [OwnKey.commitment: .bytes(commitment)])
        case .answer(let nonce, let intention, let account):
            (.answer, Self.answerMap(nonce, intention, account))
        case .reveal(let nonce, let intention):
            (.reveal, [Key.nonce: .bytes(nonce), OwnKey.intention: .bytes(intention)])
        case .confirmed(let code):
            (.confirmed, [Key.code: .bytes(code)])
        case .refused(let refusal):
            (.refused, [Key.reason: .string(refusal.rawValue)])
        case .welcome(let roots):
            (.welcome, [Key.roots: .bytes(roots)])
        case .request(let request):
            (.request, [Key.request: .bytes(request)])
        case .accepted(let admission):
            (.accepted, admission.map)
        case .offer(let offer, let signature):
            (.offer, [OwnKey.offer: .bytes(offer), OwnKey.signature: .bytes(signature)])
        case .done:
            (.done, [:])
        }
    }

    private static func answerMap(_ nonce: [UInt8], _ intention: [UInt8], _ account: [UInt8]?) -> ValueSet {
        var map: ValueSet = [Key.nonce: .bytes(nonce), OwnKey.intention: .bytes(intention)]
        if let account { map[OwnKey.account] = .bytes(account) }
        return map
    }

    /// Reads a frame, without its length field. Unknown elements and keys are ignored.
    init(_ frame: ByteBuffer) throws(TransportError) {
        let frame = try IntroductionFrame(frame)
        switch Kind(rawValue: frame.kind) {
        case .commitment:
            self = .commitment(try frame.bytes(OwnKey.commitment, Size.hash))
        case .answer:
            self = .answer(
                nonce: try frame.bytes(Key.nonce, Size.hash),
                intention: try frame.bytes(OwnKey.intention, OwnSize.intention),
                account: try frame.optionalBytes(OwnKey.account, Size.hash)
            )
        case .reveal:
            self = .reveal(
                nonce: try frame.bytes(Key.nonce, Size.hash),
                intention: try frame.bytes(OwnKey.intention, OwnSize.intention)
            )
        case .confirmed:
            self = .confirmed(code: try frame.bytes(Key.code, Size.hash))
        case .refused:
            self = .refused(frame.reason(otherwise: .failed))
        case .welcome:
            self = .welcome(roots: try frame.bytes(Key.roots, Size.roots))
        case .request:
            self = .request(try frame.bytes(Key.request, Size.request))
        case .accepted:
            self = .accepted(try AccountAdmission(frame))
        case .offer:
            self = .offer(
                try frame.bytes(OwnKey.offer, OwnSize.offer),
                signature: try frame.bytes(OwnKey.signature, OwnSize.signature)
            )
        case .done:
            self = .done
        case nil:
            throw IntroductionFrame.unknown(frame.kind)
        }
    }
}

typealias PairingTLS = IntroductionTLS<PairingMessage>
