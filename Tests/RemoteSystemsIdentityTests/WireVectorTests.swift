// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import IntegrationSupport
import Testing

@testable import RemoteSystemsIdentity

/// The identity vectors of `Docs/wire-vectors.json`, made by `Tests/Independent/make_wire_vectors.py`.
@Suite struct WireVectorTests {
    /// The account described in the file.
    private struct TestAccount {
        let root: [UInt8]
        let id: AccountID
        let now: Date
        let discoveryKey: [UInt8]
        let keys: [String: P256.Signing.PrivateKey]

        init() throws {
            let file = try WireVectors.all()
            let account = try #require(file["account"])
            self.root = try #require(account["root-certificate"]?.bytes)
            self.id = try #require(account["id"]?.string.flatMap { AccountID($0) })
            self.now = Date(timeIntervalSince1970: TimeInterval(try #require(account["now"]?.unsigned)))
            self.discoveryKey = try #require(account["discovery-key"]?.bytes)
            var keys: [String: P256.Signing.PrivateKey] = [:]
            for key in try #require(file["keys"]?.array) {
                let name = try #require(key["name"]?.string)
                keys[name] = try P256.Signing.PrivateKey(rawRepresentation: try #require(key["private"]?.bytes))
            }
            self.keys = keys
        }
    }

    @Test func `every key of the vectors has the id beside it`() throws {
        let keys = try #require(WireVectors.all()["keys"]?.array)
        for key in keys {
            let bytes = try #require(key["private"]?.bytes)
            let publicKey = try P256.Signing.PrivateKey(rawRepresentation: bytes).publicKey
            #expect(SystemID(of: publicKey).description == key["id"]?.string)
            #expect(Array(publicKey.derRepresentation) == key["spki"]?.bytes)
        }
        let account = try TestAccount()
        #expect(try RootChain(account.root).accountID == account.id)
        let key = try #require(account.keys["account"]).publicKey
        #expect(AccountID(of: key) == account.id)
    }

    @Test(arguments: try WireVectors.list("certificates"))
    func `a certificate is trusted, or refused with a code, as its vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let revoked = (vector["revoked"]?.array ?? []).compactMap { $0.string.flatMap { SystemID($0) } }
        let own = try RevocationList(number: 1, Set(revoked), of: account.id, signing: P256.Signing.PrivateKey())
        let store = TrustStore(TrustedAccount(roots: try RootChain(account.root), revocations: own))
        let now = vector["now"]?.unsigned.map { Date(timeIntervalSince1970: TimeInterval($0)) } ?? account.now
        let bytes = try vector.bytes
        do throws(TrustError) {
            let peer = try store.judge(
                TrustStore.Presented(bytes, successions: Self.successions(vector)),
                now: now,
                accepting: vector["anonymous"]?.bool ?? false ? [.sameAccount, .anonymous] : [.sameAccount]
            ).peer
            #expect(vector.isValid)
            #expect(peer.systemID.description == vector["json"]?["system"]?.string)
        } catch {
            #expect(!vector.isValid, "\(error)")
            #expect(Self.wireCode(error) == vector["code"]?.string)
        }
    }

    @Test(arguments: try WireVectors.list("pairing"))
    func `both sides of a pairing compute the values of its vector`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let keys = account.keys
        func part(_ side: String) throws -> PairingTranscript.Part {
            let key = try #require(vector[side]?["key"]?.string.flatMap { keys[$0] })
            let intention = try #require(vector[side]?["intention"]?.bytes)
            #expect(PairingIntention(bytes: intention)?.bytes == intention)
            return PairingTranscript.Part(
                key: KeyFingerprint(of: key.publicKey),
                nonce: try #require(vector[side]?["nonce"]?.bytes),
                intention: intention
            )
        }
        let (connecting, waiting) = (try part("connecting"), try part("waiting"))
        let transcript = PairingTranscript(connecting: connecting, waiting: waiting)
        #expect(waiting.commitment == vector["commitment"]?.bytes)
        #expect(transcript.digest == vector["t"]?.bytes)
        #expect(transcript.digits == vector["digits"]?.string)
        #expect(transcript.confirmation(by: .connecting) == vector["connecting-code"]?.bytes)
        #expect(transcript.confirmation(by: .waiting) == vector["waiting-code"]?.bytes)
        #expect(transcript.binding == vector["binding"]?.bytes)
        let proving = PairingAccount(account.id, try #require(DiscoveryKey(bytes: account.discoveryKey)))
        #expect(proving.proof(connecting: connecting.key, waiting: waiting.key) == vector["account"]?.bytes)
    }

    @Test(arguments: try WireVectors.list("link-offers"))
    func `an offer of a link is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let bytes = try vector.bytes
        let (signature, binding) = (try vector.required("signature", \.bytes), try vector.required("binding", \.bytes))
        guard vector.isValid else {
            #expect(throws: TrustError.self) {
                try LinkOffer(encoded: bytes, signature: signature, in: binding)
            }
            return
        }
        let offer = try LinkOffer(encoded: bytes, signature: signature, in: binding)
        #expect(offer.account.description == vector["json"]?["account"]?.string)
        #expect(offer.name == vector["json"]?["name"]?.string)
        #expect(offer.number == vector["json"]?["number"]?.unsigned)
    }

    /// The certificates of further roots that the vector's sender presents, newest first.
    private static func successions(_ vector: WireVectors.Vector) -> [[UInt8]] {
        (vector["links"]?.array ?? []).compactMap(\.bytes)
    }

    /// The same mapping as in `FailureCode`, which is a layer above.
    private static func wireCode(_ error: TrustError) -> String {
        switch error.code {
        case .notOurAccount: "other-account"
        case .expired, .retiredRoot: "certificate-expired"
        case .notYetValid: "certificate-not-yet-valid"
        case .revoked: "revoked"
        default: "certificate-invalid"
        }
    }

    @Test(arguments: try WireVectors.list("tags"))
    func `a tag is recognised as its vector states`(vector: WireVectors.Vector) throws {
        let bytes = try vector.required("key", \.bytes)
        let key = try #require(DiscoveryKey(bytes: bytes))
        let instance = try vector.required("instance", \.string)
        #expect(try key.matches(vector.bytes, instance: instance) == vector.isValid)
        if vector.isValid { #expect(try key.discoveryTag(instance: instance) == vector.bytes) }
    }

    @Test(arguments: try WireVectors.list("revocation-lists"))
    func `a revocation list is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let known = try TrustedAccount(roots: RootChain(account.root).extended(by: Self.successions(vector)))
        let bytes = try vector.bytes
        guard vector.isValid else {
            #expect(throws: TrustError.self) { try known.revocationList(bytes, now: account.now) }
            return
        }
        let list = try known.revocationList(bytes, now: account.now)
        #expect(list.number == vector["json"]?["number"]?.unsigned)
        #expect(list.systems.map(\.description) == vector["json"]?["systems"]?.array?.map(\.string))
        #expect(list.bytes == bytes)
    }

    @Test(arguments: try WireVectors.list("discovery-keys"))
    func `a signed discovery key is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let known = try TrustedAccount(roots: RootChain(account.root).extended(by: Self.successions(vector)))
        let bytes = try vector.bytes
        guard vector.isValid else {
            #expect(throws: TrustError.self) { try known.discoveryKey(bytes, now: account.now) }
            return
        }
        let key = try known.discoveryKey(bytes, now: account.now)
        #expect(key.position?.number == vector["json"]?["number"]?.unsigned)
        #expect(key.bytes == vector["json"]?["key"]?.bytes)
        #expect(key.signedBytes == bytes)
    }

    @Test(arguments: try WireVectors.list("link-lists"))
    func `a list of links is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let known = try TrustedAccount(roots: RootChain(account.root).extended(by: Self.successions(vector)))
        let bytes = try vector.bytes
        guard vector.isValid else {
            #expect(throws: TrustError.self) { try known.linkList(bytes, now: account.now) }
            return
        }
        let list = try known.linkList(bytes, now: account.now)
        #expect(list.number == vector["json"]?["number"]?.unsigned)
        #expect(list.links.map(\.state.rawValue) == vector["json"]?["states"]?.array?.map(\.string))
        // The same links give the same bytes, but for unknown keys and the signature.
        let key = try #require(account.keys["account"])
        let own = try LinkList(
            number: list.number,
            list.links,
            droppedNumber: list.droppedNumber,
            of: account.id,
            root: 1,
            signing: key
        )
        let isWhole = !vector.name.contains("unknown")
        #expect((own.bytes.dropLast(64) == bytes.dropLast(64)) == isWhole)
    }

    @Test(arguments: try WireVectors.list("link-withdrawals"))
    func `the notice of a withdrawal is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let roots = try RootChain(account.root).extended(by: Self.successions(vector))
        let other = try AccountID(of: #require(account.keys["another account"]).publicKey)
        let bytes = try vector.bytes
        guard vector.isValid else {
            #expect(throws: TrustError.self) { try LinkWithdrawal(bytes, by: roots, of: other) }
            return
        }
        #expect(try LinkWithdrawal(bytes, by: roots, of: other).number == vector["json"]?["number"]?.unsigned)
    }

    @Test(arguments: try WireVectors.list("linked-accounts"))
    func `what is known of a linked account is read, or refused, as its vector states`(
        vector: WireVectors.Vector
    ) throws {
        let account = try TestAccount()
        let own = try RootChain(account.root)
        let bytes = try vector.bytes
        guard vector.isValid else {
            #expect(throws: TrustError.self) { try LearnedLink(encoded: bytes, of: own) }
            return
        }
        var learned = try LearnedLink(encoded: bytes, of: own)
        // The same parts give the same bytes, but for unknown keys and for notices that count as missing.
        let isWhole = !vector.name.contains("unknown") && !vector.name.contains("missing")
        #expect((learned.encoded == bytes) == isWhole)
        let roots = learned.roots
        learned.dropRetired(by: roots, at: account.now)
        let json = try vector.required("json", \.object)
        #expect(learned.account.description == json["account"]?.string)
        #expect(UInt64(roots.count) == json["roots"]?.unsigned)
        let revoked = learned.revocations?.allSystems.map(\.description) ?? []
        #expect(revoked == json["revoked"]?.array?.compactMap(\.string))
        #expect(learned.withdrawal?.number == json["withdrawal"]?.unsigned)
        #expect(learned.ownWithdrawal?.number == json["own-withdrawal"]?.unsigned)
    }

    @Test(arguments: try WireVectors.list("invitations"))
    func `an invitation is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let text = try vector.required("text", \.string)
        guard vector.isValid else {
            #expect(throws: IdentityError.self) { try Invitation(uri: text) }
            return
        }
        let invitation = try Invitation(uri: text)
        let meaning = try #require(vector["json"])
        #expect(invitation.accountID.description == meaning["account"]?.string)
        #expect(invitation.addresses.map(\.host) == meaning["addresses"]?.array?.map { $0["host"]?.string })
        let ports = meaning["addresses"]?.array?.map { $0["port"]?.unsigned }
        #expect(invitation.addresses.map { UInt64($0.port) } == ports)
        #expect(UInt64(invitation.expiry.timeIntervalSince1970) == meaning["expires"]?.unsigned)
        #expect(invitation.secret.revealed == meaning["secret"]?.string)
    }

    // MARK: Joining

    /// A join message from the vector's `json`.
    private struct Message {
        let kind: UInt64
        let parts: WireVectors.JSON

        init(_ step: WireVectors.JSON) throws {
            let array = try #require(step["json"]?.array)
            self.kind = try #require(array[0].unsigned)
            self.parts = array[1]
        }

        func bytes(_ key: String) throws -> [UInt8] { try #require(self.parts[key]?.bytes) }

        var hello: JoinHello {
            get throws { JoinHello(nonce: try self.bytes("nonce"), signingRequest: try self.bytes("request")) }
        }
        var challenge: JoinChallenge {
            get throws {
                JoinChallenge(
                    nonce: try self.bytes("nonce"),
                    certificate: try self.bytes("certificate"),
                    rootCertificate: try self.bytes("root-certificate")
                )
            }
        }
        var proof: JoinProof { get throws { JoinProof(code: try self.bytes("code")) } }
        var accepted: JoinAccepted {
            get throws {
                JoinAccepted(
                    code: try self.bytes("code"),
                    AccountAdmission(
                        certificate: try self.bytes("certificate"),
                        discoveryKey: try self.bytes("discovery-key")
                    )
                )
            }
        }
    }

    @Test(arguments: try WireVectors.list("joining"))
    func `an inviter sends what its side of the vector states`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let steps = try #require(vector["steps"]?.array)
        let model = try #require(WireVectors.list("joining").first?["steps"]?.array)
        let certificate = try Message(model[1]).challenge.certificate
        let (inviterKey, discoveryKey) = (
            try #require(account.keys["inviter"]), try #require(DiscoveryKey(bytes: account.discoveryKey))
        )
        let identity = try SystemIdentity(
            rootCertificate: account.root,
            certificate: certificate,
            systemKey: inviterKey,
            discoveryKey: discoveryKey,
            isAuthority: true
        )
        let rootKey = try #require(account.keys["account"])
        let authority = try #require(AccountAuthority(rootCertificate: account.root, key: rootKey))
        let now = Date(timeIntervalSince1970: TimeInterval(try vector.required("now", \.unsigned)))
        var open = OpenInvitation(try Invitation(uri: try vector.required("invitation", \.string)))
        var inviter = JoinInviter(identity: identity, authority: authority)
        let joinerKey = try #require(account.keys["joiner"])
        let tlsCertificate = try JoiningCertificate.make(with: joinerKey, now: account.now)
        for (step, next) in zip(steps, steps.dropFirst()) where step["from"]?.string == "joiner" {
            let (message, response) = (try Message(step), try Message(next))
            if message.kind == 0 {
                let nonce = response.kind == 1 ? try response.challenge.nonce : nil
                let action = inviter.receive(
                    try message.hello,
                    peerCertificate: tlsCertificate,
                    invitation: open,
                    now: now,
                    nonce: nonce
                )
                // Our inviter does not produce the impostor's responses.
                let isOurs = try response.kind != 1 || response.challenge.certificate == certificate
                if isOurs { #expect(try action == Self.helloAction(response)) }
            } else {
                let action = try inviter.receive(try message.proof, invitation: &open, now: now)
                switch action {
                case .accept(let accepted, let system):
                    #expect(response.kind == 3)
                    let key = try #require(account.keys["joiner"]).publicKey
                    #expect(system == SystemID(of: key))
                    #expect(try Self.isKey("joiner", in: accepted.admission.certificate, account))
                case .refuse(let reason):
                    #expect(response.kind == 4 && response.parts["reason"]?.string == reason.rawValue)
                }
            }
        }
    }

    private static func isKey(_ name: String, in certificate: [UInt8], _ account: TestAccount) throws -> Bool {
        let key = try #require(account.keys[name]).publicKey
        return JoiningCertificate.key(in: certificate)?.rawRepresentation == key.rawRepresentation
    }

    private static func helloAction(_ response: Message) throws -> JoinInviter.HelloAction {
        if response.kind == 1 { return .send(try response.challenge) }
        return .refuse(try #require(response.parts["reason"]?.string.flatMap { JoinRefusal(rawValue: $0) }))
    }

    @Test(arguments: try WireVectors.list("joining"))
    func `the codes of a vector match exactly where the exchange continues`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let messages = try #require(vector["steps"]?.array).map { try Message($0) }
        guard messages.count >= 3, messages[0].kind == 0, messages[1].kind == 1 else { return }
        let invitation = try Invitation(uri: try vector.required("invitation", \.string))
        let transcript = JoinTranscript(
            account: invitation.accountID,
            joinerKey: try #require(account.keys["joiner"]).publicKey,
            inviterKey: try #require(account.keys["inviter"]).publicKey,
            hello: try messages[0].hello,
            challenge: try messages[1].challenge
        )
        let proof = try messages[2].proof
        let refused = vector["outcome"]?["refused"]?.string
        #expect(transcript.isProof(proof.code, invitation.secret, invitation.accountID) == (refused != "wrong-secret"))
        guard messages.count == 4, messages[3].kind == 3 else { return }
        let accepted = try messages[3].accepted
        let holds = transcript.isAcceptance(accepted, of: proof, invitation.secret, invitation.accountID)
        let isOwn = try Self.isKey("joiner", in: accepted.admission.certificate, account)
        #expect((holds && isOwn) == (vector["outcome"]?["joined"] != nil))
    }

    @Test(arguments: try WireVectors.list("joining"))
    func `a joiner stops where the vector states that it must`(vector: WireVectors.Vector) throws {
        let account = try TestAccount()
        let messages = try #require(vector["steps"]?.array).map { try Message($0) }
        guard vector["outcome"]?["stopped-by"] != nil, messages.count == 2 else { return }
        var joiner = try JoinJoiner(
            invitation: try Invitation(uri: try vector.required("invitation", \.string)),
            now: account.now,
            systemKey: #require(account.keys["joiner"])
        )
        _ = try joiner.start()
        let challenge = try messages[1].challenge
        #expect(throws: IdentityError.self) {
            try joiner.receive(challenge, peerCertificate: challenge.certificate, now: account.now)
        }
    }
}
