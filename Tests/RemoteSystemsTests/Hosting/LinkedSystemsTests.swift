// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import RemoteSystems
import RemoteSystemsTransport
import Synchronization
import Testing

@testable import RemoteSystemsIdentity

/// Systems of linked accounts, over loopback with TLS: listed, called as far as granted, withdrawn at once.
@Suite(.timeLimit(.minutes(2))) struct LinkedSystemsTests {
    /// Returns what the handler knows of the caller.
    private static let open = AppService("test.granted") { request in
        [
            "kind": .integer(Int64(request.caller.authorizationKind.rawValue)),
            "account": request.caller.accountID.map { .string($0.description) } ?? "none",
        ]
    }
    private static let closed = AppService("test.ours") { $0.message }
    private static let grants = Grants(services: ["test.granted"], uriSchemes: ["player"])

    private static let opener = LaunchURIHandler(schemes: ["player", "secret"]) { _ in .opened }

    // MARK: Listing

    @Test func `a linked system is listed with its account's name, and with what is granted only`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost(
                [Self.open, Self.closed],
                attributes: ["room": "kitchen"],
                launchURIProvider: Self.opener
            ) { _ in
                try await accounts.withListed { system, _ in
                    #expect(system.authorizationKind == .linked)
                    #expect(try system.accountID == accounts.ourID)
                    #expect(system.accountName == "Ada")
                    let application = try #require(system.applications.first)
                    #expect(application.services.map(\.name) == ["test.granted"])
                    #expect(application.uriSchemes == ["player"])
                    #expect(application.attributes.isEmpty)
                }
            }
        }
    }

    @Test func `a watcher lists linked systems only if it wants them, and only if something is granted`() async throws {
        for (filters, grants) in [
            ([RemoteSystemFilter](), Self.grants), ([.authorizationKind(.anonymous)], Self.grants),
            ([.authorizationKind(.linked)], Grants()),
        ] {
            try await LinkedAccounts.with(granting: grants) { accounts in
                try await accounts.ours.withHost([Self.open]) { _ in
                    let watcher = accounts.friendsWatcher(filters)
                    let recorder = EventRecorder(watcher)
                    try await watcher.start()
                    _ = try await recorder.first { if case .enumerationCompleted = $0 { true } else { nil } }
                    #expect(watcher.systems.isEmpty)
                    await watcher.stop()
                }
            }
        }
    }

    @Test func `an announcement shows neither account to others, nor the number of links`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { _ in
                try await until { accounts.ours.segment.hints.contains { $0.properties["l"] != nil } }
                let hint = try #require(accounts.ours.segment.hints.first)
                let tags = try #require(hint.properties["l"])
                #expect(tags.count == 4 * DiscoveryKey.tagByteCount)
                // The friend's account gets no key with which it recognises our announcements to others.
                let friends = try accounts.friendsStore.identity().discoveryKey
                #expect(!friends.matches(try #require(hint.properties["t"]), instance: hint.instance))
                let shared = try #require(
                    try accounts.friendsTrust().linked[accounts.ourID]?.account.discoveryKey
                )
                #expect(!shared.matches(try #require(hint.properties["t"]), instance: hint.instance))
                #expect(hint.properties.values.reduce(0) { $0 + $1.count } < 255)
            }
        }
    }

    // MARK: Using

    @Test func `a granted service is called, and any other is refused like one that does not exist`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open, Self.closed]) { host in
                try await accounts.withListed { system, _ in
                    let (connection, status) = try await accounts.open("test.granted", on: system)
                    #expect(status == .success)
                    let response = try await connection.send([:])
                    #expect(response.message["kind"] == 2)
                    #expect(try response.message["account"]?.string == accounts.friendsID.description)
                    await connection.close()
                    let application = try #require(system.applications.first)
                    for service in ["test.ours", "test.missing", "remote-systems.diagnosis"] {
                        let refused = AppServiceConnection(to: AppServiceDescription(name: service))
                        #expect(try await refused.open(.application(application)) == .notAuthorized)
                        #expect(refused.openError?.message.contains(AnonymousRefusal.text) == true)
                    }
                    _ = host
                }
            }
        }
    }

    @Test func `a URI of a granted scheme is opened, and any other is denied, also as a fallback`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([], launchURIProvider: Self.opener) { _ in
                try await accounts.withListed { system, _ in
                    let application = try #require(system.applications.first)
                    func launch(_ uri: String, fallback: String? = nil) async throws -> RemoteLaunchURIStatus {
                        try await RemoteLauncher().launchURI(
                            uri,
                            with: .application(application),
                            options: RemoteLauncherOptions(fallbackURI: fallback)
                        ).status
                    }
                    #expect(try await launch("player:1") == .success)
                    #expect(try await launch("PLAYER:1") == .success)
                    #expect(try await launch("secret:1") == .deniedByRemoteSystem)
                    #expect(try await launch("player:1", fallback: "secret:1") == .deniedByRemoteSystem)
                }
            }
        }
    }

    @Test func `a link works in each direction as far as each side grants`() async throws {
        try await LinkedAccounts.with(
            granting: Grants(),
            receiving: Grants(services: ["test.granted"])
        ) { accounts in
            try await accounts.friends.withHost([Self.open]) { _ in
                let watcher = accounts.ours.watcher(filters: [.authorizationKind(.linked)])
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                let system = try await recorder.added()
                #expect(system.accountName == "Bo")
                let (connection, status) = try await accounts.open("test.granted", on: system)
                #expect(status == .success)
                await connection.close()
                await watcher.stop()
            }
        }
    }

    // MARK: Ending

    @Test func `withdrawing a link ends its connections, and both sides show it`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { host in
                try await accounts.withListed { system, recorder in
                    let (connection, status) = try await accounts.open("test.granted", on: system)
                    #expect(status == .success)
                    // Withdraws like the command: in a process that shares nothing but the files.
                    try accounts.ourAccount.unlink(accounts.friendsID)
                    _ = try await connection.waitUntilClosed()
                    #expect(try await recorder.removed().id == system.id)
                    #expect(try accounts.ourAccount.links().map(\.state) == [.withdrawn])
                    // The friend's watcher reconnects, gets the signed notice, and keeps it.
                    try await until { (try? accounts.friendsStore.links().links.first?.state) == .withdrawnByOther }
                    let again = AppServiceConnection(to: AppServiceDescription(name: "test.granted"))
                    #expect(try await again.open(.system(system)) != .success)
                    _ = host
                }
            }
        }
    }

    @Test func `a host that has an open connection with the account that withdraws the link learns of it at once`()
        async throws
    {
        try await LinkedAccounts.with(granting: Grants(), receiving: Self.grants) { accounts in
            // Nothing on the friend's side connects to our system, so only the end of our connection has the notice.
            try await accounts.friends.withHost([Self.open]) { _ in
                let watcher = accounts.ours.watcher(filters: [.authorizationKind(.linked)])
                try await accounts.withListed(by: watcher) { _, _ in
                    try accounts.ourAccount.unlink(accounts.friendsID)
                    try await until { (try? accounts.friendsStore.links().links.first?.state) == .withdrawnByOther }
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func `a diagnosis by address shows that the other account has withdrawn the link`(isStolen: Bool) async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            if isStolen {
                try accounts.ourAccount.rotateRootKey(isStolen: true)
            } else {
                try accounts.ourAccount.unlink(accounts.friendsID)
            }
            try await accounts.ours.withHost([Self.open]) { host in
                let port = try await host.port
                let configuration = accounts.friends.configuration("test.doctor")
                let findings = await RemoteSystemsDiagnosis(configuration).run(
                    with: RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: configuration)
                )
                #expect(findings.first?.what.contains("has withdrawn its link") == true, "\(findings)")
                #expect(findings.first?.advice?.contains("account links") == true)
                #expect(try accounts.friendsStore.links().links.map(\.state) == [.withdrawnByOther])
            }
        }
    }

    @Test func `a diagnosis by address does not end a link that is in force`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { host in
                let port = try await host.port
                let configuration = accounts.friends.configuration("test.doctor")
                let findings = await RemoteSystemsDiagnosis(configuration).run(
                    with: RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: configuration)
                )
                #expect(findings.first?.what.contains("linked with this one") == true, "\(findings)")
                #expect(try accounts.friendsStore.links().links.map(\.state) == [.active])
            }
        }
    }

    @Test func `a watcher that starts after the link was withdrawn learns of that, too`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try accounts.ourAccount.unlink(accounts.friendsID)
            try await accounts.ours.withHost([Self.open]) { _ in
                let watcher = accounts.friendsWatcher()
                try await watcher.start()
                // Our announcements have no tag of the link any more.
                try await until { (try? accounts.friendsStore.links().links.first?.state) == .withdrawnByOther }
                await watcher.stop()
            }
        }
    }

    @Test func `connections end when the grants end or change, and continue with the new ones`() async throws {
        let brief = Grants(services: ["test.granted"], end: Date().addingTimeInterval(15))
        try await LinkedAccounts.with(granting: brief) { accounts in
            try await accounts.ours.withHost([Self.open, Self.closed]) { _ in
                try await accounts.withListed { system, recorder in
                    let (connection, status) = try await accounts.open("test.granted", on: system)
                    #expect(status == .success)
                    _ = try await connection.waitUntilClosed()
                    #expect(Date() >= brief.end ?? .distantFuture)
                    let (_, refused) = try await accounts.open("test.granted", on: system)
                    #expect(refused == .notAuthorized)
                    #expect(try await recorder.removed().id == system.id)
                    try accounts.ourAccount.grant(Grants(services: ["test.ours"]), to: accounts.friendsID)
                    let services = try await recorder.first { event -> [String]? in
                        guard case .added(let system) = event else { return nil }
                        let names = system.applications.flatMap(\.services).map(\.name)
                        return names == ["test.ours"] ? names : nil
                    }
                    #expect(services == ["test.ours"])
                }
            }
        }
    }

    @Test func `a revoked system of the linked account is refused once its account's list is known`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { host in
                // Another machine of the friend's, which is lost.
                let lost = try accounts.friendsStore.authority()
                    .makeSystem(beside: accounts.friendsStore.identity(), now: Date())
                _ = try accounts.friendsStore.revoke(lost.systemID, now: Date())
                try await accounts.withListed { _, _ in
                    // The friend's watcher publishes its account's list to our host.
                    try await until { (try? accounts.ourStore.links().links.first?.revocations) != nil }
                    try await until { (try? accounts.ourTrust().linked.values.first?.account.revocations) != nil }
                }
                let security = try TransportSecurity(identity: lost, trust: accounts.friendsTrust())
                #expect(await accounts.outcome(of: security, at: host) == "revoked")
            }
        }
    }

    @Test func `a list of the linked account that is refused does not keep another one from being known`() async throws
    {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            let lost = try accounts.friendsStore.authority()
                .makeSystem(beside: accounts.friendsStore.identity(), now: Date())
            let list = try accounts.friendsStore.revoke(lost.systemID, now: Date())
            var forged = list.bytes
            forged[0] = 0xff
            let lists = [forged, list.bytes]
            let error = await #expect(throws: TrustError.self) { try await accounts.presentToOurs(lists) }
            #expect(error?.code == .badSignature)
            #expect(try accounts.ourStore.links()[accounts.friendsID]?.revocations == list)
        }
    }

    @Test func `a linked account whose root key was replaced stays linked`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            let next = try accounts.friendsStore.authority()
                .successor(retiring: Date().addingTimeInterval(3600), now: Date())
            let renewed = try next.makeSystem(beside: accounts.friendsStore.identity(), now: Date())
            try await accounts.ours.withHost([Self.open]) { host in
                var trust = TrustStore(TrustedAccount(roots: next.roots))
                trust.update(links: try accounts.friendsStore.links().links)
                let security = try TransportSecurity(identity: renewed, trust: trust)
                #expect(await accounts.outcome(of: security, at: host) == "accepted")
                try await until { (try? accounts.ourStore.links().links.first?.roots.count) == 2 }
            }
        }
    }

    // MARK: Attacks

    private struct NotHere: Error {}

    @Test func `a launch starts only an application that opens a granted scheme, and shows no other one`() async throws
    {
        var player = InstalledApplication(id: "test.player", displayName: "Player")
        player.uriSchemes = ["other", "player"]
        var secret = InstalledApplication(id: "test.secret", displayName: "Secret")
        secret.uriSchemes = ["secret"]
        let installation = InstalledApplicationsTests.Installation([player, secret]) { _ in throw NotHere() }
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([], installed: installation) { host in
                let security = try TransportSecurity(
                    identity: accounts.friendsStore.identity(),
                    trust: accounts.friendsTrust()
                )
                func launch(_ application: String) async -> String {
                    await accounts.outcome(of: security, at: host, "remote-systems.launch", of: application)
                }
                #expect(await launch("test.secret") == "not-authorized")
                #expect(await launch("test.absent") == "not-authorized")
                #expect(installation.starts.withLock { $0.isEmpty })
                #expect(await launch("test.player") == "application-not-started")
                #expect(installation.starts.withLock { $0 } == ["test.player"])
            }
        }
    }

    @Test func `a linked system that asks for a certificate gets none, and is recorded, without filling the log`()
        async throws
    {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            let log = InMemoryLogHandler()
            var ours = accounts.ours
            ours.logger = Logger(label: "test") { _ in log }
            try await ours.withHost([Self.open]) { host in
                let security = try TransportSecurity(
                    identity: accounts.friendsStore.identity(),
                    trust: accounts.friendsTrust()
                )
                let failures = try await accounts.failuresOfRenewal(of: security, at: host, times: 40)
                // As from a system that renews no certificates.
                #expect(failures == [String?](repeating: "request-unknown", count: 40))
                let metadata = log.entries.map { $0.metadata.mapValues { "\($0)" } }
                let refusals = metadata.filter { $0["event"] == "access.refused" && $0["target"] == "renewal" }
                let first = try #require(refusals.first)
                let account = try accounts.friendsID.description
                #expect(first["peer.account"] == account)
                #expect(first["peer.standing"] == "linked")
                #expect(first["decision"] == "deny")
                #expect(first["reason"] == "other-account")
                // Ten of one system in a minute.
                #expect(refusals.count < 40)
            }
        }
    }

    @Test func `an older list of links, as from a backup, does not restore a withdrawn link`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            let path = accounts.ours.directory + "/account/links.pem"
            let old = try #require(FileManager.default.contents(atPath: path))
            try await accounts.ours.withHost([Self.open]) { host in
                let security = try TransportSecurity(
                    identity: accounts.friendsStore.identity(),
                    trust: accounts.friendsTrust()
                )
                #expect(await accounts.outcome(of: security, at: host) == "accepted")
                try accounts.ourAccount.unlink(accounts.friendsID)
                try await until { await accounts.outcome(of: security, at: host) == "link-withdrawn" }
                _ = FileManager.default.createFile(
                    atPath: path + ".old",
                    contents: old,
                    attributes: [.posixPermissions: 0o600]
                )
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: path + ".old", toPath: path)
                try await Task.sleep(for: .seconds(3))
                #expect(await accounts.outcome(of: security, at: host) == "link-withdrawn")
            }
        }
    }

    @Test func `a removed link's system cannot return with its TLS session`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { host in
                // One TLS context for all connections, so that tickets are used.
                let security = try TransportSecurity(
                    identity: accounts.friendsStore.identity(),
                    trust: accounts.friendsTrust()
                )
                for _ in 0..<3 { #expect(await accounts.outcome(of: security, at: host) == "accepted") }
                try accounts.ourAccount.unlink(accounts.friendsID)
                try await until { await accounts.outcome(of: security, at: host) != "accepted" }
                for _ in 0..<3 {
                    #expect(await accounts.outcome(of: security, at: host) == "link-withdrawn")
                }
            }
        }
    }

    @Test func `a system of a third account gets nothing, though it knows both accounts`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.ours.withHost([Self.open]) { host in
                let stranger = try AccountAuthority(creatingAt: Date())
                let identity = try SystemIdentity.founding(stranger, now: Date())
                var trust = TrustStore(TrustedAccount(roots: stranger.roots))
                trust.link(
                    LinkedAccount(TrustedAccount(roots: try accounts.ourStore.identity().roots), grants: Grants())
                )
                let security = try TransportSecurity(identity: identity, trust: trust)
                #expect(await accounts.outcome(of: security, at: host) == "other-account")
            }
        }
    }

    @Test func `a linked system can publish no list of links, and get none`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            // Lists that both sides may receive, in the same versions of the topic.
            let lost = try #require(SystemID(bytes: [UInt8](repeating: 1, count: 32)))
            _ = try accounts.ourStore.revoke(lost, now: Date())
            let revocations = try accounts.friendsStore.revoke(lost, now: Date())
            let copy = FileManager.default.temporaryDirectory.appending(path: "account-\(UUID())").path
            try FileManager.default.copyItem(atPath: accounts.ours.directory, toPath: copy)
            defer { try? FileManager.default.removeItem(atPath: copy) }
            let newer = try #require(
                try AccountStore(directory: copy).unlink(accounts.friendsID, now: Date()).list
            )
            try await accounts.ours.withHost([Self.open]) { host in
                let security = try TransportSecurity(
                    identity: accounts.friendsStore.identity(),
                    trust: accounts.friendsTrust()
                )
                let list = try #require(try accounts.ourStore.links().list)
                #expect(newer.isNewer(than: list))
                // A newer one that our root key signed: a system of our account would take it over.
                let received = try await accounts.trustRecords(security, at: host, publishing: newer, revocations)
                #expect(received.allSatisfy { !$0.hasPrefix("links/") })
                #expect(await accounts.outcome(of: security, at: host) == "accepted")
                #expect(try accounts.ourStore.links().list == list)
            }
        }
    }
}

/// The text of the refusal for systems of other accounts.
private enum AnonymousRefusal {
    static let text =
        "You are not authorised here: your system belongs to another account, and this is not offered to others."
}
