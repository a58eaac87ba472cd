// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Which connection to a waiting machine may cause a prompt.
///
/// Each prompt is one guess in a million for a man in the middle, and a person can confirm one by mistake. So a
/// connection needs a turn before its prompt is shown and this side's nonce is sent, one at a time, with a pause after
/// each, and the machine stops waiting after a few failed turns, whatever made them fail. An answer that is refused
/// before that is no guess and takes no turn: otherwise any machine could end the wait.
///
/// One peer key has a share of the turns, and a peer that had fewer comes first. Otherwise a machine that connects
/// without a pause would have them all.
///
/// A value type without a clock.
struct PairingTurns {
    typealias Instant = ContinuousClock.Instant

    /// The time after a turn in which no connection gets one. A person who answers a prompt that is gone must not
    /// answer the next one.
    static let pause = Duration.seconds(2)
    /// The maximum number of turns, and so of guesses, while a machine waits.
    static let maxTurns = 10
    /// The maximum number of turns of one peer key.
    static let maxTurnsOfPeer = 3
    /// The time after the pause in which the next turn is kept for a peer that was refused and had fewer turns. Its
    /// person tries again by hand.
    static let precedence = Duration.seconds(15)

    private var holder: UInt64?
    /// The end of the pause after the last turn.
    private var next: Instant?
    private var counts: [PeerKey: Int] = [:]
    private var count: Int { self.counts.values.reduce(0, +) }
    /// The number of turns of the refused peer that had the fewest. Since the last turn was given.
    private var fewest: Int?

    /// Gives the turn to a connection.
    ///
    /// - Parameter peer: the key of the connection's peer.
    /// - Returns: whether the connection has the turn now.
    mutating func take(_ connection: UInt64, of peer: PeerKey, at now: Instant) -> Bool {
        let own = self.counts[peer, default: 0]
        guard self.count < Self.maxTurns, own < Self.maxTurnsOfPeer else { return false }
        guard self.holder == nil, self.isDue(after: own, at: now) else {
            self.fewest = min(self.fewest ?? own, own)
            return false
        }
        self.holder = connection
        self.counts[peer] = own + 1
        self.fewest = nil
        return true
    }

    /// Whether the next turn is due for a peer with this number of turns.
    private func isDue(after own: Int, at now: Instant) -> Bool {
        guard let next else { return true }
        if let fewest, own > fewest { return now >= next + Self.precedence }
        return now >= next
    }

    /// Ends the turn of a connection, if it has the turn.
    mutating func end(_ connection: UInt64, at now: Instant) {
        guard self.holder == connection else { return }
        self.holder = nil
        self.next = now + Self.pause
    }

    func isHeld(by connection: UInt64) -> Bool { self.holder == connection }

    /// Whether no connection has the turn now.
    var areFree: Bool { self.holder == nil }

    /// Whether no connection has the turn or will get it.
    var areOver: Bool { self.holder == nil && self.count >= Self.maxTurns }
}

/// The turns of the connections of a port.
final class SharedPairingTurns: Sendable {
    private let state = Mutex((turns: PairingTurns(), last: UInt64(0)))
    private let time: TimeSource

    init(time: TimeSource) {
        self.time = time
    }

    /// The turn of a new connection of a peer, which does not have it yet.
    func turn(of peer: PeerKey) -> PairingTurn {
        self.state.withLock { state in
            state.last += 1
            return PairingTurn(turns: self, connection: state.last, peer: peer)
        }
    }

    var areOver: Bool { self.state.withLock { $0.turns.areOver } }
    var areFree: Bool { self.state.withLock { $0.turns.areFree } }

    fileprivate func with<Result>(_ body: (inout PairingTurns, PairingTurns.Instant) -> Result) -> Result {
        let now = self.time.now
        return self.state.withLock { body(&$0.turns, now) }
    }
}

/// The turn of one connection.
struct PairingTurn: Sendable {
    fileprivate let turns: SharedPairingTurns
    fileprivate let connection: UInt64
    fileprivate let peer: PeerKey

    /// Whether this connection has the turn.
    var isOwn: Bool { self.turns.with { turns, _ in turns.isHeld(by: self.connection) } }

    func take() -> Bool { self.turns.with { turns, now in turns.take(self.connection, of: self.peer, at: now) } }
    func end() { self.turns.with { turns, now in turns.end(self.connection, at: now) } }
}
