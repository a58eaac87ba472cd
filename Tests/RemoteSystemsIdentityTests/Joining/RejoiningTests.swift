// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

/// Joining and revocations, and the way back of a system whose membership has ended (issue 10).
@Suite struct RejoiningTests {
    let temporary: TemporaryDirectory
    let inviter: AccountStore
    let other: TemporaryDirectory

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.inviter = self.temporary.store
        _ = try self.inviter.identity(now: noon)
        self.other = try TemporaryDirectory()
    }

    private struct Refused: Error { var reason: JoinRefusal }

    /// Joins with the other machine, as the two commands do.
    @discardableResult
    private func join(at now: Date) throws -> SystemIdentity {
        let (identity, list) = (try self.inviter.identity(now: now), try self.inviter.revocations())
        let invitation = try Invitation(
            accountID: identity.accountID,
            addresses: [Invitation.Address(host: "127.0.0.1", port: 1)],
            now: now
        )
        let member = try self.other.store.checkAdoption(of: identity.accountID, evenIfShared: true, now: now)
        let joined = try self.joined(invitation, again: member, identity, list, now: now)
        return try self.other.store.adopt(
            joined.identity,
            revocations: joined.revocations,
            evenIfShared: true,
            now: now
        ).identity
    }

    private func joined(
        _ invitation: Invitation,
        again member: SystemIdentity?,
        _ identity: SystemIdentity,
        _ list: RevocationList?,
        now: Date
    ) throws -> JoinedAccount {
        var open = OpenInvitation(invitation)
        var inviter = JoinInviter(identity: identity, authority: try self.inviter.authority(), revocations: list)
        var joiner = try JoinJoiner(invitation: invitation, again: member, now: now)
        let hello = try joiner.start()
        let challenge: JoinChallenge
        switch inviter.receive(hello, peerCertificate: joiner.certificate, invitation: open, now: now) {
        case .send(let sent): challenge = sent
        case .refuse(let reason): throw Refused(reason: reason)
        }
        let proof = try joiner.receive(challenge, peerCertificate: identity.certificate, now: now)
        guard case .accept(let accepted, let system) = try inviter.receive(proof, invitation: &open, now: now) else {
            throw Refused(reason: .failed)
        }
        try self.inviter.recordJoined(system, in: self.inviter.identity().accountID, invitedAt: list?.position)
        return try joiner.receive(accepted, now: now)
    }

    @Test func `a system that joins receives the revocation list and the newest discovery key`() throws {
        let revoked = SystemID.any()
        let list = try self.inviter.revoke(revoked, now: noon)
        let joined = try self.join(at: noon)
        #expect(try self.other.store.revocations() == list)
        #expect(try self.inviter.identity(now: noon).discoveryKey == joined.discoveryKey)
        #expect(joined.discoveryKey.position == list.position)
        // The list is recorded, too.
        try remove(self.other.store.directory + "/account/revoked-systems.pem")
        #expect(code { () throws(IdentityError) in try self.other.store.revocations() } == .revocationsLost)
    }

    @Test func `a revoked system cannot join with its old key, and gets a new id with a new one`() throws {
        let first = try self.join(at: noon)
        _ = try self.inviter.revoke(first.systemID, now: noon)
        let (identity, list) = (try self.inviter.identity(now: noon), try self.inviter.revocations())
        let invitation = try Invitation(
            accountID: identity.accountID,
            addresses: [Invitation.Address(host: "127.0.0.1", port: 1)],
            now: noon
        )
        let error = #expect(throws: Refused.self) {
            try self.joined(invitation, again: first, identity, list, now: noon)
        }
        #expect(error?.reason == .revoked)
        var joiner = try JoinJoiner(invitation: invitation, again: first, now: noon)
        _ = try joiner.start()
        #expect(joiner.receive(.revoked).code == .systemRevoked)
        // The machine knows that it was revoked: joining makes a new key.
        try self.other.store.install(revocations: #require(list).bytes, now: noon)
        let again = try self.join(at: noon)
        #expect(again.systemID != first.systemID)
    }

    @Test func `an invitation does not survive a revocation`() throws {
        let before = try self.inviter.revocations()
        _ = try self.inviter.revoke(SystemID.any(), now: noon)
        let system = SystemID.any()
        #expect(
            code { () throws(IdentityError) in
                try self.inviter.recordJoined(
                    system,
                    in: self.inviter.identity().accountID,
                    invitedAt: before?.position
                )
            } == .invitationUsed
        )
        #expect(try self.inviter.joinedSystems().isEmpty)
        try self.inviter.recordJoined(
            system,
            in: self.inviter.identity().accountID,
            invitedAt: self.inviter.revocations()?.position
        )
        #expect(try self.inviter.joinedSystems() == [system])
    }

    @Test func `an invitation that has ended is refused with the reason`() throws {
        let account = try self.inviter.identity(now: noon).accountID
        func message(invitedAt position: TrustPosition?, into account: AccountID) -> String? {
            let error = #expect(throws: IdentityError.self) {
                try self.inviter.recordJoined(SystemID.any(), in: account, invitedAt: position)
            }
            #expect(error?.code == .invitationUsed)
            return error?.message
        }
        let other = try self.other.store.identity(now: noon).accountID
        let replaced = message(invitedAt: nil, into: other)
        #expect(replaced?.contains("left or replaced its account") == true)
        let list = try self.inviter.revoke(SystemID.any(), now: noon)
        let revoked = message(invitedAt: nil, into: account)
        #expect(revoked?.contains("was revoked") == true)
        _ = try self.inviter.rotateRootKey(isStolen: false, now: noon)
        for position in [nil, list.position] {
            let rotated = message(invitedAt: position, into: account)
            #expect(rotated?.contains("root key was replaced") == true)
        }
        let joined = try self.inviter.joinedSystems()
        #expect(joined.isEmpty)
    }

    @Test func `a machine that was off for a year joins again and keeps its id`() throws {
        let first = try self.join(at: noon)
        // While its certificate is valid there is nothing to join.
        #expect(
            code { () throws(IdentityError) in
                try self.other.store.checkAdoption(of: first.accountID, evenIfShared: true, now: noon)
            } == .accountInUse
        )
        // Unless a person asks for it: it may not have heard that it has to.
        let asked = try self.other.store.checkAdoption(
            of: first.accountID,
            evenIfShared: true,
            evenIfMember: true,
            now: noon
        )
        #expect(asked?.systemID == first.systemID)
        let later = noon.addingTimeInterval(365 * day)
        #expect(throws: TrustError.self) {
            try self.inviter.identity(now: later).trustStore().authenticate(
                peerCertificate: first.certificate,
                now: later
            )
        }
        let again = try self.join(at: later)
        #expect(again.systemID == first.systemID)
        _ = try self.inviter.identity(now: later).trustStore().authenticate(
            peerCertificate: again.certificate,
            now: later
        )
        #expect(try self.inviter.joinedSystems() == [first.systemID])
    }

    @Test func `after a stolen root key the other systems join again and keep their ids`() throws {
        let first = try self.join(at: noon)
        _ = try self.inviter.rotateRootKey(isStolen: true, now: noon)
        // The member has learned the new key from a handshake.
        try self.other.store.install(roots: self.inviter.authority().roots)
        let again = try self.join(at: noon)
        #expect(again.systemID == first.systemID && again.root == 2)
        let store = try self.inviter.identity(now: noon).trustStore()
        _ = try store.authenticate(peerCertificate: again.certificate, now: noon)
    }

    @Test func `a machine that lost its revocation list joins again`() throws {
        let first = try self.join(at: noon)
        let list = try self.inviter.revoke(SystemID.any(), now: noon)
        try self.other.store.install(revocations: list.bytes, now: noon)
        try remove(self.other.store.directory + "/account/revoked-systems.pem")
        let again = try self.join(at: noon)
        #expect(again.systemID == first.systemID)
        #expect(try self.other.store.revocations() == list)
    }

    // MARK: Recovery

    @Test func `a recovery file contains the revocations`() throws {
        let list = try self.inviter.revoke(SystemID.any(), now: noon)
        let path = self.temporary.path + "/recovery.txt"
        let factors = RecoveryFile.WorkFactors(logN: 10, r: 8, p: 1)
        let passphrase = Array("correct horse".utf8)
        try self.inviter.exportRecovery(to: path, passphrase: passphrase, factors: factors)
        _ = try self.other.store.importRecovery(from: path, passphrase: passphrase, now: noon)
        #expect(try self.other.store.revocations() == list)
        let recovered = try self.other.store.identity(now: noon)
        #expect(try self.inviter.identity(now: noon).discoveryKey == recovered.discoveryKey)
        // Both machines hold the root key now. What each revokes reaches the other.
        let (here, there) = (
            SystemID.any(), SystemID.any()
        )
        let ours = try self.inviter.revoke(here, now: noon)
        let theirs = try self.other.store.revoke(there, now: noon.addingTimeInterval(1))
        let merged = try self.inviter.install(revocations: theirs.bytes, now: noon)
        #expect(try self.other.store.install(revocations: ours.bytes, now: noon).systems.count == 3)
        #expect(Set(merged.systems) == Set(list.systems + [here, there]))
    }

    @Test func `a recovery file from before a rotation makes a machine that is no authority any more`() throws {
        let path = self.temporary.path + "/recovery.txt"
        let factors = RecoveryFile.WorkFactors(logN: 10, r: 8, p: 1)
        let passphrase = Array("correct horse".utf8)
        try self.inviter.exportRecovery(to: path, passphrase: passphrase, factors: factors)
        _ = try self.inviter.rotateRootKey(isStolen: false, now: noon)
        _ = try self.other.store.importRecovery(from: path, passphrase: passphrase, now: noon)
        #expect(try self.other.store.identity(now: noon).isAuthority)
        // It meets a system that knows the newer key.
        try self.other.store.install(roots: self.inviter.authority().roots)
        let identity = try self.other.store.identity(now: noon)
        #expect(!identity.isAuthority && identity.isRenewalDue(at: noon))
        let der = try self.inviter.authority().issueCertificate(for: identity.systemKey.publicKey, now: noon)
        #expect(try self.other.store.install(renewedCertificate: der, now: noon).root == 2)
    }

    // MARK: Root keys and names

    @Test func `a system does not join an older root key of its account than it knows`() throws {
        let present = try self.join(at: noon)
        let stolen = try self.inviter.authority()
        let newest = try stolen.successor(retiring: noon, now: noon)
        try self.other.store.install(roots: newest.roots)
        // A machine that was restored from a backup, or the thief of the old key, invites.
        let joined = try SystemIdentity.member(of: stolen, present.discoveryKey)
        let before = try self.other.snapshot()
        #expect(code { () throws(IdentityError) in try self.other.store.adopt(joined, now: noon) } == .notAuthority)
        #expect(try self.other.snapshot() == before)
        _ = try self.other.store.adopt(joined, evenIfShared: true, now: noon)
        #expect(try self.other.store.identity(now: noon).roots.count == 1)
    }

    @Test func `a revocation list that the joined root keys did not sign is not kept`() throws {
        let present = try self.join(at: noon)
        let authority = try self.inviter.authority()
        // This system has met the thief first, whose successor is not the owner's.
        let thief = try authority.successor(retiring: noon.addingTimeInterval(day), now: noon)
        let owner = try authority.successor(retiring: noon.addingTimeInterval(day), now: noon)
        try self.other.store.install(roots: thief.roots)
        let list = try thief.revocationList(of: [present.systemID], after: nil, now: noon)
        try self.other.store.install(revocations: list.bytes, now: noon)
        _ = try self.other.store.adopt(SystemIdentity.member(of: owner, present.discoveryKey), now: noon)
        #expect(try self.other.store.identity(now: noon).roots == owner.roots)
        #expect(try self.other.store.revocations() == nil)
    }

    @Test func `what names meant stays when a system joins its account again`() throws {
        _ = try self.join(at: noon)
        let text = Array(#"{"version":1}"#.utf8)
        try self.other.store.update(.namedSystems) { _ in text }
        _ = try self.join(at: noon.addingTimeInterval(100 * day))
        #expect(try self.other.store.contents(of: .namedSystems) == text)
    }
}
