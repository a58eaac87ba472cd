// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import IntegrationSupport
import Testing
import ValueSets

@testable import RemoteSystemsIdentity

/// Publishers: their keys, signatures and vouchers.
@Suite struct PublisherTests {
    private static let factors = PassphraseSeal.WorkFactors(logN: 10, r: 8, p: 1)
    private let content = Array("the content of a manifest".utf8)

    private func isInvalid(_ body: () throws -> Void) -> Bool {
        (#expect(throws: IdentityError.self) { try body() })?.code == .invalidPublisher
    }

    // MARK: Keys

    @Test func `a publisher keeps its id when it replaces its key (H-05, B-05)`() throws {
        let first = PublisherKey()
        let second = try first.successor()
        let third = try second.successor()
        #expect(first.chain.id == third.chain.id && third.chain.count == 3)
        #expect("\(first.chain.id)".count == 52)
        #expect(try PublisherChain(third.chain.entries) == third.chain)
        // The signature of any of its keys counts for a system that knows the later ones.
        let signed = try first.sign(self.content)
        _ = try PublisherSignature(signed.bytes, of: self.content, by: third.chain)
        // A system that knows the earlier keys only cannot verify that of a later one.
        let later = try third.sign(self.content)
        #expect(self.isInvalid { _ = try PublisherSignature(later.bytes, of: self.content, by: first.chain) })
    }

    @Test func `a chain with an entry that is foreign, moved, doubled or cut is refused (H-05)`() throws {
        let own = try PublisherKey().successor().successor()
        let foreign = try PublisherKey().successor()
        let entries = own.chain.entries
        #expect(self.isInvalid { _ = try PublisherChain([]) })
        #expect(self.isInvalid { _ = try PublisherChain([entries[0], foreign.chain.entries[1]]) })
        #expect(self.isInvalid { _ = try PublisherChain([entries[0], entries[2]]) })
        #expect(self.isInvalid { _ = try PublisherChain([entries[0], entries[1], entries[1]]) })
        #expect(self.isInvalid { _ = try PublisherChain([entries[0], Array(entries[1].dropLast())]) })
        #expect(self.isInvalid { _ = try PublisherChain([[]]) })
        #expect(self.isInvalid { _ = try PublisherChain([Array(repeating: 0, count: 33)]) })
        // Each bit of an entry counts.
        for index in entries[1].indices {
            var changed = entries
            changed[1][index] ^= 1
            #expect(self.isInvalid { _ = try PublisherChain(changed) }, "byte \(index)")
        }
        // Without its newest keys, a chain is the chain of that time.
        #expect(try PublisherChain(Array(entries.prefix(2))).id == own.chain.id)
    }

    @Test func `a publisher has at most 16 keys`() throws {
        var key = PublisherKey()
        for _ in 1..<16 { key = try key.successor() }
        #expect(key.chain.count == 16)
        let last = key
        #expect(self.isInvalid { _ = try last.successor() })
        #expect(self.isInvalid { _ = try PublisherChain(last.chain.entries + [last.chain.entries[1]]) })
    }

    @Test func `a signature covers each byte of the content, and is of one publisher (H-06, B-03)`() throws {
        let (key, other) = (PublisherKey(), PublisherKey())
        let signature = try key.sign(self.content).bytes
        #expect(self.isInvalid { _ = try PublisherSignature(signature, of: self.content, by: other.chain) })
        #expect(self.isInvalid { _ = try PublisherSignature(signature, of: self.content + [0], by: key.chain) })
        for index in self.content.indices {
            var changed = self.content
            changed[index] ^= 1
            #expect(self.isInvalid { _ = try PublisherSignature(signature, of: changed, by: key.chain) })
        }
        for bytes in [[], [1, 2, 3], Array(repeating: UInt8(0), count: 64), signature + [0]] {
            #expect(self.isInvalid { _ = try PublisherSignature(bytes, of: self.content, by: key.chain) })
        }
    }

    // MARK: Files

    @Test func `a key file is private, is not overwritten, and can be encrypted (H-46)`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/key"
        let key = try PublisherKey().successor()
        try key.write(to: path, passphrase: nil)
        #expect(FileStatus(path: path)?.permissions == 0o600)
        let read = try PublisherKey.read(path) { () throws(IdentityError) in [] }
        #expect(read.chain == key.chain)
        _ = try PublisherSignature(read.sign(self.content).bytes, of: self.content, by: key.chain)
        let again = #expect(throws: IdentityError.self) { try key.write(to: path, passphrase: nil) }
        #expect(again?.code == .fileExists)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let open = #expect(throws: IdentityError.self) {
            _ = try PublisherKey.read(path) { () throws(IdentityError) in [] }
        }
        #expect(open?.code == .permissions)
        let missing = #expect(throws: IdentityError.self) {
            _ = try PublisherKey.read("\(directory.path)/none") { () throws(IdentityError) in [] }
        }
        #expect(missing?.code == .fileMissing)
    }

    @Test func `an encrypted key opens with its passphrase only (H-46)`() throws {
        let key = PublisherKey()
        let passphrase = Array("correct horse".utf8)
        let text = try key.text(passphrase: passphrase, factors: Self.factors)
        func read(_ text: String, _ passphrase: [UInt8]) throws -> PublisherKey {
            try PublisherKey.parse(text, path: "key") { () throws(IdentityError) in passphrase }
        }
        #expect(try read(text, passphrase).chain == key.chain)
        let wrong = #expect(throws: IdentityError.self) { _ = try read(text, Array("wrong".utf8)) }
        #expect(wrong?.code == .wrongPassphrase)
        let weak = #expect(throws: IdentityError.self) { _ = try key.text(passphrase: [1], factors: Self.factors) }
        #expect(weak?.code == .weakPassphrase)
        #expect((#expect(throws: IdentityError.self) { _ = try read("nothing", passphrase) })?.code == .damaged)
        let secret = key.key.rawRepresentation.base64EncodedString()
        #expect(!text.contains(secret) && !"\(key)".contains(secret))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("PrivateKey"))
    }

    // MARK: Names

    @Test func `web sites name an application with its publisher (H-84)`() throws {
        let id = PublisherKey().chain.id
        let text = "\(id).com.example.editor"
        let parsed = try #require(PublishedApplicationID(text))
        #expect(parsed.publisher == id && parsed.application == "com.example.editor" && "\(parsed)" == text)
        for wrong in ["", "\(id)", "\(id).", ".com.example.editor", "com.example.editor", "x\(id).com", "\(id).a b"] {
            #expect(PublishedApplicationID(wrong) == nil, "\(wrong)")
        }
    }

    // MARK: Vouchers

    private func system(of authority: AccountAuthority) throws -> SystemIdentity {
        try SystemIdentity.member(of: authority, now: Date())
    }

    private func subject(_ audience: SystemID) -> ApplicationVoucher.Subject {
        ApplicationVoucher.Subject(application: "com.example.editor", audience: audience, activity: UUID())
    }

    @Test func `a voucher holds for one application, one receiver, one activity and one system (H-05)`() throws {
        let authority = try AccountAuthority(creatingAt: Date())
        let (daemon, stranger) = (try self.system(of: authority), try self.system(of: authority))
        let subject = self.subject(stranger.systemID)
        let publisher = ApplicationPublisher.proven(PublisherKey().chain.id)
        let voucher = try ApplicationVoucher(publisher, for: subject, by: daemon)
        #expect(voucher.bytes.count <= ApplicationVoucher.maxBytes)
        #expect(ApplicationVoucher(voucher.bytes, for: subject, by: daemon.systemID)?.publisher == publisher)
        // Stolen by another application, sent to another system, replayed for another activity, from another system.
        var (application, audience, activity) = (subject, subject, subject)
        application.application = "com.example.other"
        audience.audience = daemon.systemID
        activity.activity = UUID()
        for other in [application, audience, activity] {
            #expect(ApplicationVoucher(voucher.bytes, for: other, by: daemon.systemID) == nil)
        }
        #expect(ApplicationVoucher(voucher.bytes, for: subject, by: stranger.systemID) == nil)
    }

    @Test func `a voucher whose publisher was changed is none (H-05)`() throws {
        let daemon = try self.system(of: AccountAuthority(creatingAt: Date()))
        let subject = self.subject(daemon.systemID)
        let voucher = try ApplicationVoucher(.unsigned, for: subject, by: daemon)
        var forged = try ValueSet(encoded: voucher.bytes)
        forged["Proof"] = "proven"
        forged["Publisher"] = .string("\(PublisherKey().chain.id)")
        #expect(ApplicationVoucher(try forged.encoded(), for: subject, by: daemon.systemID) == nil)
        for index in voucher.bytes.indices {
            var changed = voucher.bytes
            changed[index] ^= 0x01
            #expect(ApplicationVoucher(changed, for: subject, by: daemon.systemID) == nil, "byte \(index)")
        }
        #expect(ApplicationVoucher([], for: subject, by: daemon.systemID) == nil)
        #expect(ApplicationVoucher(Array(repeating: 0, count: 2000), for: subject, by: daemon.systemID) == nil)
    }

    @Test(arguments: [
        (ApplicationPublisher.unsigned, "unsigned"), (.invalidSignature, "invalid"), (.unproven(nil), "unproven"),
    ]) func `a proof is read as it was sent, and anything unknown is unproven`(
        publisher: ApplicationPublisher,
        proof: String
    ) {
        #expect(publisher.proof == proof)
        #expect(ApplicationPublisher(id: nil, proof: proof) == publisher)
        #expect(ApplicationPublisher(id: nil, proof: "proven") == .unproven(nil))
        #expect(ApplicationPublisher(id: "no id", proof: "proven") == .unproven(nil))
        #expect(ApplicationPublisher(id: nil, proof: "later") == .unproven(nil))
        #expect(ApplicationPublisher(id: nil, proof: nil) == .unproven(nil))
    }
}

/// The list of `Docs/wire-vectors.json` about vouchers.
@Suite struct VoucherWireVectorTests {
    @Test(arguments: try WireVectors.list("vouchers"))
    func `a voucher is read, or refused, as its vector states`(vector: WireVectors.Vector) throws {
        let keys = try #require(try WireVectors.all()["keys"]?.array)
        func system(_ name: String) throws -> SystemID {
            let key = try #require(keys.first { $0["name"]?.string == name })
            return try #require(SystemID(key["id"]?.string ?? ""))
        }
        let subject = ApplicationVoucher.Subject(
            application: "com.example.editor",
            audience: try system("another system"),
            activity: try #require(UUID(uuidString: "5d0a6f4e-3c1b-4f5a-9e0d-2b7c8a9f1e6d"))
        )
        let voucher = ApplicationVoucher(try vector.bytes, for: subject, by: try system("system"))
        guard vector.isValid else {
            #expect(voucher == nil)
            return
        }
        #expect(voucher?.publisher.proof == vector["json"]?["proof"]?.string)
        #expect(voucher?.publisher.id?.description == vector["json"]?["publisher"]?.string)
    }
}
