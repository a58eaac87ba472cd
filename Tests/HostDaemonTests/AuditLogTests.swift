// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Logging
import NIOCore
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

extension HostDaemonTests {
    /// What the daemon writes about peers to standard error, which is the journal of a service.
    @Suite struct AuditLog {
        @Test func `no name that a peer chooses looks like a key of an audit event`() async throws {
            let text = #"x [RemoteSystems] An account was linked" event=link.made decision=allow peer.account=zzzz"#
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, port in
                    let connection = AppServiceConnection(to: AppServiceDescription(name: text))
                    let status = try await connection.open(
                        RemoteSystemConnectionRequest(
                            host: "127.0.0.1",
                            port: port,
                            configuration: daemon.configuration(text)
                        )
                    )
                    #expect(status != .success)
                    let line = try await eventually("the refusal", within: .seconds(30)) {
                        process.lines.first { $0.contains(" event=access.refused ") }
                    }
                    // What an operator finds who searches for the keys.
                    for search in ["event=link.made", "decision=allow", "peer.account=zzzz"] {
                        #expect(!process.lines.contains { $0.contains(search) }, "\(search)")
                    }
                    // Both names are there, in quotes, and the line has one source and one sentence.
                    let escaped =
                        #"x [RemoteSystems] An account was linked\" event\u003dlink.made "#
                        + #"decision\u003dallow peer.account\u003dzzzz"#
                    #expect(line.contains(" peer.application=\"\(escaped)\" "), "\(line)")
                    #expect(line.contains(" service=\"\(escaped)\" "), "\(line)")
                    let bare = line.replacing("\"\(escaped)\"", with: "")
                    #expect(!bare.contains("\""), "\(line)")
                    #expect(bare.split(separator: " [").count == 2, "\(line)")
                    #expect(bare.hasSuffix("] A peer was refused"), "\(line)")
                    // Ordinary values have no quotes.
                    for key in ["decision=deny", "reason=unknown-service", "target=service"] {
                        #expect(bare.contains(" \(key) "), "\(line)")
                    }
                }
            }
        }

        /// Subscribes once to a topic of the host at the port, as a system that does not wait for its description.
        private static func subscribe(
            to topic: String,
            at port: Int,
            as security: TransportSecurity
        ) async throws -> StateEnd {
            var connector = Connector(
                security: security,
                limits: ConnectionLimits(),
                timeout: .seconds(10),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            connector.accepted = [.linked]
            let connection = try await connector.connect(
                to: [Endpoint(host: "127.0.0.1", port: port)],
                expecting: nil,
                hello: Hello(
                    service: "remote-systems.presence",
                    targetApplication: nil,
                    application: "test.curious",
                    limits: connector.limits.peerLimits
                )
            ) { _, _ in .requestUnknown }
            let subscriber = StateSubscriber(TopicSchema(topic, priority: .activities, records: []))
            let end = try await subscriber.follow(over: connection) { _ in }
            await connection.close()
            return end
        }

        @Test func `a linked account that tries a topic is recorded, and a flood of that does not fill the log`()
            async throws
        {
            let topic = "org.remotesystems.notifications.states"
            try await Daemon.with { daemon in
                let own = AccountStore(directory: "\(daemon.directory)/state")
                let other = AccountStore(directory: "\(daemon.directory)/other")
                _ = try own.identity()
                let identity = try other.identity()
                let now = Date()
                let ours = try own.linkOffer(name: "Ada", granting: Grants(services: ["test.volume"]), now: now)
                let theirs = try other.linkOffer(name: "Bo", granting: Grants(), now: now)
                try own.link(ours, with: theirs, now: now)
                try other.link(theirs, with: ours, now: now)
                var trust = identity.trustStore()
                trust.update(links: try other.links().links)
                let security = try TransportSecurity(identity: identity, trust: trust)
                try await daemon.whileRunning { process, port in
                    func refusals() -> [String] { process.lines.filter { $0.contains(" event=access.refused ") } }
                    // The daemon may open the topic a moment after it listens.
                    let line = try await eventually("the refusal", within: .seconds(30)) {
                        let end = try await Self.subscribe(to: topic, at: port, as: security)
                        #expect(end == .publisher(.topicUnknown))
                        return refusals().first
                    }
                    for key in [
                        "decision=deny", "peer.account=\(identity.accountID)", "peer.standing=linked",
                        "peer.system=\(identity.systemID)", "reason=not-granted", "target=topic", "topic=\(topic)",
                    ] {
                        #expect(line.contains(" \(key) "), "\(key) in \(line)")
                    }
                    // Ten refusals of one system are logged in a minute, and one summary.
                    for _ in 0..<40 { _ = try await Self.subscribe(to: topic, at: port, as: security) }
                    _ = try await eventually("ten refusals", within: .seconds(30)) {
                        refusals().count >= 10 ? true : nil
                    }
                    #expect(refusals().count < 40)
                }
            }
        }

        @Test func `joining, revoking, a new root key and leaving are audit events of the daemon`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, _ in
                    func event(_ name: String) async throws -> String {
                        try await eventually(name, within: .seconds(60)) {
                            process.lines.first { $0.contains(" event=\(name) ") }
                        }
                    }
                    let system = try await daemon.addSystem()
                    let joined = try await event("system.joined")
                    #expect(joined.contains(" system=\(system) "))
                    let revoked = try await daemon.finish(["account", "revoke", system, "--loopback"])
                    #expect(revoked.0 == 0, "\(revoked.1)")
                    let revocation = try await event("system.revoked")
                    #expect(revocation.contains(" system=\(system) "))
                    let rotated = try await daemon.finish(["account", "rotate-root-key"])
                    #expect(rotated.0 == 0, "\(rotated.1)")
                    let replaced = try await event("root-key.replaced")
                    #expect(replaced.contains(" root-key=2 "))
                    let left = try await daemon.finish(["account", "leave", "--force"])
                    #expect(left.0 == 0, "\(left.1)")
                    _ = try await event("system.left")
                }
            }
        }

        @Test(arguments: [true, false])
        func `the journal gets the priority of each line, and another stream does not`(isJournal: Bool) async throws {
            // As systemd does: the variable names the stream that is connected to standard error.
            let stream = isJournal ? "$(stat --dereference --format=%d:%i /dev/stderr)" : "1:1"
            let around = ["sh", "-c", "JOURNAL_STREAM=\(stream) exec \"$@\"", "sh"]
            try await Daemon.with { daemon in
                try await daemon.whileRunning(around: around) { process, _ in
                    let account = try await daemon.finish(["account", "leave", "--force"])
                    #expect(account.0 == 0, "\(account.1)")
                    let line = try await eventually("the event", within: .seconds(60)) {
                        process.lines.first { $0.contains(" event=system.left ") }
                    }
                    #expect(line.hasPrefix("<5>") == isJournal, "\(line)")
                    #expect(line.contains(" notice remotesystems: "), "\(line)")
                }
            }
        }
    }
}
