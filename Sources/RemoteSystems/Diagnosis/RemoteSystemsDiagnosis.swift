// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

/// Finds the reasons why this machine and others may not find or reach each other.
///
/// A diagnosis changes no setting and creates no account. ``run()`` browses the network for 2 s, as a watcher does.
/// ``run(with:)`` also advertises this system while it runs.
public struct RemoteSystemsDiagnosis: Sendable {
    private let context: ApplicationContext
    private let port: Int

    /// The time for which discovery is tested.
    private static let discoveryTime = Duration.seconds(2)

    /// Creates a diagnosis for programs with a configuration.
    ///
    /// - Parameters:
    ///   - configuration: the configuration of the programs.
    ///   - port: the port on which a host is to listen; 0 for any free port. Defaults to 0. Valid range: 0–65535;
    ///     another number is reported as a finding.
    public init(_ configuration: RemoteSystemsConfiguration, port: Int = 0) {
        self.context = ApplicationContext(configuration)
        self.port = port
    }

    // MARK: This machine

    /// Checks this machine and its network.
    ///
    /// - Returns: the findings, including those without a problem, in the order in which to read and resolve them.
    ///   Failures are findings, so the method throws nothing.
    public func run() async -> [DiagnosisFinding] {
        let network = self.context.configuration.network
        // Before this process uses mDNS itself.
        let responders = MulticastSockets.current()
        let identity = IdentityFacts.read(self.context)
        var findings = IdentityFindings(now: Date(), facts: identity).all
        findings += self.context.recordFindings
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

    /// The findings and errors of the discovery sources, and the advertisements that they see.
    private struct Discovery: Sendable {
        var findings: [DiscoveryFinding] = []
        var troubles: [DiscoveryProblem] = []
        var hints: [DiscoveryHint] = []
    }

    private func discovery() async -> Discovery {
        var discovery = Discovery()
        for source in self.context.account.sources {
            // Only the present advertisements are needed, so the source need not keep browsing.
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
                // The first task to finish cancels the other one, which returns what it has found.
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

    /// What a discovery source has reported.
    struct Seen: Sendable {
        /// The number of advertisements from which on the source is observed for the whole time: a flood is noticed
        /// only after a while.
        static let crowd = 256

        var troubles: [DiscoveryProblem] = []
        var hints: [DiscoveryHint.ID: DiscoveryHint] = [:]
        /// The number of advertisements that appeared, including those that vanished again.
        private var appeared = 0

        /// Records an event.
        ///
        /// - Returns: whether the source has reported everything that is present, and there is no sign of a flood.
        mutating func note(_ event: DiscoveryEvent) -> Bool {
            switch event {
            case .trouble(let trouble): self.troubles.append(trouble)
            case .recovered(let code): self.troubles.removeAll { $0.code == code }
            case .appeared(let hint):
                self.appeared += 1
                self.hints[hint.id] = hint
            case .changed(let hint): self.hints[hint.id] = hint
            case .vanished(let id): self.hints[id] = nil
            case .settled: return self.appeared < Self.crowd
            }
            return false
        }

        mutating func add(_ other: Seen) {
            self.troubles += other.troubles
            self.hints.merge(other.hints) { $1 }
        }
    }

    /// Returns the findings about the systems that a watcher lists; `nil` without an account, since a watcher would
    /// create one.
    private func serviceInstances(_ identity: IdentityFacts) async -> DiscoveryFindings? {
        guard case .usable = identity else { return nil }
        var configuration = self.context.configuration
        configuration.discovery.sources = self.context.account.sources
        // The findings are about discovery, which systems that were met before do not need.
        configuration.discovery.remembersSystems = false
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
            network: configuration.network,
            hasLinks: self.context.hasLinks
        )
        await watcher.stop()
        return findings
    }

    private func listening() async -> DiagnosisFinding {
        let running = self.context.account.running?.listening ?? []
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

    // MARK: Another system

    /// Checks the connection between this system and another one, with the help of that system.
    ///
    /// The findings state whether each system can connect to the other and sees its advertisement, and whether clocks
    /// and versions agree. Takes about 5 s, or up to 35 s if one of the systems is busy. The other system must belong
    /// to this configuration's account and run a host.
    ///
    /// - Parameter peer: the other system as a watcher has reported it, or by its address.
    /// - Returns: the findings, whose codes begin with `peer`.
    public func run(with peer: RemoteSystemConnectionRequest) async -> [DiagnosisFinding] {
        let examination = PeerExamination(context: self.context, request: peer, port: self.port)
        return PeerFindings(facts: await examination.facts()).all
    }

    // MARK: Empty lists

    /// Returns the most likely reason why a watcher lists nothing, from what the watcher has seen.
    ///
    /// Sends nothing on the network. Call it after the watcher's ``RemoteSystemEvent/enumerationCompleted``.
    ///
    /// - Parameter watcher: the watcher whose list is empty.
    /// - Returns: one finding; `nil` when the watcher lists a system.
    public static func likelyReason(whyEmpty watcher: RemoteSystemWatcher) async -> DiagnosisFinding? {
        guard watcher.systems.isEmpty else { return nil }
        return Self.reason(await watcher.unlisted, at: watcher).finding
    }

    /// Returns the most likely reason why a watcher lists no system but this one; `nil` if it lists another one, or if
    /// its filters leave one out.
    ///
    /// On the loopback interface only this system's own programs are found, so it is expected to be alone there.
    package static func likelyReason(whyAlone watcher: RemoteSystemWatcher) async -> DiagnosisFinding? {
        let systems = watcher.systems
        guard !systems.isEmpty else { return await Self.likelyReason(whyEmpty: watcher) }
        let unlisted = await watcher.unlisted
        guard systems.allSatisfy(\.isLocal), unlisted.excluded.isEmpty, watcher.network != .loopback else { return nil }
        var reason = Self.reason(unlisted, at: watcher)
        reason.listed = systems.count
        return reason.finding
    }

    private static func reason(
        _ unlisted: RemoteSystemWatcher.Unlisted,
        at watcher: RemoteSystemWatcher
    ) -> EmptyListReason {
        EmptyListReason(
            unlisted: unlisted,
            interfaces: InterfaceFacts.current(),
            network: watcher.network,
            hasLinks: watcher.hasLinks,
            listsOnlyLinked: watcher.listsOnlyLinked
        )
    }

    /// Returns the reason why a watcher does not list an expected system, if the watcher has seen one: a peer is not
    /// trusted, discovery does not work, or a peer does not respond or refuses. Returns `nil` if it has seen none.
    package static func likelyReason(whyUnlisted watcher: RemoteSystemWatcher) async -> DiagnosisFinding? {
        let unlisted = await watcher.unlisted
        let reason = Self.reason(unlisted, at: watcher).finding
        let isSeen = !unlisted.unreachable.isEmpty || !unlisted.refusals.isEmpty
        return reason.status == .problem || isSeen ? reason : nil
    }

    /// The port of this system's host daemon, if one runs.
    package static func machinePort(_ configuration: RemoteSystemsConfiguration) -> Int? {
        ApplicationContext(configuration).account.running?.machinePort
    }

    /// Whether this system's host daemon runs. Creates no account.
    package static func isHostDaemonRunning(_ configuration: RemoteSystemsConfiguration) -> Bool {
        ApplicationContext(configuration).account.running?.port(of: RemoteSystemHost.machineApplicationID) != nil
    }

    /// The ids of the applications that run on this system, the host daemon's included. Blocks while it reads small
    /// files. Creates no account.
    package static func runningApplications(_ configuration: RemoteSystemsConfiguration) -> [String] {
        ApplicationContext(configuration).account.running?.listening.map(\.application) ?? []
    }

    /// The finding about the interfaces that a program with this configuration uses.
    package static func interfaces(_ configuration: RemoteSystemsConfiguration) -> DiagnosisFinding {
        NetworkFindings.interfaces(InterfaceFacts.current(), configuration.network)
    }
}
