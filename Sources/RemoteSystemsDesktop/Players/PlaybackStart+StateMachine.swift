// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Brings a player to play the media of another system at the same second, and checks that it does.
///
/// A player may lie: what counts is that its position is right and moves.
struct PlaybackStartStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What the owner is to do before the next observation.
    enum Action: Hashable {
        case wait
        case setVolume(Double)
        case play
        case pause
        /// In seconds.
        case seek(to: Double, track: String)
        /// The player plays as the other one did.
        case started
        /// The time is over. The reason, as the end of a sentence about the player.
        case fail(String)
    }

    /// The maximum distance to the right position, in seconds.
    static let tolerance = 0.3
    /// The minimum time between two seeks. A player may have to fetch the media at the new position.
    static let seekInterval = Duration.seconds(2)
    /// The minimum time between two other orders of the same kind.
    static let orderInterval = Duration.seconds(1)
    /// The maximum time, in seconds, by which a seek runs ahead of a player that was late before.
    static let maxLead = 5.0
    /// The minimum time between two observations of the position.
    static let observationTime = Duration.milliseconds(200)
    /// The time after which media without a length counts as a live stream.
    static let liveTime = Duration.seconds(3)

    /// The time after which a position that does not move is a problem, and the one after which it ends the attempt.
    /// A player may have to fetch the media first.
    static let stillTime = Duration.seconds(1)
    static let maxStillTime = Duration.seconds(8)

    /// The reason why a player that was started for the media has failed: it has left the bus again.
    static let ended = "was started and has ended: start it by hand to see why"

    private let media: PlayedMedia
    private let later: [URL]
    private let isStarted: Bool
    /// The time of the position.
    private let began: Instant
    private let deadline: Instant
    private var loaded: Instant?
    private var hasVolume = false
    private var lastOrder: (kind: Order, time: Instant)?
    /// The time that the player needs to go on after a seek, in seconds.
    private var lead = 0.0
    /// A position of the playing player, and its time.
    private var observed: (position: Double, time: Instant)?
    /// The last position, and the time since which it has not moved.
    private var still: (position: Double?, since: Instant)?

    private enum Order: Hashable { case play, pause, seek }

    /// - Parameters:
    ///   - next: the tracks behind the media. A player that is started for it gets them, too.
    ///   - isStarted: whether the player was started for the media. One that ran before may still state its old track,
    ///     which may be one of them.
    ///   - began: the time at which the position of the media was right.
    ///   - deadline: the time at which the attempt fails.
    init(_ media: PlayedMedia, next: [URL] = [], isStarted: Bool = true, began: Instant, deadline: Instant) {
        self.media = media
        self.later = isStarted ? next : []
        self.isStarted = isStarted
        self.began = began
        self.deadline = deadline
    }

    /// The position that is right at a time, in seconds.
    func position(at now: Instant) -> Double {
        self.media.position + (self.media.isPlaying ? (now - self.began) / .seconds(1) : 0)
    }

    /// The player has stated what it does.
    ///
    /// - Parameters:
    ///   - state: `nil` if it did not respond.
    ///   - isOnBus: whether it has a connection to the bus. A player that has ended does not come back.
    mutating func observed(_ state: PlayerState?, isOnBus: Bool = true, now: Instant) -> Action {
        if state == nil, !isOnBus { return .fail(self.isStarted ? Self.ended : "has ended") }
        let (action, problem) = self.next(state, now: now)
        guard action != .started, now >= self.deadline else { return action }
        return .fail(problem)
    }

    private mutating func next(_ state: PlayerState?, now: Instant) -> (Action, problem: String) {
        guard let state else { return (.wait, "does not respond") }
        guard self.isLoaded(state, now: now) else { return (.wait, "did not open the media") }
        if self.hasSkipped(state) { return (.fail(Self.skipped), Self.skipped) }
        if !self.hasVolume, let volume = self.media.volume {
            self.hasVolume = true
            return (.setVolume(volume), "was not ready")
        }
        if self.media.isPlaying, state.status != .playing {
            // A player can state that it is stopped although it plays (mpv-mpris 0.7.1), until it is paused.
            let isStuck = state.status == .stopped && self.lastOrder?.kind == .play && !self.hasJustOrdered(.play, now)
            return (isStuck ? self.order(.pause, .pause, now) : self.order(.play, .play, now), "does not play")
        }
        if !self.media.isPlaying, state.status == .playing {
            return (self.order(.pause, .pause, now), "does not pause")
        }
        if self.media.isPlaying, let time = self.timeStanding(at: state.position, now), time >= Self.stillTime {
            return (time >= Self.maxStillTime ? .fail(Self.standing) : .wait, Self.standing)
        }
        if state.canSeek, let length = state.length, let track = state.trackID {
            let right = min(self.position(at: now), length)
            guard let position = state.position, abs(position - right) <= Self.tolerance else {
                self.observed = nil
                return (self.seek(from: state.position, to: right, within: length, track, now), Self.misplaced)
            }
        }
        guard self.media.isPlaying else { return (.started, "") }
        return self.moves(state, now: now) ? (.started, "") : (.wait, Self.standing)
    }

    private static let standing = "does not play: its position does not move"
    private static let misplaced = "is not at the right position"
    private static let skipped = "plays a later track of the list"

    private mutating func seek(
        from position: Double?,
        to right: Double,
        within length: Double,
        _ track: String,
        _ now: Instant
    ) -> Action {
        var lead = self.lead
        if self.lastOrder?.kind == .seek, self.media.isPlaying, let position {
            lead = min(max(lead + right - position, 0), Self.maxLead)
        }
        let action = self.order(.seek, .seek(to: min(right + lead, length), track: track), now)
        if action != .wait { self.lead = lead }
        return action
    }

    /// Whether the player has opened the media. Before that, it ignores orders.
    private mutating func isLoaded(_ state: PlayerState, now: Instant) -> Bool {
        guard state.address != nil else {
            self.loaded = nil
            return false
        }
        let loaded = self.loaded ?? now
        self.loaded = loaded
        return state.length != nil || now >= loaded + Self.liveTime
    }

    /// Whether the player has gone on to the next tracks, since it could not open the media or was at its end.
    ///
    /// Other addresses are no reason to give up: one address can be written in several ways, or lead to another one.
    private func hasSkipped(_ state: PlayerState) -> Bool {
        !Self.isSame(state.address, self.media.address) && self.later.contains { Self.isSame(state.address, $0) }
    }

    /// Whether the address that a player states is this one, however the path of a file is written.
    static func isSame(_ address: String?, _ other: URL?) -> Bool {
        guard let other, let address = address.flatMap({ URL(string: $0) }) else { return false }
        return address.isFileURL && other.isFileURL
            ? address.path(percentEncoded: false) == other.path(percentEncoded: false)
            : address.absoluteString == other.absoluteString
    }

    /// The time for which the player has not moved from a position.
    private mutating func timeStanding(at position: Double?, _ now: Instant) -> Duration? {
        guard let still, still.position == position else {
            self.still = (position, now)
            return nil
        }
        return now - still.since
    }

    /// Whether the position has moved as time has.
    private mutating func moves(_ state: PlayerState, now: Instant) -> Bool {
        guard let position = state.position else { return false }
        guard let observed else {
            self.observed = (position, now)
            return false
        }
        let time = now - observed.time
        guard time >= Self.observationTime else { return false }
        let moved = position - observed.position
        // At the end of the media, it stands still.
        if let length = state.length, position >= length - Self.tolerance { return true }
        guard (0.3...3).contains(moved / (time / .seconds(1))) else {
            self.observed = (position, now)
            return false
        }
        return true
    }

    private func hasJustOrdered(_ kind: Order, _ now: Instant) -> Bool {
        guard let lastOrder, lastOrder.kind == kind else { return false }
        return now < lastOrder.time + (kind == .seek ? Self.seekInterval : Self.orderInterval)
    }

    private mutating func order(_ kind: Order, _ action: Action, _ now: Instant) -> Action {
        if self.hasJustOrdered(kind, now) { return .wait }
        self.lastOrder = (kind, now)
        return action
    }
}
