// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A way to find out where systems may be, and to be found.
///
/// What a source tells is a hint, never a fact: anyone on the network can announce anything. Whoever uses a hint connects
/// to it and authenticates the system found there before believing any of it.
public protocol DiscoverySource: Sendable {
    /// The name of the source in diagnoses and logs, for example `avahi-daemon`, `avahi-embedded` or `static`.
    var name: String { get }

    /// How a system counts as found that one of the hints leads to. Defaults to ``DiscoveryType/proximal``.
    var discoveryType: DiscoveryType { get }

    /// Where the hints come from, which decides whether one is tried without a proof in the hint itself. The system that
    /// answers is authenticated in any case. Defaults to ``DiscoveryOrigin/announced``.
    var origin: DiscoveryOrigin { get }

    /// What tells this source from others: all watchers of an account that use sources of one identity share one
    /// browse. `nil` for a source whose browse is never shared. Unless implemented, that of the object where the source
    /// is one, else `nil`.
    var identity: DiscoverySourceIdentity? { get }

    /// Starts a browse of its own and returns what it sees.
    ///
    /// The browse ends when the task that iterates is cancelled, or when the sequence and its iterators are gone. It never ends
    /// by itself: trouble is an event, and the browse carries on as soon as it can.
    func browse() -> DiscoveryEvents

    /// Starts a browse as ``browse()`` does, and follows changes of the relevant instances only.
    ///
    /// An instance that is not relevant appears and vanishes like the others; its changes need not be reported. A network
    /// may be full of such instances, and following each of them costs packets. A source for which that makes no
    /// difference need not implement this: all changes are then reported.
    ///
    /// - Parameter isRelevant: decides by what an instance announces. Called often and on any thread; must not block.
    func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents

    /// Waits until an announcement of one of these instances arrives by the way that announcements take to everybody.
    ///
    /// A diagnosis asks this to find out whether announcements pass at all, so an answer to a direct question does not
    /// count. Defaults to browsing for the instances; a source of configured hints hears nothing.
    ///
    /// - Parameter instances: names of instances (``DiscoveryHint/instance``).
    /// - Returns: true once one of them is heard; false if that cannot happen, or when the task is cancelled.
    func hears(anyOf instances: Set<String>) async -> Bool

    /// What the source knows of its own state and limits, for a diagnosis. Defaults to nothing.
    ///
    /// - Parameter advertisements: how many instances a browse of this source has just seen.
    /// - Returns: findings, good ones too, in an order to read them in.
    func diagnose(advertisements: Int) async -> [DiscoveryFinding]

    /// Announces a service until the surrounding task is cancelled, then withdraws it before returning.
    ///
    /// Passing trouble (a daemon that is restarted, an interface that goes away) is dealt with inside: the announcement is made
    /// again as soon as it can be.
    ///
    /// - Throws: ``DiscoveryError`` when the announcement can never be made as it is.
    func advertise(_ advertisement: DiscoveryAdvertisement) async throws

    /// Announces a service as ``advertise(_:)`` does, and reports whether the announcement is in effect.
    ///
    /// A source that is not asked to report, or cannot tell, need not implement it: the announcement then counts as
    /// being in effect for as long as ``advertise(_:)`` runs.
    ///
    /// - Parameters:
    ///   - advertisement: what is announced.
    ///   - report: called with `true` when the service can be found by others from now on, and with `false` when it no
    ///     longer can: the stack refused it, or the daemon or the last interface is gone. Until the first call it is
    ///     not in effect. It is called on any thread, in order, and must not block. What it was called with last stops
    ///     to count when this method ends.
    /// - Throws: ``DiscoveryError`` when the announcement can never be made as it is.
    func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws
}

extension DiscoverySource {
    /// ``DiscoveryType/proximal``.
    public var discoveryType: DiscoveryType { .proximal }

    /// ``DiscoveryOrigin/announced``.
    public var origin: DiscoveryOrigin { .announced }

    /// Starts a browse that follows all instances.
    public func browse(following isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool) -> DiscoveryEvents {
        self.browse()
    }

    /// Browses for the instances; returns false at once if the hints are configured.
    public func hears(anyOf instances: Set<String>) async -> Bool {
        guard self.origin == .announced else { return false }
        return await self.browse { instances.contains($0.instance) }.show(anyOf: instances)
    }

    /// Nothing.
    public func diagnose(advertisements: Int) async -> [DiscoveryFinding] { [] }

    /// That of the object; `nil` for a value.
    public var identity: DiscoverySourceIdentity? {
        type(of: self) is AnyClass ? DiscoverySourceIdentity(self as AnyObject) : nil
    }

    /// Announces, and reports the announcement as being in effect at once.
    public func advertise(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (_ isInEffect: Bool) -> Void
    ) async throws {
        report(true)
        try await self.advertise(advertisement)
    }
}
