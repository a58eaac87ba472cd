// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import NIOPosix
import RemoteSystemsDiscovery
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Synchronization

@testable import RemoteSystems
@testable import RemoteSystemsTesting

/// Systems of one account in memory, which find each other on a scripted segment and connect over loopback with TLS.
struct MemberSegment {
    let segment = ScriptedDiscovery()

    /// The configuration of an honest system. Numbers below 10 000 are free for each test.
    func configuration(_ number: Int, application: String = "test.member") throws -> RemoteSystemsConfiguration {
        let identity = try ThrowAwayAccount.shared.system(number)
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            network: .loopback,
            discovery: [self.segment]
        )
        configuration.environment.identity = { identity }
        configuration.systemDisplayName = "system \(number)"
        configuration.transport.helloTimeout = .seconds(10)
        configuration.transport.connectTimeout = .seconds(10)
        return configuration
    }

    /// Announces a port of loopback with the account's tag, as each system of the account, also a revoked one, can.
    func announce(_ instance: String, port: Int, address: String = "127.0.0.1") throws {
        let key = try ThrowAwayAccount.shared.system(0).discoveryKey
        self.segment.appear(
            DiscoveryHint(
                id: instance,
                instance: instance,
                endpoints: [DiscoveryEndpoint(address: address, port: port)],
                properties: [
                    Presence.versionProperty: Array(Presence.version.utf8),
                    Presence.tagProperty: key.discoveryTag(instance: instance),
                ]
            )
        )
    }

    /// Runs an honest host while `body` runs.
    func withHost(_ number: Int, _ body: () async throws -> Void) async throws {
        let host = RemoteSystemHost(try self.configuration(number, application: "test.host"), services: [Loopback.echo])
        try await host.whileRunning { try await body() }
    }
}

/// A system with a valid certificate of the account, which describes itself as it likes.
final class HostileMember: Sendable {
    private let publisher: StatePublisher
    private let topic: PublishedTopic
    private let listener: Listener

    var port: Int { self.listener.port }

    /// Starts to listen on loopback as a system of the shared account.
    convenience init(_ number: Int) async throws {
        try await self.init(as: ThrowAwayAccount.shared.system(number))
    }

    /// Starts to listen on loopback.
    ///
    /// - Parameters:
    ///   - trust: the accounts that it trusts, to whose systems it describes itself, too. Defaults to `nil`: its own.
    ///   - other: a member whose description this one publishes as its own. Defaults to `nil`: none.
    init(
        as identity: SystemIdentity,
        trusting trust: TrustStore? = nil,
        describedAs other: HostileMember? = nil
    ) async throws {
        let publisher = other?.publisher ?? StatePublisher()
        self.publisher = publisher
        self.topic =
            try other?.topic
            ?? publisher.open(
                PresenceTopic.schema,
                for: TopicAudience(view: { $0.standing.kind.isAccountProved ? .account : nil })
            )
        let limits = ConnectionLimits()
        let received = Shared()
        self.listener = try await Listener.start(
            host: "127.0.0.1",
            port: 0,
            security: TransportSecurity(identity: identity, trust: trust),
            limits: limits,
            logger: Logger(label: "hostile") { _ in SwiftLogNoOpLogHandler() },
            accepting: trust == nil ? [.sameAccount] : [.sameAccount, .linked]
        ) { hello, _ in
            received.count.withLock { $0 += 1 }
            guard hello.service == Presence.service, hello.targetApplication == nil else {
                return .refuse(Refusal(.appServiceUnavailable, "No."))
            }
            return .accept(
                EstablishedConnection(
                    acceptance: Acceptance(application: "test.hostile", limits: limits.peerLimits),
                    limits: limits,
                    handler: { _, _ in Response(status: .failure) },
                    opened: { $0.publish(publisher) }
                )
            )
        }
        self.received = received
    }

    private final class Shared: Sendable {
        let count = Mutex(0)
    }

    private let received: Shared

    /// The number of connections with a hello that it has received.
    var connections: Int { self.received.count.withLock { $0 } }

    func describe(name: String, running: [String] = [], attributeBytes: Int = 0, round: Int = 0) throws {
        var description = SystemDescription(
            displayName: name,
            kind: .desktop,
            platform: .linux,
            isAuthority: false,
            application: SystemDescription.Application(id: "test.hostile", displayName: "hostile")
        )
        description.running = running
        var records = description.records.records
        let filler = String(repeating: "x", count: 1000)
        for number in 0..<(attributeBytes / 1000) {
            records[StateKey("attribute/\(number)")] = ["Value": .string("\(round) \(filler)")]
        }
        try self.topic.replace(by: records)
    }

    func stop() async { await self.listener.stop() }
}

/// A TCP port that counts and closes connections: the victim of a flood.
final class CountingPort: Sendable {
    private let channel: any Channel
    private let accepted: Counted

    private final class Counted: Sendable {
        let count = Mutex(0)
    }

    init(host: String = "127.0.0.1") async throws {
        let accepted = Counted()
        self.accepted = accepted
        self.channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelInitializer { channel in
                accepted.count.withLock { $0 += 1 }
                return channel.close()
            }
            .bind(host: host, port: 0).get()
    }

    var address: String { self.channel.localAddress?.ipAddress ?? "" }
    var port: Int { self.channel.localAddress?.port ?? 0 }
    var connections: Int { self.accepted.count.withLock { $0 } }
    func stop() async { try? await self.channel.close() }
}
