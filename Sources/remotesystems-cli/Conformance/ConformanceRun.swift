// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsTransport
import ServiceLifecycle
import UnixSignals

/// Runs `remotesystems serve --conformance`: a host of a temporary account that reports which rules clients break.
struct ConformanceRun {
    let directory: String
    let port: Int
    let network: RemoteSystemsConfiguration.Network
    let output: Output
    let logger: Logger

    /// Runs the conformance hosts until Ctrl-C, then prints the summary.
    ///
    /// - Returns: Whether no rule was broken.
    func run() async throws -> Bool {
        let (own, other) = ("\(self.directory)/account", "\(self.directory)/another-account")
        try ConformanceIdentity.make(directory: self.directory)
        let output = self.output
        let record = ConformanceRecord { finding in Self.report(finding, output) }
        let limits = ConformanceService.Limits()
        let host = self.host(
            state: own,
            port: self.port,
            judge: ConformanceJudge(record: record, limits: limits),
            limits: limits
        )
        let impostor = self.host(
            state: other,
            port: 0,
            judge: ConformanceJudge(record: record, limits: limits, isImpostor: true),
            limits: limits
        )
        let identity = try RemoteSystemsAccount(host.configuration).identity()
        let client = try ConformanceIdentity.write(to: self.directory, account: own)
        let ready = Ready(
            host: host.host,
            impostor: impostor.host,
            identity: identity,
            client: client,
            directory: self.directory,
            output: self.output
        )
        try await ServiceGroup(
            services: [host.host, impostor.host, ready],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: self.logger
        ).run()
        try self.summarise(record)
        return record.broken.isEmpty
    }

    private func host(
        state: String,
        port: Int,
        judge: ConformanceJudge,
        limits: ConformanceService.Limits
    ) -> (host: RemoteSystemHost, configuration: RemoteSystemsConfiguration) {
        var configuration = RemoteSystemsConfiguration(
            applicationID: ConformanceService.name,
            network: self.network,
            stateDirectory: state,
            logger: self.logger
        )
        configuration.limits.messageBytes = limits.messageBytes
        configuration.limits.concurrentRequests = limits.window
        configuration.limits.concurrentRequestBytes = limits.windowBytes
        var options = RemoteSystemHost.Options()
        options.port = port
        options.displayName = "remotesystems serve --conformance"
        options.isDiscoverable = false
        // A client that does not verify the host must get as far as its hello, so this host accepts other accounts.
        options.allowsAnyoneNearby = judge.isImpostor
        options.connectionObserver = judge.observer
        options.unknownAcceptKeys = ConformanceService.unknownAcceptKeys
        let host = RemoteSystemHost(configuration, services: [ConformanceService.service, .ping], options: options)
        return (host, configuration)
    }

    private static func report(_ finding: ConformanceRecord.Finding, _ output: Output) {
        try? output.json(BrokenOutput(finding))
        try? output.line(
            """
            \(output.style(.red, "broken")): \(finding.rule.rawValue) (section \(finding.rule.section)), connection \
            \(finding.connection)
                seen:     \(finding.seen.printable)
                expected: \(finding.rule.expected)
            """
        )
    }

    private func summarise(_ record: ConformanceRecord) throws {
        let (kept, broken, never) = (record.kept, record.broken, record.neverExercised)
        try self.output.json(
            SummaryOutput(
                kept: kept.map(\.rawValue),
                broken: Dictionary(uniqueKeysWithValues: broken.map { ($0.rule.rawValue, $0.count) }),
                neverExercised: never.map(\.rawValue)
            )
        )
        try self.output.line(
            "\(kept.count) rules kept, \(broken.count) broken, \(never.count) never exercised."
        )
        for (rule, count) in broken {
            try self.output.line("broken \(count) times: \(rule.rawValue) (section \(rule.section))")
        }
        for rule in never {
            try self.output.line("never exercised: \(rule.rawValue) (section \(rule.section)). \(rule.expected)")
        }
    }

    /// Prints the ports of the two hosts once they are listening.
    private struct Ready: Service {
        let host: RemoteSystemHost
        let impostor: RemoteSystemHost
        let identity: SystemIdentity
        let client: SystemIdentity
        let directory: String
        let output: Output

        func run() async throws {
            guard let port = await self.host.listeningPort(), let other = await self.impostor.listeningPort() else {
                return
            }
            try self.output.json(
                ReadyOutput(
                    port: port,
                    otherAccountPort: other,
                    service: ConformanceService.name,
                    systemID: self.identity.systemID,
                    accountID: self.identity.accountID,
                    clientSystemID: self.client.systemID,
                    directory: self.directory
                )
            )
            try self.output.line(
                """
                ready: service \(ConformanceService.name) on port \(port), system \(self.identity.systemID)
                The client's identity is in \(self.directory): key.pem, certificate.pem, root.pem.
                Port \(other) is a host of another account: a client must not send a hello there.
                Ctrl-C ends the run and lists the rules that were kept, broken and never exercised.
                """
            )
            try? await gracefulShutdown()
        }
    }
}

/// The first output of `serve --conformance --json`: the ports of the two hosts.
private struct ReadyOutput: Encodable {
    let event = "ready"
    let time = Date.now
    var port: Int
    var otherAccountPort: Int
    var service: String
    var systemID: SystemID
    var accountID: AccountID
    var clientSystemID: SystemID
    var directory: String
}

/// The output of `serve --conformance --json` for a rule that a client broke.
private struct BrokenOutput: Encodable {
    let event = "broken"
    let time = Date.now
    var rule: String
    /// The failure code that the peer receives, if the protocol has one for the rule.
    var code: String?
    var section: Int
    var connection: UInt64
    var seen: String
    var expected: String

    init(_ finding: ConformanceRecord.Finding) {
        self.rule = finding.rule.rawValue
        self.code = FailureCode(rawValue: finding.rule.rawValue)?.rawValue
        self.section = finding.rule.section
        self.connection = finding.connection
        self.seen = finding.seen
        self.expected = finding.rule.expected
    }
}

/// The last output of `serve --conformance --json`.
private struct SummaryOutput: Encodable {
    let event = "stopped"
    let time = Date.now
    var kept: [String]
    var broken: [String: Int]
    var neverExercised: [String]
}
