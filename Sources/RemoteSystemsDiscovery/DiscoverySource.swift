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
}

extension DiscoverySource {
    /// False.
    public var isConfigured: Bool { false }
}
