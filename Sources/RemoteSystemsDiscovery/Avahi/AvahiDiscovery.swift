// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Finds systems on the local network by mDNS and DNS-SD (RFC 6762, RFC 6763), through Avahi.
///
/// If avahi-daemon is running, it is used: a machine should have one mDNS responder. Otherwise, as in containers, the
/// same stack runs inside this process and needs no daemon, bus or privileges.
///
/// The choice is made at the first use and is permanent. An embedded stack keeps working beside a daemon that starts
/// later. If a chosen daemon stops, the source waits for it.
public struct AvahiDiscovery: DiscoverySource {
    /// Which Avahi to use.
    public struct Mode: Sendable, Hashable {
        enum Value { case automatic, daemon, embedded }
        let value: Value

        /// The daemon if one responds on the system bus (at `DBUS_SYSTEM_BUS_ADDRESS` if that is set), else the
        /// embedded stack.
        ///
        /// If only loopback interfaces are allowed, always the embedded stack, because it uses no other interfaces.
        public static let automatic = Mode(value: .automatic)
        /// Only the daemon. While no daemon responds, the source reports a problem and waits for it.
        public static let daemon = Mode(value: .daemon)
        /// Only the stack in this process.
        public static let embedded = Mode(value: .embedded)
    }

    /// Which network interfaces may be used.
    public struct Interfaces: Sendable, Hashable {
        /// The names of the interfaces; `nil` for all.
        let names: [String]?

        /// All interfaces, including loopback. With a daemon: all interfaces that the daemon uses.
        public static let all = Interfaces(names: nil)

        /// Only the interfaces with these names, whenever they are up.
        ///
        /// The embedded stack sends nothing on other interfaces. A daemon uses its own set of interfaces for its own
        /// purposes, but browses and advertises for this source only on these.
        ///
        /// - Parameter names: Names of network interfaces, such as `eth0`. With an empty list, nothing is found or
        ///   advertised.
        public static func only(_ names: [String]) -> Interfaces { Interfaces(names: names) }

        func contains(_ name: String) -> Bool { names?.contains(name) ?? true }

        var isLoopbackOnly: Bool {
            guard let names, !names.isEmpty else { return false }
            let loopbacks = NetworkInterface.all().filter(\.isLoopback).map(\.name) + ["lo"]
            return names.allSatisfy(loopbacks.contains)
        }
    }

    /// Which Avahi is used, and why.
    public struct Selection: Sendable, Hashable {
        /// The place where Avahi runs: in its daemon, or in this process.
        public enum Backend: String, Sendable {
            /// avahi-daemon, through the system bus.
            case daemon = "avahi-daemon"
            /// libavahi-core in this process.
            case embedded = "avahi-embedded"
        }

        /// The place where Avahi runs.
        public let backend: Backend
        /// The reason for the selection: a clause for a person to read, such as
        /// `avahi-daemon responds on the system bus`.
        public let reason: String
        /// The daemon's version, such as `avahi 0.8`; `nil` for the embedded stack, which does not report one.
        public let version: String?

        package init(backend: Backend, reason: String, version: String? = nil) {
            self.backend = backend
            self.reason = reason
            self.version = version
        }
    }

    private let session: AvahiSession

    private init(session: AvahiSession) {
        self.session = session
    }

    /// Creates a source. It starts nothing until the first browse or advertisement.
    ///
    /// - Parameters:
    ///   - mode: Which Avahi to use. Defaults to ``Mode/automatic``.
    ///   - interfaces: Which network interfaces may be used. Defaults to ``Interfaces/all``.
    ///   - logger: Receives problems at level *notice*, details at lower levels.
    public init(mode: Mode = .automatic, interfaces: Interfaces = .all, logger: Logger) {
        session = AvahiSession(mode: mode, interfaces: interfaces, logger: logger)
    }

    /// The name of the source: `avahi-daemon` or `avahi-embedded`; `avahi` until one of them is selected.
    public var name: String { session.selection?.backend.rawValue ?? "avahi" }

    /// The identity of the source. It is equal for sources with the same mode and the same interfaces.
    public var identity: DiscoverySourceIdentity? { session.identity }

    /// Returns which Avahi is used, or would be used now, and why.
    public func selected() async -> Selection { await session.select() }

    /// Starts a browse for the systems on the network.
    ///
    /// All browses of one source share their results: a further browse receives the known instances at once. The browse
    /// ends when the iterating task is cancelled, or when the sequence and its iterators are released.
    ///
    /// - Returns: The events of the browse. Problems are events too.
    public func browse() -> DiscoveryEvents {
        browse { _ in true }
    }

    /// Starts a browse that follows changes of the relevant instances only.
    ///
    /// Instances that are not relevant still appear and vanish, but their changes are not reported. Such an instance
    /// needs no resolver and, as a rule, no packets. A network may be full of such instances.
    ///
    /// - Parameter isRelevant: Decides by an instance's advertised properties. Called often and on any thread; must not
    ///   block.
    /// - Returns: The events of the browse. Problems are events too.
    public func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        session.addListener(feed, isRelevant: isRelevant)
        return events
    }

    /// Waits until an advertisement of one of these instances arrives by multicast.
    ///
    /// Unlike a browse, this sends no one-shot query (RFC 6762 §5.1): a firewall may pass the unicast response to such
    /// a query and still block multicast.
    ///
    /// - Parameter instances: Names of instances (``DiscoveryHint/instance``).
    /// - Returns: `true` once an advertisement of one of them is received; `false` if that cannot happen or the task is
    ///   cancelled.
    public func hears(anyOf instances: Set<String>) async -> Bool {
        let hearing = AvahiDiscovery(session: session.listening())
        return await hearing.browse { instances.contains($0.instance) }.show(anyOf: instances)
    }

    /// Returns findings about the Avahi in use, about its configuration and about its limits.
    ///
    /// - Parameter advertisements: The number of instances that a browse of this source has just seen.
    /// - Returns: Findings in reading order, including those with status `ok`.
    public func diagnose(advertisements: Int) async -> [DiscoveryFinding] {
        AvahiFindings(
            selection: await selected(),
            settings: AvahiDaemonSettings.read(),
            interfaces: InterfaceFacts.current().filter { session.allows($0.name) && !$0.addresses.isEmpty },
            advertisements: advertisements
        ).all
    }

    /// Advertises until the surrounding task is cancelled, then withdraws the advertisement before it returns.
    ///
    /// - Parameter advertisement: The advertisement.
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid, so that a retry cannot help.
    public func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try await advertise(advertisement) { _ in }
    }

    /// Advertises until the surrounding task is cancelled, then withdraws the advertisement before it returns. Reports
    /// whether the advertisement is in effect.
    ///
    /// The advertisement is in effect once Avahi has made sure that the name is free, on at least one interface. That
    /// takes about a second.
    ///
    /// - Parameters:
    ///   - advertisement: The advertisement.
    ///   - report: Called with `true` when the advertisement comes into effect, and with `false` when it is no longer
    ///     in effect. Called on any thread, in order; must not block.
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid, so that a retry cannot help.
    public func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        try advertisement.validate()
        let id = await session.beginAdvertising(advertisement, reporting: report)
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(3600))
        }
        await session.endAdvertising(id)
    }
}
