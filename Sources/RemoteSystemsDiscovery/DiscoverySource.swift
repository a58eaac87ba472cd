// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A way to find systems and to be found by them.
///
/// A source reports hints, not facts: any machine on the network can advertise anything. The user of a hint connects to
/// it and authenticates the system there before it trusts anything in the hint.
public protocol DiscoverySource: Sendable {
    /// The name of the source in diagnoses and logs, for example `avahi-daemon`, `avahi-embedded` or `static`.
    var name: String { get }

    /// The discovery type of the systems that are found by this source. Defaults to ``DiscoveryType/proximal``.
    var discoveryType: DiscoveryType { get }

    /// The origin of the hints, which decides to which hints a system connects. Defaults to
    /// ``DiscoveryOrigin/announced``.
    ///
    /// The system that responds is authenticated in any case.
    var origin: DiscoveryOrigin { get }

    /// The identity of the source. All watchers of an account that use sources of the same identity share one browse.
    ///
    /// `nil` for a source whose browse is never shared. Defaults to the identity of the object if the source is a
    /// class, else `nil`.
    var identity: DiscoverySourceIdentity? { get }

    /// Starts a new browse and returns its events.
    ///
    /// The browse ends when the iterating task is cancelled, or when the sequence and its iterators are released. It
    /// never ends by itself: problems are events, and the browse continues as soon as it can.
    func browse() -> DiscoveryEvents

    /// Starts a browse that follows changes of the relevant instances only.
    ///
    /// Instances that are not relevant still appear and vanish, but their changes need not be reported. A network may
    /// be full of such instances, and following each of them costs packets. A source without such a cost need not
    /// implement this method: by default, ``browse()`` reports the changes of all instances.
    ///
    /// - Parameter isRelevant: Decides by an instance's advertised properties. Called often and on any thread; must not
    ///   block.
    /// - Returns: The events of the browse. The browse ends when the iterating task is cancelled, or when the sequence
    ///   and its iterators are released.
    func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents

    /// Waits until an advertisement of one of these instances arrives by multicast, or by the source's equivalent.
    ///
    /// A diagnosis calls this to find out whether advertisements arrive at all, so the response to a direct query does
    /// not count. By default, browses for the instances, and returns `false` at once if the source's ``origin`` is
    /// ``DiscoveryOrigin/configured``.
    ///
    /// - Parameter instances: Names of instances (``DiscoveryHint/instance``).
    /// - Returns: `true` once an advertisement of one of them is received; `false` if that cannot happen or the task is
    ///   cancelled.
    func hears(anyOf instances: Set<String>) async -> Bool

    /// Returns findings about the source's own state and limits, for a diagnosis. Defaults to none.
    ///
    /// - Parameter advertisements: The number of instances that a browse of this source has just seen.
    /// - Returns: Findings in reading order, including those with status `ok`.
    func diagnose(advertisements: Int) async -> [DiscoveryFinding]

    /// Advertises a service until the surrounding task is cancelled, then withdraws the advertisement before it
    /// returns.
    ///
    /// The source handles temporary problems itself (a daemon restarts, an interface goes down): it advertises again as
    /// soon as it can.
    ///
    /// - Parameter advertisement: The advertisement.
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid, so that a retry cannot help.
    func advertise(_ advertisement: DiscoveryAdvertisement) async throws

    /// Advertises a service until the surrounding task is cancelled, and reports whether the advertisement is in
    /// effect.
    ///
    /// A source that cannot report this need not implement this method. The advertisement then counts as being in
    /// effect while ``advertise(_:)`` runs.
    ///
    /// - Parameters:
    ///   - advertisement: The advertisement.
    ///   - report: Called with `true` when other systems can find the service from now on, and with `false` when they
    ///     no longer can: the stack refused it, or the daemon or the last interface is gone. Until the first call, the
    ///     advertisement is not in effect. Called on any thread, in order; must not block. When the method returns, the
    ///     advertisement is no longer in effect, whatever the last value was.
    /// - Throws: ``DiscoveryError`` if the advertisement is not valid, so that a retry cannot help.
    func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws
}

extension DiscoverySource {
    /// The default implementation, which returns ``DiscoveryType/proximal``.
    public var discoveryType: DiscoveryType { .proximal }

    /// The default implementation, which returns ``DiscoveryOrigin/announced``.
    public var origin: DiscoveryOrigin { .announced }

    /// The default implementation, which starts a browse that follows all instances.
    public func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents {
        self.browse()
    }

    /// The default implementation, which browses until one of the instances is found.
    ///
    /// - Parameter instances: Names of instances (``DiscoveryHint/instance``).
    /// - Returns: `true` once one of them is found; `false` if the task is cancelled, and at once if the source's hints
    ///   are configured.
    public func hears(anyOf instances: Set<String>) async -> Bool {
        guard self.origin == .announced else { return false }
        return await self.browse { instances.contains($0.instance) }.show(anyOf: instances)
    }

    /// The default implementation, which returns no findings.
    public func diagnose(advertisements: Int) async -> [DiscoveryFinding] { [] }

    /// The default implementation, which returns the identity of the object if the source is a class, and `nil` for a
    /// value type.
    public var identity: DiscoverySourceIdentity? {
        type(of: self) is AnyClass ? DiscoverySourceIdentity(self as AnyObject) : nil
    }

    /// The default implementation, which advertises a service and reports the advertisement as being in effect at once.
    ///
    /// - Throws: The errors of ``advertise(_:)``.
    public func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        report(true)
        try await self.advertise(advertisement)
    }
}
