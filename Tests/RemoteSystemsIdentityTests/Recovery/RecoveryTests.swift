// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Glibc
import SwiftASN1
import Testing

@testable import RemoteSystemsIdentity

@Suite struct RecoveryTests {
    /// The minimum work factors that are accepted, so that tests are fast.
    private static let factors = RecoveryFile.WorkFactors(logN: 10, r: 8, p: 1)
    private static let passphrase = Array("correct horse battery staple".utf8)

    let temporary: TemporaryDirectory
    let store: AccountStore
    let path: String

    init() throws {
        self.temporary = try TemporaryDirectory()
        self.store = self.temporary.store
        self.path = self.temporary.path + "/recovery.txt"
    }

    private func export() throws -> SystemIdentity {
        let identity = try self.store.identity(now: noon)
        try self.store.exportRecovery(to: self.path, passphrase: Self.passphrase, factors: Self.factors)
        return identity
    }

    private func importing(
        into store: AccountStore,
        _ passphrase: [UInt8] = Self.passphrase
    ) throws(IdentityError) -> AccountChange {
        try store.importRecovery(from: self.path, passphrase: passphrase, now: noon)
    }

    @Test func `a new machine restores the account as a new system`() throws {
        let lost = try self.export()
        let fresh = try TemporaryDirectory()
        let change = try self.importing(into: fresh.store)
        #expect(change.setAside == nil)
        let identity = try fresh.store.identity(now: noon)
        #expect(identity.accountID == lost.accountID)
        #expect(identity.systemID != lost.systemID)
        #expect(identity.discoveryKey == lost.discoveryKey)
        #expect(identity.isAuthority)
        _ = try lost.trustStore().authenticate(peerCertificate: identity.certificate, now: noon)
        #expect(try fresh.store.authority().accountID == lost.accountID)
    }

    @Test func `a recovered account that others have joined counts as shared`() throws {
        let joined = (0..<3).map { _ in SystemID.any() }
        _ = try self.store.identity(now: noon)
        for system in joined { try self.store.recordJoined(system) }
        _ = try self.export()
        let fresh = try TemporaryDirectory()
        _ = try self.importing(into: fresh.store)
        // Also the machine that wrote the file, which may have to be revoked.
        let writer = try self.store.identity(now: noon).systemID
        #expect(try fresh.store.joinedSystems() == [writer] + joined)
        // So it is not left by accident.
        let elsewhere = try AccountAuthority(creatingAt: noon)
        let other = try SystemIdentity.member(of: elsewhere, DiscoveryKey())
        #expect(code { () throws(IdentityError) in try fresh.store.adopt(other, now: noon) } == .accountInUse)
        #expect(
            try fresh.store.pairingPurpose(evenIfShared: false, now: noon) == .ownAccount(admits: true, joins: false)
        )
        // On the machine that knows of a later one, none is lost.
        let later = SystemID.any()
        try self.store.recordJoined(later)
        _ = try self.importing(into: self.store)
        #expect(try self.store.joinedSystems() == joined + [later])
    }

    @Test func `a cancelled task exports and imports nothing`() async throws {
        _ = try self.export()
        let fresh = try TemporaryDirectory()
        let (store, freshStore, path, other) = (self.store, fresh.store, self.path, self.path + "-other")
        let task = Task { () async -> [IdentityError.Code?] in
            while !Task.isCancelled { await Task.yield() }
            return [
                code { () throws(IdentityError) in
                    try store.exportRecovery(to: other, passphrase: Self.passphrase, factors: Self.factors)
                },
                code { () throws(IdentityError) in
                    try freshStore.importRecovery(from: path, passphrase: Self.passphrase, now: noon)
                },
            ]
        }
        task.cancel()
        #expect(await task.value == [.cancelled, .cancelled])
        #expect(!FileManager.default.fileExists(atPath: other))
        #expect(try fresh.contents().isEmpty)
    }

    @Test func `what names meant stays when the account is recovered on its machine`() throws {
        _ = try self.export()
        let text = Array(#"{"version":1}"#.utf8)
        try self.store.update(.namedSystems) { _ in text }
        _ = try self.importing(into: self.store)
        #expect(try self.store.contents(of: .namedSystems) == text)
    }

    @Test func `the record of formerly revoked systems stays when the account is recovered on its machine`() throws {
        _ = try self.store.identity(now: noon)
        let system = SystemID.any()
        _ = try self.store.revoke(system, now: noon)
        _ = try self.store.rotateRootKey(isStolen: true, now: noon)
        _ = try self.export()
        _ = try self.importing(into: self.store)
        #expect(try self.store.formerlyRevokedSystems() == [system])
        // So does the knowledge that it is there.
        try remove(self.store.directory + "/account/formerly-revoked")
        _ = try self.importing(into: self.store)
        #expect(try self.store.lostFormerlyRevoked() != nil)
    }

    @Test func `a recovery file restores the chain of root keys, and an older file is refused`() throws {
        let identity = try self.export()
        let newest = try self.store.authority().successor(retiring: noon, now: noon)
        // A member that has received the new root key.
        let member = try TemporaryDirectory()
        _ = try member.store.adopt(SystemIdentity.member(of: newest, identity.discoveryKey), now: noon)
        #expect(
            code { () throws(IdentityError) in
                try member.store.importRecovery(
                    from: self.path,
                    passphrase: Self.passphrase,
                    evenIfShared: true,
                    now: noon
                )
            } == .notAuthority
        )
        #expect(try member.store.identity(now: noon).roots == newest.roots)
        // A newer file makes any machine the authority of the newest root key.
        let sealed = try RecoveryFile.seal(
            RecoveryFile.Content(
                rootKey: newest.rootKey.derRepresentation,
                rootCertificate: Data(newest.rootCertificate),
                discoveryKey: Data(identity.discoveryKey.bytes),
                created: noon
            ),
            passphrase: Self.passphrase,
            account: newest.accountID,
            factors: Self.factors
        )
        let path = self.temporary.path + "/newer.txt"
        try Data(sealed.utf8).write(to: URL(filePath: path))
        let fresh = try TemporaryDirectory()
        _ = try fresh.store.importRecovery(from: path, passphrase: Self.passphrase, now: noon)
        let recovered = try fresh.store.identity(now: noon)
        #expect(recovered.accountID == identity.accountID && recovered.isAuthority)
        #expect(recovered.roots == newest.roots && recovered.root == 2)
    }

    @Test func `a machine's personal account is set aside`() throws {
        _ = try self.export()
        let other = try TemporaryDirectory()
        _ = try other.store.identity(now: noon)
        #expect(try self.importing(into: other.store).setAside != nil)
    }

    @Test func `a shared account is not left without explicit request`() throws {
        _ = try self.export()
        let other = try TemporaryDirectory()
        _ = try other.store.identity(now: noon)
        try other.store.recordJoined(SystemID.any())
        #expect(code { () throws(IdentityError) in try self.importing(into: other.store) } == .accountInUse)
    }

    @Test func `a system of the account keeps its id and becomes the account's authority`() throws {
        let identity = try self.export()
        let member = try TemporaryDirectory()
        let joined = try SystemIdentity.member(of: self.store.authority(), identity.discoveryKey)
        _ = try member.store.adopt(joined, now: noon)
        let change = try self.importing(into: member.store)
        #expect(change.identity.systemID == joined.systemID)
        #expect(change.identity.isAuthority)
    }

    @Test func `the account's own authority keeps its lists of systems`() throws {
        let identity = try self.export()
        let system = SystemID.any()
        try self.store.recordJoined(system)
        let revocations = try self.store.revoke(system, now: noon)
        #expect(try self.importing(into: self.store).identity.systemID == identity.systemID)
        #expect(try self.store.joinedSystems() == [system])
        #expect(try self.store.revocations() == revocations)
    }

    @Test func `recovery signs one list of competing ones, for machines that join`() throws {
        let (here, there) = (SystemID.any(), SystemID.any())
        _ = try self.store.identity(now: noon)
        let authority = try self.store.authority()
        let ofFile = try authority.revocationList(of: [here], after: nil, now: noon)
        try self.store.install(revocations: ofFile.bytes, now: noon)
        let identity = try self.export()
        // The list of another machine with the root key, which did not know the first one.
        let known = try authority.revocationList(of: [there], after: nil, now: noon.addingTimeInterval(60))
        let member = try TemporaryDirectory()
        let joined = try SystemIdentity.member(of: authority, identity.discoveryKey)
        _ = try member.store.adopt(joined, revocations: known, now: noon)
        let change = try self.importing(into: member.store)
        let list = try #require(try member.store.revocations())
        #expect(list.older.isEmpty && Set(list.systems) == [here, there] && list.isNewer(than: known))
        let recovered = try member.store.identity(now: noon)
        #expect(recovered.discoveryKey.position == list.position)
        #expect(recovered.formerDiscoveryKeys == [identity.discoveryKey])
        #expect(change.identity.discoveryKey == recovered.discoveryKey)
    }

    @Test func `a damaged account is replaced by recovery and set aside`() throws {
        let lost = try self.export()
        try remove(self.store.directory + "/account/system-key.pem")
        let change = try self.importing(into: self.store)
        #expect(change.identity.accountID == lost.accountID)
        #expect(change.setAside != nil)
    }

    @Test(arguments: ["root-key.pem", "discovery-key.pem"])
    func `recovery repairs a damaged account key and keeps the system's id and lists`(
        name: String
    ) throws {
        let identity = try self.export()
        let system = SystemID.any()
        try self.store.recordJoined(system)
        let other = try TemporaryDirectory()
        _ = try other.store.identity(now: noon)
        let foreign = try String(contentsOfFile: other.store.directory + "/account/" + name, encoding: .utf8)
        try write(foreign, to: self.store.directory + "/account/" + name)
        #expect(code { () throws(IdentityError) in try self.store.identity(now: noon) } == .damaged)
        #expect(try self.importing(into: self.store).identity.systemID == identity.systemID)
        #expect(try self.store.identity(now: noon).discoveryKey == identity.discoveryKey)
        #expect(try self.store.identity(now: noon).isAuthority)
        #expect(try self.store.joinedSystems() == [system])
    }

    @Test func `a recovery file is readable by its owner only and contains no plain key`() throws {
        _ = try self.export()
        #expect(mode(self.path) == 0o600)
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        let key = try self.store.authority().rootKey
        #expect(!text.contains("PRIVATE KEY"))
        let bytes = try PEMDocument(pemString: text).derBytes
        #expect(!Data(bytes).contains(key.rawRepresentation))
        #expect(!Data(bytes).contains(Data(key.rawRepresentation.base64EncodedString().utf8)))
    }

    @Test func `an existing file is not overwritten`() throws {
        try write("precious", to: self.path)
        _ = try self.store.identity(now: noon)
        #expect(
            code { () throws(IdentityError) in
                try self.store.exportRecovery(to: self.path, passphrase: Self.passphrase, factors: Self.factors)
            } == .fileExists
        )
        #expect(try String(contentsOfFile: self.path, encoding: .utf8) == "precious")
    }

    @Test(arguments: ["", "1234567"]) func `a short passphrase is refused, and nothing is written`(passphrase: String)
        throws
    {
        _ = try self.store.identity(now: noon)
        #expect(
            code { () throws(IdentityError) in
                try self.store.exportRecovery(to: self.path, passphrase: Array(passphrase.utf8), factors: Self.factors)
            } == .weakPassphrase
        )
        #expect(!FileManager.default.fileExists(atPath: self.path))
    }

    @Test func `only the system with the account's key can export`() throws {
        _ = try self.store.identity(now: noon)
        try remove(self.store.directory + "/account/root-key.pem")
        #expect(
            code { () throws(IdentityError) in
                try self.store.exportRecovery(to: self.path, passphrase: Self.passphrase, factors: Self.factors)
            } == .notAuthority
        )
    }

    @Test func `a wrong passphrase and a damaged file are different errors`() throws {
        _ = try self.export()
        let fresh = try TemporaryDirectory()
        let wrong = Array("correct horse battery stable".utf8)
        let error = #expect(throws: IdentityError.self) { try self.importing(into: fresh.store, wrong) }
        #expect(error?.code == .wrongPassphrase)
        #expect(error?.message.contains("stable") == false)
        #expect(try fresh.contents().isEmpty)
    }

    @Test func `damage anywhere in the armour is detected before the passphrase is tried`() throws {
        _ = try self.export()
        let text = try String(contentsOfFile: self.path, encoding: .utf8)
        let start = try #require(text.firstRange(of: "-----BEGIN"))
        let lines = text[start.lowerBound...].split(separator: "\n").map(String.init)
        let fresh = try TemporaryDirectory()
        for index in lines.indices {
            var changed = lines
            let old = Array(changed[index].utf8)
            // The last line of the text may have only four characters.
            let place = min(10, old.count - 1)
            let replacement: UInt8 = old[place] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
            changed[index] = String(decoding: old[..<place] + [replacement] + old[(place + 1)...], as: UTF8.self)
            try write(changed.joined(separator: "\n"), to: self.path)
            #expect(
                code { () throws(IdentityError) in try self.importing(into: fresh.store) } == .recoveryDamaged,
                "line \(index)"
            )
        }
        for count in 0..<lines.count {
            try write(lines[..<count].joined(separator: "\n"), to: self.path)
            #expect(
                code { () throws(IdentityError) in try self.importing(into: fresh.store) } == .recoveryDamaged,
                "\(count) lines"
            )
        }
        #expect(try fresh.contents().isEmpty)
    }

    /// The bytes of an exported file after a change, with a matching checksum.
    private func exportChanging(_ change: (inout [UInt8]) -> Void) throws {
        _ = try self.export()
        var bytes = try PEMDocument(pemString: String(contentsOfFile: self.path, encoding: .utf8)).derBytes
        bytes.removeLast(8)
        change(&bytes)
        bytes += SHA256.hash(data: bytes).prefix(8)
        try write(PEMDocument(type: "REMOTE SYSTEMS RECOVERY", derBytes: bytes).pemString, to: self.path)
    }

    @Test func `a newer format is an error that asks for an update`() throws {
        try self.exportChanging { $0[0] = 2 }
        let fresh = try TemporaryDirectory()
        #expect(code { () throws(IdentityError) in try self.importing(into: fresh.store) } == .unsupportedFormat)
    }

    @Test(arguments: [(1, 31), (1, 0), (2, 255), (2, 0), (3, 255), (3, 0)])
    func `a file with excessive work factors is refused`(index: Int, value: UInt8) throws {
        try self.exportChanging { $0[index] = value }
        let fresh = try TemporaryDirectory()
        #expect(code { () throws(IdentityError) in try self.importing(into: fresh.store) } == .recoveryDamaged)
    }

    @Test func `a file with lowered work factors does not open`() throws {
        try self.exportChanging { $0[2] = 1 }
        let fresh = try TemporaryDirectory()
        #expect(code { () throws(IdentityError) in try self.importing(into: fresh.store) } == .wrongPassphrase)
    }

    @Test func `a missing file and an endless file are errors`() throws {
        #expect(code { () throws(IdentityError) in try self.importing(into: self.store) } == .fileMissing)
        try write("", to: self.path)
        try stretch(self.path, to: 1 << 40)
        #expect(code { () throws(IdentityError) in try self.importing(into: self.store) } == .damaged)
    }

    @Test func `scrypt uses at least the work factors of RFC 7914 for interactive use`() {
        #expect(RecoveryFile.WorkFactors.standard == RecoveryFile.WorkFactors(logN: 17, r: 8, p: 1))
        #expect(RecoveryFile.WorkFactors.standard.isBearable)
    }
}
