// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The connections of one port whose peers are not authenticated: of an introduction, or of a host until the hello has
/// arrived. A value without I/O or a clock.
///
/// Any machine can open connections and send a valid first message on each, so neither may keep a place. But a
/// connection needs a moment to show what it is. So each has its place for a guaranteed time, in which no other
/// connection replaces it. When all places are taken, a new connection replaces one whose time is over: a silent one
/// if there is any, otherwise the oldest. If there is none, the new connection is refused and may try again. So an
/// attacker has to open connections at a high rate, and even then some attempts of others succeed.
///
/// Peer keys have a share of the places. A key with fewer connections replaces the excess ones of another key first,
/// also within their guaranteed time. A key that has its share replaces none of a key that has less. So an attacker
/// with a few peer keys affects no connection with another key. No key is refused for what its connections did: others
/// may share it.
///
/// An attacker with many peer keys that sends a byte on each connection can still take all places. So a port may keep
/// further places for known peer keys: those from which authenticated systems have connected. The same rules apply in
/// them. Connections with other keys never get these, and connections with known keys may have either.
struct UnauthenticatedSlots {
    typealias Instant = ContinuousClock.Instant

    /// How far a connection has come.
    enum Stage: Int, Comparable {
        /// No byte has arrived.
        case silent
        /// TLS has begun.
        case speaking
        /// A valid first message has arrived.
        case greeted
        /// The peer has proven that it knows the invitation's secret, or a person compares its digits.
        case proven

        static func < (lhs: Self, rhs: Self) -> Bool { lhs.rawValue < rhs.rawValue }

        /// The age up to which a connection keeps its place. A proven one keeps it until its end.
        ///
        /// Shorter for silent connections, which cost their sender least: the first byte of an honest peer needs one
        /// round trip.
        var guaranteedTime: Duration { self == .silent ? .milliseconds(100) : .milliseconds(500) }
    }

    struct ID: Hashable {
        fileprivate let number: UInt64
    }

    /// The result of a new connection.
    enum Entry: Hashable {
        case entered(ID)
        /// The new connection has the place of another one. Close the other one.
        case replaced(ID, by: ID)
        case refused
    }

    /// A part of the places. Connections replace only others in the same part.
    private enum Part {
        /// For all peer keys.
        case common
        /// For known peer keys only.
        case known

        var maxConnections: Int {
            switch self {
            case .common: UnauthenticatedSlots.maxConnections
            case .known: UnauthenticatedSlots.maxKnownConnections
            }
        }

        var share: Int {
            switch self {
            case .common: UnauthenticatedSlots.share
            case .known: UnauthenticatedSlots.knownShare
            }
        }
    }

    private struct Slot {
        let id: ID
        let peer: PeerKey
        let part: Part
        let arrival: Instant
        var stage = Stage.silent

        func isGuaranteed(at now: Instant) -> Bool { now - self.arrival < self.stage.guaranteedTime }

        /// The place in the order in which connections are replaced.
        func rank(at now: Instant) -> Int { self.isGuaranteed(at: now) ? 2 : self.stage == .silent ? 0 : 1 }
    }

    /// The maximum number of simultaneous connections in the places for all peer keys.
    static let maxConnections = 128
    /// The number of connections of one peer key there that other keys cannot replace within their guaranteed times.
    static let share = 32
    /// The maximum number of simultaneous connections in the places for known peer keys.
    static let maxKnownConnections = 32
    /// The share of one peer key there.
    static let knownShare = 8

    /// The connections in the order of their arrival.
    private var slots: [Slot] = []
    private var next: UInt64 = 0

    var count: Int { self.slots.count }

    /// Gives a connection a place.
    ///
    /// - Parameter isKnown: whether the peer key is known. Defaults to `false`, for a port that keeps no places for
    ///   known keys.
    mutating func enter(_ peer: PeerKey, isKnown: Bool = false, at now: Instant) -> Entry {
        let id = ID(number: self.next)
        self.next += 1
        // The free places for known keys come first, because strangers cannot take them. If none is free at all, a
        // connection replaces a stranger's rather than one with a known key.
        let parts: [Part] = isKnown ? [.known, .common] : [.common]
        if let free = parts.first(where: { self.countTaken(in: $0) < $0.maxConnections }) {
            self.slots.append(Slot(id: id, peer: peer, part: free, arrival: now))
            return .entered(id)
        }
        for part in parts.reversed() {
            guard let other = self.replaceable(in: part, by: peer, at: now) else { continue }
            self.leave(other)
            self.slots.append(Slot(id: id, peer: peer, part: part, arrival: now))
            return .replaced(other, by: id)
        }
        return .refused
    }

    private func countTaken(in part: Part) -> Int { self.slots.count { $0.part == part } }

    /// The connection in a part whose place a new one of a peer gets.
    private func replaceable(in part: Part, by peer: PeerKey, at now: Instant) -> ID? {
        let unproven = self.slots.filter { $0.part == part && $0.stage < .proven }
        var counts: [PeerKey: Int] = [:]
        for slot in unproven { counts[slot.peer, default: 0] += 1 }
        func count(_ slot: Slot) -> Int { counts[slot.peer, default: 0] }
        let isWithinShare = counts[peer, default: 0] < part.share
        let excess = isWithinShare ? unproven.filter { count($0) > part.share } : []
        let candidates =
            excess.isEmpty
            ? unproven.filter { !$0.isGuaranteed(at: now) && (isWithinShare || count($0) >= part.share) }
            : excess
        // Of equals, `min` returns the first: the oldest.
        return candidates.min { $0.rank(at: now) < $1.rank(at: now) }?.id
    }

    mutating func advance(_ id: ID, to stage: Stage) {
        guard let index = self.slots.firstIndex(where: { $0.id == id }) else { return }
        self.slots[index].stage = max(self.slots[index].stage, stage)
    }

    mutating func leave(_ id: ID) {
        self.slots.removeAll { $0.id == id }
    }
}
