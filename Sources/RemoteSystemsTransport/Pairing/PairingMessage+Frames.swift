// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import NIOCore
internal import RemoteSystemsIdentity
internal import ValueSets

/// The coding of pairing messages (`Docs/wire/pairing.md`): frames with the CBOR array `[kind, map]`.
extension PairingMessage: IntroductionMessage {
    static let alpn = "remote-systems-pair/1"
    static let slowAdvice = "Check that 'remotesystems pair' still runs there, and try again."

    /// The maximum length of a frame until both persons have confirmed, without its length field, in bytes.
    static let maxBytes = 1 << 10
    /// The maximum length afterwards. A frame may then hold the offer of a link or a revocation list.
    static let maxConfirmedBytes = (8 << 10) + max(LinkOffer.maxBytes, RevocationList.maxBytes)

    private enum Kind: UInt64 {
        case commitment, answer, reveal, confirmed, refused, welcome, request, accepted, offer, done
    }

    private enum Key {
        static let commitment = "commitment"
        static let nonce = "nonce"
        static let intention = "intention"
        static let code = "code"
        static let reason = "reason"
        static let roots = "root-certificate"
        static let request = "request"
        static let certificate = "certificate"
        static let discoveryKey = "discovery-key"
        static let signedDiscoveryKey = "signed-discovery-key"
        static let revocations = "revocations"
        static let offer = "offer"
    }

    /// The allowed lengths of the values, in bytes. They are checked before the values are parsed.
    private enum Size {
        static let hash = 32...32
        static let intention = 1...PairingIntention.maxBytes
        static let roots = 1...RootChain.maxBytes
        static let request = 1...2048
        static let certificate = 1...4096
        static let signedKey = DiscoveryKey.signedByteCount...DiscoveryKey.signedByteCount
        static let revocations = RevocationList.minBytes...RevocationList.maxBytes
        static let offer = 1...LinkOffer.maxBytes
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
        case .commitment(let commitment):
            return (.commitment, [Key.commitment: data(commitment)])
        case .answer(let nonce, let intention):
            return (.answer, [Key.nonce: data(nonce), Key.intention: data(intention)])
        case .reveal(let nonce, let intention):
            return (.reveal, [Key.nonce: data(nonce), Key.intention: data(intention)])
        case .confirmed(let code):
            return (.confirmed, [Key.code: data(code)])
        case .refused(let refusal):
            return (.refused, [Key.reason: .string(refusal.rawValue)])
        case .welcome(let roots):
            return (.welcome, [Key.roots: data(roots)])
        case .request(let request):
            return (.request, [Key.request: data(request)])
        case .accepted(let accepted):
            var parts: ValueSet = [
                Key.certificate: data(accepted.certificate), Key.discoveryKey: data(accepted.discoveryKey),
            ]
            if let key = accepted.signedDiscoveryKey { parts[Key.signedDiscoveryKey] = data(key) }
            if let list = accepted.revocations { parts[Key.revocations] = data(list) }
            return (.accepted, parts)
        case .offer(let offer):
            return (.offer, [Key.offer: data(offer)])
        case .done:
            return (.done, [:])
        }
    }

    // MARK: Reading

    /// Reads a frame, without its length field. Unknown elements and keys are ignored.
    init(_ frame: ByteBuffer) throws(TransportError) {
        let frame = try IntroductionFrame(frame)
        switch Kind(rawValue: frame.kind) {
        case .commitment:
            self = .commitment(try frame.bytes(Key.commitment, Size.hash))
        case .answer:
            self = .answer(
                nonce: try frame.bytes(Key.nonce, Size.hash),
                intention: try frame.bytes(Key.intention, Size.intention)
            )
        case .reveal:
            self = .reveal(
                nonce: try frame.bytes(Key.nonce, Size.hash),
                intention: try frame.bytes(Key.intention, Size.intention)
            )
        case .confirmed:
            self = .confirmed(code: try frame.bytes(Key.code, Size.hash))
        case .refused:
            // An unknown reason, for example of a later version, is read as `failed`.
            self = .refused(frame.map[Key.reason]?.string.flatMap { PairingRefusal(rawValue: $0) } ?? .failed)
        case .welcome:
            self = .welcome(roots: try frame.bytes(Key.roots, Size.roots))
        case .request:
            self = .request(try frame.bytes(Key.request, Size.request))
        case .accepted:
            self = .accepted(
                PairingAccepted(
                    certificate: try frame.bytes(Key.certificate, Size.certificate),
                    discoveryKey: try frame.bytes(Key.discoveryKey, Size.hash),
                    signedDiscoveryKey: try frame.optionalBytes(Key.signedDiscoveryKey, Size.signedKey),
                    revocations: try frame.optionalBytes(Key.revocations, Size.revocations)
                )
            )
        case .offer:
            self = .offer(try frame.bytes(Key.offer, Size.offer))
        case .done:
            self = .done
        case nil:
            throw IntroductionFrame.unknown(frame.kind)
        }
    }
}

typealias PairingTLS = IntroductionTLS<PairingMessage>
