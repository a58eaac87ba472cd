// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// Looks for what would keep this machine from finding others, or others from finding it.
///
/// It changes nothing and makes no account. It asks the network for systems as a watcher does, for two seconds; with another
/// system to ask, it also announces itself for as long as that takes.
public struct RemoteSystemsDiagnosis: Sendable {
    private let context: ApplicationContext
    private let port: Int

    /// How long to look for systems, to see whether that works.
    private static let discoveryTime = Duration.seconds(2)

    /// A diagnosis for programs with this configuration.
    ///
    /// - Parameters:
    ///   - configuration: how the program takes part.
    ///   - port: the port on which a host is to listen; 0 for any free one. Valid range: 0–65535; another number is a
    ///     finding.
    public init(_ configuration: RemoteSystemsConfiguration, port: Int = 0) {
        self.context = ApplicationContext(configuration)
        self.port = port
    }

    // MARK: This machine

    /// Looks at everything.
    ///
    /// - Returns: the findings, good ones too, in an order to read and mend them in.
    public func run() async -> [DiagnosisFinding] {
        let network = self.context.configuration.network
        // Before this process speaks mDNS itself.
        let responders = MulticastSockets.current()
        let identity = IdentityFacts.read(self.context)
        var findings = IdentityFindings(now: Date(), facts: identity).all
        let interfaces = InterfaceFacts.current()
        let used = NetworkFindings.used(interfaces, network).filter { !$0.addresses.isEmpty }
        findings.append(NetworkFindings.interfaces(interfaces, network))
        if let multicast = NetworkFindings.multicast(interfaces, network) { findings.append(multicast) }
        if network != .loopback {
            findings.append(NetworkFindings.vpn(.current()))
            let firewall = FirewallFindings(
                facts: await FirewallFacts.read(),
                interfaces: used.filter { !$0.isLoopback },
                port: self.port
            )
            findings += firewall.all
        }
        async let seen = self.serviceInstances(identity)
        let discovery = await self.discovery()
        findings += discovery.findings.map { DiagnosisFinding($0) }
        findings += NetworkFindings.discovery(discovery.troubles)
        if network != .loopback {
            findings.append(NetworkFindings.responders(responders))
        }
        findings.append(await self.listening())
        findings += (await seen ?? DiscoveryFindings(discovery.hints, network: network)).all
        return findings
    }

    /// What the sources report of themselves, and what they see announced.
    private struct Discovery: Sendable {
        var findings: [DiscoveryFinding] = []
        var troubles: [DiscoveryProblem] = []
        var hints: [DiscoveryHint] = []
    }

    private func discovery() async -> Discovery {
        var discovery = Discovery()
        for source in self.context.account.sources {
            // What is there now is enough.
            let events = source.browse { _ in false }
            let seen = await withTaskGroup(of: Seen.self) { group in
                group.addTask {
                    var seen = Seen()
                    for await event in events where seen.note(event) { return seen }
                    return seen
                }
                group.addTask {
                    try? await self.context.environment.time.sleep(for: Self.discoveryTime)
                    return Seen()
                }
                // Whichever is first; the other one, cancelled, gives what it has.
                var found = await group.next() ?? Seen()
                group.cancelAll()
                for await more in group { found.add(more) }
                return found
            }
            discovery.troubles += seen.troubles
            discovery.hints += seen.hints.values
            discovery.findings += await source.diagnose(advertisements: seen.hints.count)
        }
        return discovery
    }

    private struct Seen: Sendable {
        var troubles: [DiscoveryProblem] = []
        var hints: [DiscoveryHint.ID: DiscoveryHint] = [:]

        /// - Returns: whether that was all.
        mutating func note(_ event: DiscoveryEvent) -> Bool {
            switch event {
            case .trouble(let trouble): self.troubles.append(trouble)
            case .recovered(let code): self.troubles.removeAll { $0.code == code }
            case .appeared(let hint), .changed(let hint): self.hints[hint.id] = hint
            case .vanished(let id): self.hints[id] = nil
            case .settled: return true
            }
            return false
        }

        mutating func add(_ other: Seen) {
            self.troubles += other.troubles
            self.hints.merge(other.hints) { $1 }
        }
    }

    /// What a watcher finds; nil without an account, which a watcher would make.
    private func serviceInstances(_ identity: IdentityFacts) async -> DiscoveryFindings? {
        guard case .usable = identity else { return nil }
        var configuration = self.context.configuration
        configuration.discovery = self.context.account.sources
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = Self.discoveryTime
        options.stopsWithLastSequence = false
        let watcher = RemoteSystemWatcher(configuration, options: options)
        let events = watcher.events
        guard (try? await watcher.start()) != nil else { return nil }
        for await event in events {
            if case .enumerationCompleted = event { break }
        }
        let findings = DiscoveryFindings(
            listed: watcher.systems.count,
            hasOthers: watcher.systems.contains { !$0.isLocal },
            unlisted: await watcher.unlisted,
            network: configuration.network
        )
        await watcher.stop()
        return findings
    }

    private func listening() async -> DiagnosisFinding {
        let running = self.context.account.running?.all() ?? []
        if self.port != 0, let holder = running.first(where: { $0.port == self.port }) {
            return NetworkFindings.port(self.port, nil, holder: holder.application)
        }
        do {
            try FileDescriptorBudget.check()
            try await Listener.check(
                port: self.port,
                network: self.context.account.network,
                logger: self.context.logger
            )
            return NetworkFindings.port(self.port, nil)
        } catch {
            return NetworkFindings.port(self.port, RemoteSystemError(error).message)
        }
    }

    // MARK: The way to another one

    /// Looks at the way between this machine and another one, which helps: whether each reaches the other, sees the other's
    /// announcement, and whether clocks and versions agree. It takes up to ten seconds.
    ///
    /// The other one must be a system of this configuration's account with a host that runs.
    ///
    /// - Parameter peer: the other system, by what a watcher tells of it or, where nothing is found, by its address.
    /// - Returns: findings that begin with `peer`.
    public func run(with peer: RemoteSystemConnectionRequest) async -> [DiagnosisFinding] {
        let examination = PeerExamination(context: self.context, request: peer, port: self.port)
        return PeerFindings(facts: await examination.facts()).all
    }

    // MARK: Empty lists

    /// Why a watcher lists nothing, most likely, from what it has really seen: cheap, and sends nothing.
    ///
    /// Ask when its enumeration is completed.
    ///
    /// - Returns: one finding; `nil` when something is listed.
    public static func likelyReason(whyEmpty watcher: RemoteSystemWatcher) async -> DiagnosisFinding? {
        guard watcher.systems.isEmpty else { return nil }
        let reason = EmptyListReason(
            unlisted: await watcher.unlisted,
            interfaces: InterfaceFacts.current(),
            network: watcher.network
        )
        return reason.finding
    }

    /// Why a watcher does not list a system that it was expected to, where it has seen a reason: somebody is not trusted, looking
    /// does not work, or somebody does not answer or refuses. `nil` when it has seen none.
    package static func likelyReason(whyUnlisted watcher: RemoteSystemWatcher) async -> DiagnosisFinding? {
        let unlisted = await watcher.unlisted
        let reason = EmptyListReason(
            unlisted: unlisted,
            interfaces: InterfaceFacts.current(),
            network: watcher.network
        ).finding
        let isSeen = !unlisted.unreachable.isEmpty || !unlisted.refusals.isEmpty
        return reason.status == .problem || isSeen ? reason : nil
    }

    /// The port of the host that speaks for this system, if one runs here.
    package static func machinePort(_ configuration: RemoteSystemsConfiguration) -> Int? {
        ApplicationContext(configuration).account.running?.machinePort
    }

    /// What is to be said of the interfaces that a program with this configuration uses.
    package static func interfaces(_ configuration: RemoteSystemsConfiguration) -> DiagnosisFinding {
        NetworkFindings.interfaces(InterfaceFacts.current(), configuration.network)
    }
}
