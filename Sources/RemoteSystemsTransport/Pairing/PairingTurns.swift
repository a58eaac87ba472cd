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
/// A value type without a clock.
struct PairingTurns {
    typealias Instant = ContinuousClock.Instant

    /// The time after a turn in which no connection gets one. A person who answers a prompt that is gone must not
    /// answer the next one.
    static let pause = Duration.seconds(2)
    /// The maximum number of turns, and so of guesses, while a machine waits.
    static let maxTurns = 10

    private var holder: UInt64?
    private var end: Instant?
    private var count = 0

    /// Gives the turn to a connection.
    ///
    /// - Returns: whether the connection has the turn now.
    mutating func take(_ connection: UInt64, at now: Instant) -> Bool {
        guard self.holder == nil, self.count < Self.maxTurns, self.end.map({ now >= $0 + Self.pause }) ?? true else {
            return false
        }
        self.holder = connection
        self.count += 1
        return true
    }

    /// Ends the turn of a connection, if it has the turn.
    mutating func end(_ connection: UInt64, at now: Instant) {
        guard self.holder == connection else { return }
        self.holder = nil
        self.end = now
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

    /// The turn of a new connection, which does not have it yet.
    func turn() -> PairingTurn {
        self.state.withLock { state in
            state.last += 1
            return PairingTurn(turns: self, connection: state.last)
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

    /// Whether this connection has the turn.
    var isOwn: Bool { self.turns.with { turns, _ in turns.isHeld(by: self.connection) } }

    func take() -> Bool { self.turns.with { turns, now in turns.take(self.connection, at: now) } }
    func end() { self.turns.with { turns, now in turns.end(self.connection, at: now) } }
}
