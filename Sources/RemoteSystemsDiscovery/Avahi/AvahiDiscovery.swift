// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Finds systems on the local network by mDNS and DNS-SD (RFC 6762, RFC 6763), through Avahi.
///
/// Where an avahi-daemon runs, it is used: one responder a machine is best. Where none runs, as in containers, the same stack is
/// embedded in this process, without daemon, bus or rights. The choice is made when there is something to do for the first time,
/// and stays: an embedded stack works well beside a daemon that is started later, and a chosen daemon that goes away is waited for.
public struct AvahiDiscovery: DiscoverySource {
    /// Which Avahi to use.
    public struct Mode: Sendable, Hashable {
        enum Value { case automatic, daemon, embedded }
        let value: Value

        /// The daemon where one answers on the system bus (at `DBUS_SYSTEM_BUS_ADDRESS` when that is set), else the embedded stack.
        /// When only loopback interfaces are allowed always the embedded stack, since it keeps to them.
        public static let automatic = Mode(value: .automatic)
        /// Only the daemon; while none answers, that is a trouble and it is waited for.
        public static let daemon = Mode(value: .daemon)
        /// Only the stack in this process.
        public static let embedded = Mode(value: .embedded)
    }

    /// Which network interfaces may be used.
    public struct Interfaces: Sendable, Hashable {
        /// Nil for all.
        let names: [String]?

        /// All interfaces, the loopback interface among them. With a daemon: all that the daemon uses.
        public static let all = Interfaces(names: nil)

        /// Only the interfaces with these names, whenever they are up. Nothing is asked or announced on others by the embedded stack;
        /// a daemon uses its own interfaces for itself, but announces and browses only on these for us.
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
        /// The two ways to Avahi.
        public enum Backend: String, Sendable {
            /// avahi-daemon, through the system bus.
            case daemon = "avahi-daemon"
            /// libavahi-core in this process.
            case embedded = "avahi-embedded"
        }

        /// The way that is used.
        public let backend: Backend
        /// Why, in words for a person.
        public let reason: String
        /// What the daemon says of its version, such as `avahi 0.8`; nil for the embedded stack, which does not tell.
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

    /// A source that does nothing yet.
    ///
    /// - Parameters:
    ///   - mode: Which Avahi to use.
    ///   - interfaces: Which network interfaces may be used.
    ///   - logger: Told of troubles at level *notice*, of more below.
    public init(mode: Mode = .automatic, interfaces: Interfaces = .all, logger: Logger) {
        session = AvahiSession(mode: mode, interfaces: interfaces, logger: logger)
    }

    /// `avahi-daemon` or `avahi-embedded`; `avahi` while that is not known.
    public var name: String { session.selection?.backend.rawValue ?? "avahi" }

    /// Equal for sources with the same mode and the same interfaces.
    public var identity: DiscoverySourceIdentity? { session.identity }

    /// Finds out which Avahi is used, or would be used now, and why.
    public func selected() async -> Selection { await session.select() }

    /// Starts to watch for systems. All browses of one source share what is known: a further one is told of it at once.
    public func browse() -> DiscoveryEvents {
        browse { _ in true }
    }

    /// Starts to watch for systems, and follows changes of those that are relevant.
    ///
    /// An instance that is not relevant appears and vanishes like the others; changes of it are not reported. It costs
    /// no resolver and, as a rule, no packet: a network may be full of such instances.
    ///
    /// - Parameter isRelevant: Decides by what an instance announces. Called often; must not wait.
    public func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents {
        let (events, feed) = DiscoveryEvents.makeStream()
        session.addListener(feed, isRelevant: isRelevant)
        return events
    }

    /// Waits until multicast brings an announcement of one of these instances.
    ///
    /// Nothing is asked directly, as a browse does when it starts: a firewall may let the answer to that pass and keep
    /// multicast out.
    public func hears(anyOf instances: Set<String>) async -> Bool {
        let hearing = AvahiDiscovery(session: session.listening())
        return await hearing.browse { instances.contains($0.instance) }.show(anyOf: instances)
    }

    /// Which Avahi is used, what its configuration keeps it from, and how near its limits are.
    public func diagnose(advertisements: Int) async -> [DiscoveryFinding] {
        AvahiFindings(
            selection: await selected(),
            settings: AvahiDaemonSettings.read(),
            interfaces: InterfaceFacts.current().filter { session.allows($0.name) && !$0.addresses.isEmpty },
            advertisements: advertisements
        ).all
    }

    /// Announces until the surrounding task is cancelled, then says goodbye.
    ///
    /// - Throws: ``DiscoveryError`` when the announcement cannot be put on the wire as it is.
    public func advertise(_ advertisement: DiscoveryAdvertisement) async throws {
        try await advertise(advertisement) { _ in }
    }

    /// Announces until the surrounding task is cancelled, then says goodbye, and reports whether the announcement is in
    /// effect: from when Avahi has made sure that the name is free, on at least one interface, which takes about a
    /// second.
    ///
    /// - Throws: ``DiscoveryError`` when the announcement cannot be put on the wire as it is.
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
