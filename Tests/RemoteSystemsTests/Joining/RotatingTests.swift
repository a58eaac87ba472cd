// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import RemoteSystemsIdentity
import Testing

@testable import RemoteSystems

/// Discovery keys and root keys that are replaced while systems run, over real TLS (issue 10, section 1, items 3 and 6,
/// and section 2).
@Suite(.timeLimit(.minutes(2))) struct RotatingTests {
    private func store(_ machine: String, of machines: TwoMachines) -> AccountStore {
        AccountStore(directory: "\(machines.directory)/\(machine)")
    }

    /// Runs a host on each of the machines while `body` runs.
    private func withHosts(
        on names: [String],
        of machines: TwoMachines,
        _ body: () async throws -> Void
    ) async throws {
        let hosts = names.map { name in
            RemoteSystemHost(machines.configuration(name, application: "host.\(name)"), services: [.ping])
        }
        let running = hosts.map { host in Task { try await host.run() } }
        let outcome: Result<Void, any Error>
        do {
            for host in hosts { _ = try await host.port }
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        for task in running {
            task.cancel()
            _ = await task.result
        }
        try outcome.get()
    }

    private func withWatcher(
        on machine: String,
        of machines: TwoMachines,
        _ body: (EventRecorder, RemoteSystemWatcher) async throws -> Void
    ) async throws {
        let watcher = RemoteSystemWatcher(machines.configuration(machine, application: "watcher.\(machine)"))
        let recorder = EventRecorder(watcher)
        try await watcher.start()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(recorder, watcher)) } catch { outcome = .failure(error) }
        await watcher.stop()
        try outcome.get()
    }

    /// Whether each advertisement of the segment carries the tag of the key.
    private func areAllTagged(_ key: DiscoveryKey, on machines: TwoMachines) -> Bool {
        let hints = machines.segment.hints
        return !hints.isEmpty
            && hints.allSatisfy { key.matches($0.properties[Presence.tagProperty] ?? [], instance: $0.instance) }
    }

    // MARK: The discovery key

    /// Also X-02: the tags of announcements are keyed, and the key changes.
    @Test func `after a revocation hosts advertise with a key that the revoked machine does not have`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            let rogue = try machines.account("second").identity()
            let old = rogue.discoveryKey
            try await self.withHosts(on: ["first", "second", "third"], of: machines) {
                try await self.withWatcher(on: "third", of: machines) { recorder, watcher in
                    try await until { watcher.systems.count == 3 }
                    #expect(self.areAllTagged(old, on: machines))
                    try machines.account("first").revoke(rogue.systemID)
                    try await until {
                        let key = try? self.store("third", of: machines).identity().discoveryKey
                        return key.map { $0.bytes != old.bytes } ?? false
                    }
                    // The revoked machine forges what it can: the former tag. Its own host is the only one left with
                    // it.
                    let new = try self.store("first", of: machines).identity().discoveryKey
                    #expect(try self.store("third", of: machines).identity().discoveryKey == new)
                    try await until {
                        let tagged = machines.segment.hints.filter {
                            new.matches($0.properties[Presence.tagProperty] ?? [], instance: $0.instance)
                        }
                        return tagged.count == 2 && machines.segment.advertised == 3
                    }
                    #expect(try self.store("second", of: machines).identity().discoveryKey == old)
                    try await until { watcher.systems.count == 2 }
                    #expect(!watcher.systems.contains { $0.id == rogue.systemID })
                }
            }
            #expect(try self.store("second", of: machines).identity().discoveryKey == old)
        }
    }

    @Test func `a host that was off during a rotation comes back by itself`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            let third = try machines.account("third").identity().systemID
            try machines.account("first").revoke(machines.account("second").identity().systemID)
            // The third machine advertises the former tag. The first knows that tag and tries it.
            try await self.withHosts(on: ["third"], of: machines) {
                try await self.withWatcher(on: "first", of: machines) { recorder, watcher in
                    try await until { watcher.systems.contains { $0.id == third } }
                }
            }
            let key = try self.store("first", of: machines).identity().discoveryKey
            #expect(try self.store("third", of: machines).identity().discoveryKey == key)
        }
    }

    @Test func `a watcher that was off during a rotation comes back by itself`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            let first = try machines.account("first").identity().systemID
            try machines.account("first").revoke(machines.account("second").identity().systemID)
            // The third machine does not recognise the new tag, and knows no other system.
            try await self.withHosts(on: ["first"], of: machines) {
                try await self.withWatcher(on: "third", of: machines) { recorder, watcher in
                    try await until { watcher.systems.contains { $0.id == first } }
                }
            }
        }
    }

    // MARK: Restored files

    @Test(arguments: [false, true])
    func `a restored or deleted list readmits no system under a running host, which repairs the file`(
        isDeleted: Bool
    ) async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            let (rogue, other) = (
                try machines.account("second").identity().systemID, try machines.account("third").identity().systemID
            )
            let path = "\(machines.directory)/first/account/revoked-systems.pem"
            try machines.account("first").revoke(other)
            let older = try Data(contentsOf: URL(filePath: path))
            try machines.account("first").revoke(rogue)
            let newest = try Data(contentsOf: URL(filePath: path))
            let host = RemoteSystemHost(machines.configuration("first", application: "host.first"), services: [.ping])
            let running = Task { try await host.run() }
            let port = try await host.port
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: port,
                configuration: machines.configuration("second")
            )
            func status() async throws -> AppServiceConnectionStatus {
                let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                defer { Task { await connection.close() } }
                return try await connection.open(request)
            }
            #expect(try await status() == .notAuthorized)
            if isDeleted {
                try FileManager.default.removeItem(atPath: path)
            } else {
                try older.write(to: URL(filePath: path), options: .atomic)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
            // The host looks once a second.
            try await until { (try? Data(contentsOf: URL(filePath: path))) == newest }
            for _ in 0..<3 { #expect(try await status() == .notAuthorized) }
            #expect(host.context.account.revocations?.contains(rogue) == true)
            running.cancel()
            _ = await running.result
        }
    }

    // MARK: Invitations

    @Test func `a revocation ends an open invitation`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let rogue = try machines.account("second").identity().systemID
            let outcome = try await machines.whileInviting { invitation, _ in
                try machines.account("first").revoke(rogue)
                // The revoked machine has the invitation, and tries at once.
                await #expect(throws: RemoteSystemError.self) {
                    _ = try await machines.account("fourth").join(invitation)
                }
            }
            #expect(outcome.identityCode == .invitationUsed)
            #expect(try machines.account("first").systemsThatJoined() == [rogue])
        }
    }

    @Test func `an open invitation ends with a revocation also while no machine tries it`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let rogue = try machines.account("second").identity().systemID
            let outcome = try await machines.whileInviting { _, _ in try machines.account("first").revoke(rogue) }
            #expect(outcome.identityCode == .invitationUsed)
        }
    }

    // MARK: The root key

    @Test func `after a rotation of the root key the other systems renew their certificates by themselves`()
        async throws
    {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            // The second machine only listens, and the first only watches; the third does both.
            try await self.withHosts(on: ["second", "third"], of: machines) {
                try await self.withWatcher(on: "first", of: machines) { _, watcher in
                    try await until { watcher.systems.count == 2 }
                    try machines.account("first").rotateRootKey()
                    for machine in ["second", "third"] {
                        try await until { (try? self.store(machine, of: machines).identity().root) == 2 }
                    }
                    #expect(watcher.systems.count == 2)
                }
            }
            let first = try self.store("first", of: machines).identity()
            for machine in ["second", "third"] {
                let identity = try self.store(machine, of: machines).identity()
                #expect(identity.roots == first.roots)
                #expect(identity.discoveryKey == first.discoveryKey)
            }
        }
    }

    @Test func `a machine without the root key learns of a rotation from another one, and renews later`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            try machines.account("first").rotateRootKey()
            let newest = try self.store("first", of: machines).identity()
            try self.store("second", of: machines).install(roots: newest.roots)
            // Only the second and the third run: the third learns the chain, and no system can renew.
            try await self.withHosts(on: ["second"], of: machines) {
                try await self.withWatcher(on: "third", of: machines) { _, _ in
                    try await until { (try? self.store("third", of: machines).identity().roots) == newest.roots }
                }
            }
            #expect(try self.store("third", of: machines).identity().root == 1)
            // Now it meets the machine with the new key.
            try await self.withHosts(on: ["first"], of: machines) {
                try await self.withWatcher(on: "third", of: machines) { _, _ in
                    try await until { (try? self.store("third", of: machines).identity().root) == 2 }
                }
            }
        }
    }

    @Test func `after a theft, a system whose certificate is not known here is not said to be well`() async throws {
        try await TwoMachines.with { machines in
            let (account, store) = (machines.account("first"), self.store("first", of: machines))
            _ = try store.identity()
            // A machine that held the root key before admitted it, and no program of this one has met it.
            let unknown = try #require(SystemID(bytes: (0..<32).map { _ in UInt8.random(in: 0...255) }))
            try store.recordJoined(unknown)
            func isUnknown() throws -> Bool {
                let system = try #require(try account.systems().first { $0.id == unknown })
                #expect(!system.mustJoinAgain)
                return system.isUnknownSinceTheft
            }
            #expect(try isUnknown() == false)
            try account.rotateRootKey(isStolen: true)
            #expect(try isUnknown() == true)
            // As an admission is noted, in a later second.
            store.noteAdmission(of: unknown, named: "attic", now: Date().addingTimeInterval(2))
            #expect(try isUnknown() == false)
        }
    }

    @Test func `after a theft, a recovered machine does not say that systems must join again`() async throws {
        try await TwoMachines.with { machines in
            _ = try self.store("first", of: machines).identity()
            try machines.account("first").rotateRootKey(isStolen: true)
            try await machines.join("second")
            let second = try machines.account("second").identity().systemID
            let passphrase = Array("correct horse battery".utf8)
            let file = "\(machines.directory)/recovery"
            try machines.account("first").exportRecovery(to: file, passphrase: passphrase)
            let recovered = machines.account("third")
            _ = try recovered.importRecovery(from: file, passphrase: passphrase, evenIfShared: true)
            let others = try recovered.systems().filter { !$0.isLocal }
            #expect(others.contains { $0.id == second })
            #expect(others.allSatisfy { !$0.mustJoinAgain && $0.isUnknownSinceTheft })
        }
    }

    @Test func `after a stolen root key the other systems join again, and keep their ids`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let second = try machines.account("second").identity().systemID
            let thief = try self.store("first", of: machines).authority()
            try machines.account("first").rotateRootKey(isStolen: true)
            try await self.withHosts(on: ["first"], of: machines) {
                // The machine tries to connect, is refused, and learns why.
                try await self.withWatcher(on: "second", of: machines) { _, _ in
                    try await until { (try? self.store("second", of: machines).identity().roots.count) == 2 }
                }
                #expect(try machines.account("second").rootKeyReplacement() != nil)
                #expect(try machines.account("first").rootKeyReplacement() == nil)
                let facts = IdentityFacts.usable(
                    try self.store("second", of: machines).identity(),
                    directory: machines.directory
                )
                let findings = IdentityFindings(now: Date(), facts: facts).all
                let certificate = try #require(findings.first { $0.code == .certificate })
                #expect(certificate.status == .problem && certificate.what.contains("root key was replaced"))
                // The owner may see this because of a thief.
                #expect(certificate.advice?.contains("'remotesystems account leave' on each machine") == true)
                let local = try #require(try machines.account("second").systems().first)
                let end = try #require(try machines.account("second").rootKeyReplacement())
                #expect(local.isLocal && local.mustJoinAgain && local.certificateEnd == end)
                try await machines.join("second")
                #expect(try machines.account("second").rootKeyReplacement() == nil)
                #expect(try machines.account("second").identity().systemID == second)
                #expect(try machines.account("second").systems().first?.mustJoinAgain == false)
                try await self.withWatcher(on: "second", of: machines) { _, watcher in
                    try await until { !watcher.systems.isEmpty }
                }
            }
            // What the thief signs is worth nothing.
            let member = try self.store("second", of: machines).identity()
            let forged = try thief.makeSystem(beside: member, now: Date()).certificate
            #expect(throws: TrustError.self) {
                try member.trustStore().authenticate(peerCertificate: forged, now: Date())
            }
        }
    }

    @Test(arguments: [false, true])
    func `a machine with a replaced root key learns so from one refusal, and admits no system any more`(
        byDiagnosis: Bool
    ) async throws {
        try await TwoMachines.with { machines in
            try await machines.join("second")
            let passphrase = Array("correct horse battery".utf8)
            let file = "\(machines.directory)/recovery"
            try machines.account("first").exportRecovery(to: file, passphrase: passphrase)
            _ = try machines.account("second").importRecovery(from: file, passphrase: passphrase, evenIfShared: true)
            try machines.account("first").rotateRootKey(isStolen: true)
            #expect(try machines.account("second").identity().isAuthority)
            try await self.withHosts(on: ["first"], of: machines) {
                try await until { machines.segment.advertised > 0 }
                let port = machines.segment.hints.first?.endpoints.first?.port ?? 0
                let configuration = machines.configuration("second")
                if byDiagnosis {
                    let request = RemoteSystemConnectionRequest(
                        host: "127.0.0.1",
                        port: port,
                        configuration: configuration
                    )
                    let findings = await RemoteSystemsDiagnosis(configuration, port: 0).run(with: request)
                    #expect(findings.contains { $0.code == .peer && $0.status == .problem })
                } else {
                    await #expect(throws: RemoteSystemError.self) {
                        _ = try await RemoteSystem.find(host: "127.0.0.1", port: port, configuration: configuration)
                    }
                }
                // A command ends now, so nothing is awaited.
                let second = machines.account("second")
                #expect(try !second.identity().isAuthority)
                #expect(try second.rootKeyReplacement() != nil)
                let code = await identityCode { _ = try await second.invite { _ in } }
                #expect(code == .notAuthority)
            }
        }
    }

    // MARK: Linked accounts

    @Test func `what one machine learned of a linked account protects the machines that did not pair`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            // The first machine pairs with another account, which has revoked a lost machine.
            let other = AccountStore(directory: "\(machines.directory)/elsewhere")
            let (now, lost) = (Date(), SystemID(of: P256.Signing.PrivateKey().publicKey))
            let account = try other.identity().accountID
            let first = self.store("first", of: machines)
            let own = try first.linkOffer(name: "Ada", granting: Grants(services: ["test.volume"]), now: now)
            let offer = try other.linkOffer(name: "Bo", granting: Grants(), now: now)
            try first.link(own, with: offer, now: now)
            let list = try other.revoke(lost, now: now)
            let learned = try LearnedLink(
                roots: offer.roots,
                revocations: [list.bytes],
                of: first.identity().accountID
            )
            try first.learn(learned, now: now)
            // The third machine has it from the second one.
            for (host, watcher) in [("first", "second"), ("second", "third")] {
                try await self.withHosts(on: [host], of: machines) {
                    try await self.withWatcher(on: watcher, of: machines) { _, _ in
                        let store = self.store(watcher, of: machines)
                        try await until { (try? store.links()[account]?.revocations?.contains(lost)) == true }
                    }
                }
            }
            #expect(try self.store("third", of: machines).links()[account]?.granted.services == ["test.volume"])
        }
    }

    // MARK: Absence

    @Test func `a machine that was off for so long that its certificate has ended joins again and keeps its id`()
        async throws
    {
        try await TwoMachines.with { machines in
            let identity = try machines.account("first").identity()
            let authority = try self.store("first", of: machines).authority()
            let then = Date().addingTimeInterval(-200 * 24 * 3600)
            let old = try authority.makeSystem(beside: identity, now: then)
            _ = try self.store("second", of: machines).adopt(old, now: then)
            try await self.withHosts(on: ["first"], of: machines) {
                let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                try await until { machines.segment.advertised > 0 }
                let port = machines.segment.hints.first?.endpoints.first?.port ?? 0
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: port,
                    configuration: machines.configuration("second")
                )
                #expect(try await connection.open(request) != .success)
                try await machines.join("second")
                #expect(try machines.account("second").identity().systemID == old.systemID)
                try await self.withWatcher(on: "second", of: machines) { _, watcher in
                    try await until { !watcher.systems.isEmpty }
                }
            }
        }
    }

    // MARK: Two machines with the root key

    /// Lets the machines "first" and "second" revoke one system each, without knowing of the other one's revocation.
    private func revokeApart(_ machines: TwoMachines) async throws -> Set<SystemID> {
        for machine in ["second", "third", "fourth"] { try await machines.join(machine) }
        let passphrase = Array("correct horse battery".utf8)
        let file = "\(machines.directory)/recovery"
        try machines.account("first").exportRecovery(to: file, passphrase: passphrase)
        _ = try machines.account("second").importRecovery(from: file, passphrase: passphrase, evenIfShared: true)
        let (one, other) = (
            try machines.account("third").identity().systemID, try machines.account("fourth").identity().systemID
        )
        try machines.account("first").revoke(one)
        try machines.account("second").revoke(other)
        return [one, other]
    }

    @Test func `two machines with the root key that revoke different systems converge`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join("fifth")
            let revoked = try await self.revokeApart(machines)
            // A member meets both of them, one after the other, and they never meet each other.
            for machine in ["first", "second", "first"] {
                try await self.withHosts(on: [machine], of: machines) {
                    try await self.withWatcher(on: "fifth", of: machines) { _, watcher in
                        try await until {
                            let member = try? machines.account("fifth").revokedSystems()
                            return member != nil && member == (try? machines.account(machine).revokedSystems())
                                && !watcher.systems.isEmpty
                        }
                    }
                }
            }
            for machine in ["first", "second", "fifth"] {
                #expect(Set(try machines.account(machine).revokedSystems()) == revoked)
            }
            let key = try self.store("first", of: machines).identity().discoveryKey
            #expect(try self.store("fifth", of: machines).identity().discoveryKey == key)
        }
    }

    @Test func `two machines with the root key that do not recognise each other converge by a diagnosis`() async throws
    {
        try await TwoMachines.with { machines in
            let revoked = try await self.revokeApart(machines)
            let host = RemoteSystemHost(machines.configuration("first"), services: [.ping])
            let running = Task { try await host.run() }
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: machines.configuration("second")
            )
            _ = await RemoteSystemsDiagnosis(machines.configuration("second")).run(with: request)
            try await until {
                ["first", "second"].allSatisfy {
                    (try? machines.account($0).revokedSystems()).map(Set.init) == revoked
                }
            }
            running.cancel()
            _ = await running.result
        }
    }
}
