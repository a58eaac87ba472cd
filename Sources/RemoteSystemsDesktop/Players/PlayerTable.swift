// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The media players of the desktop, and the one whose media is offered to other systems.
///
/// A value type without I/O or a clock; times are arguments.
struct PlayerTable: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The maximum number of players. Further ones are ignored.
    static let max = 16
    /// The time for which a paused player is offered.
    static let pausedTime = Duration.seconds(300)
    /// The time that another system has to start playing. Until then, the player is not offered to a third one.
    static let handOverTime = Duration.seconds(60)
    /// The number of times that a player which does not respond is asked again.
    static let maxFailures = 5

    /// Whether another system plays on.
    private enum HandOver: Hashable {
        case none
        /// Another system has the content, and starts to play.
        case begun(until: Instant)
        /// Another system plays. This player is not offered before it plays again.
        case done
    }

    private struct Player {
        var media: PlayedMedia?
        var status = PlayerState.Status.stopped
        /// The time since which it plays, or does not.
        var since: Instant
        var handOver = HandOver.none
        /// The number of times that it did not respond since its last report.
        var failures = 0
    }

    /// What is offered.
    struct Offered: Hashable {
        var player: String
        var media: PlayedMedia
    }

    private var players: [String: Player] = [:]

    /// Sets the players that are on the bus.
    mutating func set(_ present: Set<String>, now: Instant) {
        self.players = self.players.filter { present.contains($0.key) }
        for player in present.sorted() where self.players[player] == nil && self.players.count < Self.max {
            self.players[player] = Player(since: now)
        }
    }

    /// Whether the player is one of those that are followed.
    func follows(_ player: String) -> Bool { self.players[player] != nil }

    /// A player has stated what it does.
    ///
    /// - Parameter media: what it plays; `nil` if another system could not play it.
    mutating func reported(_ player: String, _ status: PlayerState.Status, _ media: PlayedMedia?, now: Instant) {
        guard var known = self.players[player] else { return }
        if known.status != status {
            known.since = now
            if status == .playing, known.handOver == .done { known.handOver = .none }
        }
        known.status = status
        known.media = media
        known.failures = 0
        self.players[player] = known
    }

    /// A player did not respond. It is offered again after its next report.
    ///
    /// - Returns: the time after which it is asked again; `nil` if it has not responded several times.
    mutating func failed(_ player: String) -> Duration? {
        guard var known = self.players[player] else { return nil }
        known.media = nil
        known.failures += 1
        self.players[player] = known
        return known.failures <= Self.maxFailures ? .seconds(2 * known.failures) : nil
    }

    // MARK: Handing over

    /// Another system has the content, and starts to play.
    mutating func beganHandOver(_ player: String, now: Instant) {
        guard self.players[player]?.handOver != .done else { return }
        self.players[player]?.handOver = .begun(until: now + Self.handOverTime)
    }

    /// The other system plays.
    mutating func handedOver(_ player: String) { self.players[player]?.handOver = .done }

    /// The other system could not play. The player is offered again.
    mutating func failedHandOver(_ player: String) {
        guard case .begun = self.players[player]?.handOver else { return }
        self.players[player]?.handOver = .none
    }

    /// This player has continued what another system played, and is offered again.
    ///
    /// Its reports alone could not show that: the user may pause it before the next look at it.
    mutating func continued(_ player: String) { self.players[player]?.handOver = .none }

    // MARK: Offering

    /// What is offered: the media of the player that plays, of several the one that began last; otherwise of the one
    /// that was paused last.
    func offered(now: Instant) -> Offered? {
        let best = self.players.filter { self.isOffered($0.value, now: now) }.max { one, other in
            let plays = (one.value.status == .playing, other.value.status == .playing)
            guard plays.0 == plays.1 else { return plays.1 }
            return one.value.since == other.value.since ? one.key < other.key : one.value.since < other.value.since
        }
        return best.flatMap { player, known in known.media.map { Offered(player: player, media: $0) } }
    }

    private func isOffered(_ player: Player, now: Instant) -> Bool {
        guard player.media != nil else { return false }
        switch player.handOver {
        case .done: return false
        case .begun(let end): if now < end { return false }
        case .none: break
        }
        switch player.status {
        case .playing: return true
        case .paused: return now < player.since + Self.pausedTime
        case .stopped: return false
        }
    }

    /// The next time at which offered(now:) can change without a report.
    func nextChange(now: Instant) -> Instant? {
        self.players.values.flatMap { player -> [Instant] in
            var times: [Instant] = []
            if player.status == .paused { times.append(player.since + Self.pausedTime) }
            if case .begun(let end) = player.handOver { times.append(end) }
            return times
        }.filter { $0 > now }.min()
    }
}
