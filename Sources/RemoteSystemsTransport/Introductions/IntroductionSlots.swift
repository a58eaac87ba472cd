// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The connections of one introduction port, whose peers are not authenticated. A value without I/O.
///
/// A silent connection costs its sender nothing, so silent connections must not exclude others: when the port or one
/// peer's share of it is full, a new connection takes the place of the one that has shown least, the oldest first. Only
/// connections that have proven something keep their places. When the port is full, a connection of a peer that gave a
/// wrong proof takes the place only of a connection of such a peer.
struct IntroductionSlots {
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

    private struct Slot {
        let id: ID
        let peer: PeerKey
        var stage = Stage.silent
    }

    /// The maximum number of simultaneous connections.
    static let maxConnections = 32
    /// The maximum number of simultaneous connections of peers with the same key.
    static let maxConnectionsPerPeer = 8
    /// The maximum number of remembered peers that gave a wrong proof. The oldest one is forgotten.
    static let maxDistrusted = 64

    /// The connections in the order of their arrival.
    private var slots: [Slot] = []
    private var next: UInt64 = 0
    /// The peers that gave a wrong proof, in the order of their first one.
    private var distrusted: [PeerKey] = []

    var count: Int { self.slots.count }

    mutating func enter(_ peer: PeerKey) -> Entry {
        let id = ID(number: self.next)
        self.next += 1
        let own = self.slots.filter { $0.peer == peer }
        let candidates: [Slot]? =
            if own.count >= Self.maxConnectionsPerPeer {
                own
            } else if self.slots.count >= Self.maxConnections {
                self.distrusted.contains(peer)
                    ? self.slots.filter { self.distrusted.contains($0.peer) }
                    : self.slots
            } else {
                nil
            }
        guard let candidates else {
            self.slots.append(Slot(id: id, peer: peer))
            return .entered(id)
        }
        // Of equals, `min` returns the first: the oldest.
        guard let victim = candidates.min(by: { $0.stage < $1.stage }), victim.stage < .proven else { return .refused }
        self.leave(victim.id)
        self.slots.append(Slot(id: id, peer: peer))
        return .replaced(victim.id, by: id)
    }

    mutating func advance(_ id: ID, to stage: Stage) {
        guard let index = self.slots.firstIndex(where: { $0.id == id }) else { return }
        self.slots[index].stage = max(self.slots[index].stage, stage)
    }

    /// Notes that a peer gave a wrong proof.
    mutating func distrust(_ peer: PeerKey) {
        guard !self.distrusted.contains(peer) else { return }
        if self.distrusted.count >= Self.maxDistrusted { self.distrusted.removeFirst() }
        self.distrusted.append(peer)
    }

    mutating func leave(_ id: ID) {
        self.slots.removeAll { $0.id == id }
    }
}
