// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A way to find out where systems may be, and to be found.
///
/// What a source tells is a hint, never a fact: anyone on the network can announce anything. Whoever uses a hint connects
/// to it and authenticates the system found there before believing any of it.
public protocol DiscoverySource: Sendable {
    /// The name of the source in diagnoses and logs, for example `avahi-daemon`, `avahi-embedded` or `static`.
    var name: String { get }

    /// Whether its hints come from this machine's owner rather than from whoever is on the network. Such hints are tried
    /// without proof in the hint itself; who answers is authenticated all the same. False unless implemented.
    var isConfigured: Bool { get }

    /// What tells this source from others: all watchers of an account that use sources of one identity share one
    /// browse. `nil` for a source whose browse is never shared. Unless implemented, that of the object where the source
    /// is one, else `nil`.
    var identity: DiscoverySourceIdentity? { get }

    /// Starts a browse of its own and returns what it sees.
    ///
    /// The browse ends when the task that iterates is cancelled, or when the sequence and its iterators are gone. It never ends
    /// by itself: trouble is an event, and the browse carries on as soon as it can.
    func browse() -> DiscoveryEvents

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
    /// False.
    public var isConfigured: Bool { false }

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
