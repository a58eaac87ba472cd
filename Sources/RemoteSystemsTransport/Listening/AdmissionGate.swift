// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import Synchronization

/// Limits the number of connections whose peer is not authenticated yet, how often they may fail, and how often one
/// system may open connections.
///
/// Without the first limit, any machine that can reach the port could hold any number of half-open connections (compare
/// CVE-2020-26164). Each has one of 128 places (``UnauthenticatedSlots``) from TCP's accept until its hello has
/// arrived, or the timeout of its hello elapses (``ConnectionLimits/helloTimeout``). A new connection replaces one
/// whose guaranteed time is over, so silent ones exclude no others. A connection whose hello has arrived has no place
/// any more and is never replaced. A replaced one that has sent a byte counts as failed. The waiting connections use a
/// few hundred KiB at most.
///
/// A further 32 places are for the peer keys from which systems of the account, or of linked accounts, have connected
/// before (``KnownPeerKeys``). So a flood from other addresses does not keep those systems out, whatever its rate.
///
/// A handshake occupies the event loop for about a millisecond, which all open connections have to wait. So a peer key
/// has 32 failures at once and two more in each second, and the /64 of an IPv6 network, which its machines share, 16
/// times as many (compare `PerSourcePenalties` of OpenSSH's `sshd_config`). Beyond them its connections are closed
/// before the handshake. A connection fails that ends before its hello was accepted because of what the peer did, and
/// one that ends within five seconds without a close. 127.0.0.1 and ::1 are exempt: programs and users of this machine
/// share them, and take processor time without a connection, too.
///
/// A system that opens connections properly costs a handshake for each, too. It has 256 openings at once and 64 more in
/// each second. Further hellos are refused, and each refusal counts as a sixteenth of a failure. So the peer key is
/// refused before the handshake only if the system goes on at a high rate.
///
/// `Docs/wire-protocol.md`, section 3, and `Docs/security-model.md` document the limits.
final class AdmissionGate: Sendable {
    private struct State {
        var failures = KeyedTokenBuckets<PeerKey>(capacity: AdmissionGate.failures, rate: AdmissionGate.failureRate)
        var openings = KeyedTokenBuckets<Opener>(capacity: AdmissionGate.openings, rate: AdmissionGate.openingRate)
        var known = KnownPeerKeys()
    }

    /// The result of ``enter(_:close:)``.
    enum Entry: Hashable {
        case enters(UnauthenticatedSlots.ID)
        /// Too many connections are not authenticated yet.
        case isFull
        /// Too many connections of the peer key have failed.
        case hasFailed
    }

    /// The failures of a peer key that are permitted at once, and those that are added in a second.
    static let failures = 32.0
    static let failureRate = 2.0
    /// The part of a failure that one of an IPv6 network counts, because its machines share the key.
    static let networkShare = 1.0 / 16
    /// The connections that a system may open at once, and those that are added in a second.
    static let openings = 256.0
    static let openingRate = 64.0
    /// The part of a failure that a refused opening counts, because others may share the peer key.
    static let openingShare = 1.0 / 16
    /// The age from which on a lost connection does not count: a machine may lose many at once.
    static let settledAge = Duration.seconds(5)

    private let state = Mutex(State())
    private let places = UnauthenticatedPlaces()
    private let time: TimeSource
    private let exempt: Set<PeerKey>

    /// Creates a gate without connections. Each listener has one.
    ///
    /// - Parameter exempt: the keys whose failures do not count. Defaults to this machine's own.
    init(time: TimeSource = .system, exempting exempt: Set<PeerKey> = PeerKey.ofThisMachine) {
        self.time = time
        self.exempt = exempt
    }

    /// Gives a connection a place.
    ///
    /// - Parameter close: closes the connection when another one gets its place.
    func enter(_ peer: PeerKey, close: @escaping @Sendable () -> Void) -> Entry {
        let now = self.time.now
        let (isPermitted, isKnown) = self.state.withLock { state in
            (state.failures.permits(peer, at: now), state.known.contains(peer))
        }
        guard isPermitted else { return .hasFailed }
        return self.places.enter(peer, isKnown: isKnown, at: now, close: close).map(Entry.enters) ?? .isFull
    }

    /// Notes that the first byte of a connection has arrived.
    func speak(_ place: UnauthenticatedSlots.ID) { self.places.advance(place, to: .speaking) }

    func leave(_ place: UnauthenticatedSlots.ID) { self.places.leave(place) }

    /// Notes that the hello of a system of the account, or of a linked account, was accepted.
    func accept(_ holder: QuotaHolder, from peer: PeerKey) {
        self.state.withLock { $0.known.use(peer, by: holder) }
    }

    /// Counts a failure of a connection that has entered.
    func fail(_ peer: PeerKey) {
        self.fail(peer, counting: peer.isNetwork ? Self.networkShare : 1)
    }

    private func fail(_ peer: PeerKey, counting part: Double) {
        guard !self.exempt.contains(peer) else { return }
        let now = self.time.now
        self.state.withLock { state in
            // Not below zero, so that many failures at once do not count for longer.
            guard state.failures.permits(peer, at: now) else { return }
            state.failures.take(part, of: peer, at: now)
        }
    }

    /// Counts an opening: an authenticated peer's hello. Returns whether the peer may open another connection.
    func open(_ opener: Opener, from peer: PeerKey) -> Bool {
        guard self.countsOpenings(from: peer) else { return true }
        let now = self.time.now
        guard !self.state.withLock({ $0.openings.tryTake(opener, at: now) }) else { return true }
        self.fail(peer, counting: Self.openingShare)
        return false
    }

    /// Only openings over the network count. The clock of a simulated network may stand still, and by it no work takes
    /// time.
    private func countsOpenings(from peer: PeerKey) -> Bool { peer.isAddress && !self.exempt.contains(peer) }

    /// Returns the listener for the close of a connection that opens now: counts a failure if the peer breaks or loses
    /// it soon.
    func counting(_ peer: PeerKey) -> @Sendable (CloseStatus) -> Void {
        let opened = self.time.now
        return { status in
            guard status != .completed, status != .cancelled, self.time.now - opened < Self.settledAge else { return }
            self.fail(peer)
        }
    }
}

/// The place of one connection in an ``AdmissionGate``.
struct AdmissionPlace {
    var leave: () -> Void
    var fail: () -> Void = {}
}
