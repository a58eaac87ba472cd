// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import UserActivities
internal import ValueSets

/// Plays media of another system in a player of this desktop, at the same second.
///
/// Over a stream of the continuation, this system asks for the position when its own player is ready, and says when it
/// plays. The other player is paused then, and not before.
struct PlayerContinuation: Sendable {
    /// The time in which a player has to play, with its start.
    static let startTime = Duration.seconds(20)
    /// The time that the other system has to respond, with its player.
    private static let responseTime = Duration.seconds(10)
    private static let pollInterval = Duration.milliseconds(50)
    /// The time that the player has to add the other tracks to its list.
    private static let listTime = Duration.seconds(5)
    /// The time that a running player has to open the media, after a program that was started for it has ended. The
    /// program may have passed the media to it.
    private static let passingTime = Duration.seconds(3)
    /// The media types whose default application is taken when the name of the media suggests none.
    private static let usualTypes = ["video/mp4", "audio/mpeg"]

    let bus: PlayerBus
    let launcher: DesktopURILauncher
    let documents: DocumentURLMapper?
    let clock: FeatureClock
    let logger: Logger

    /// Continues an activity. Returns when the media plays here and the other player was paused.
    ///
    /// - Returns: the player.
    /// - Throws: ``ContinuationError``. The other player then goes on.
    func run(_ activity: UserActivity) async throws -> String {
        let began = ContinuousClock.now
        let media: PlayedMedia
        do throws(PlayedMedia.Refusal) {
            media = try PlayedMedia(content: activity.userInfo)
        } catch {
            throw ContinuationError(.payloadInvalid, error.text, side: .remote)
        }
        let playlist = Playlist(content: activity.userInfo, documents: self.documents)
        // Opened at once: its end shows the other system that this one has failed.
        let requests = StreamRequests(try await activity.continuationStreams())
        let check = await BlockingCalls.run { [documents] in
            Result { () throws(PlayedMedia.Refusal) in try media.checkFile(documents) }
        }
        if case .failure(let refusal) = check { throw Self.failed(refusal.text) }
        let (player, hasOwnList) = try await self.start(media, playlist, began: began, requests)
        let name = Self.name(of: player)
        guard let response = await self.response(to: PlayerMessage.started, requests) else {
            self.logger.notice("The other player was not paused")
            throw ContinuationError(
                .streamFailed,
                "\(name) plays here, but the other system could not be asked to pause its player.",
                side: .remote
            )
        }
        guard PlayerMessage.isPaused(response) else {
            self.logger.notice("The other player did not pause")
            throw ContinuationError(
                .handlerFailed,
                "\(name) plays here, but the player of the other system did not pause.",
                side: .remote
            )
        }
        try? await requests.finish()
        if !hasOwnList { await self.add(playlist, to: player.player) }
        return player.player
    }

    private static func name(of player: PlayerChoice.Candidate) -> String { player.abilities.identity ?? "The player" }

    /// Adds the other tracks to the player's list, if it has one that can be changed. Otherwise it plays one track.
    private func add(_ playlist: Playlist, to player: String) async {
        guard !playlist.isEmpty, let track = await self.bus.state(of: player)?.trackID,
            let list = await self.bus.trackList(of: player, around: track), list.canEdit
        else { return }
        let deadline = ContinuousClock.now + Self.listTime
        let addresses = await self.bus.addresses(of: Array(list.next.prefix(1)), in: player)
        // A player that was started has the next tracks already.
        let hasNext = PlaybackStartStateMachine.isSame(list.next.first.flatMap { addresses[$0] }, playlist.next.first)
        // Each comes directly behind the same track, and so before those that were added earlier.
        var additions: [(URL, String)] = hasNext ? [] : playlist.next.reversed().map { ($0, track) }
        additions += playlist.previous.reversed().map { ($0, list.previous.last ?? PlayerTrackList.noTrack) }
        for (address, place) in additions where ContinuousClock.now < deadline {
            do throws(MessageBus.Failure) {
                try await self.bus.add(address.absoluteString, behind: place, in: player)
            } catch {
                return self.logger.debug("A player added no track", metadata: ["reason": "\(error.message)"])
            }
        }
    }

    private func response(to request: ValueSet, _ requests: StreamRequests) async -> ValueSet? {
        await self.clock.first(within: Self.responseTime) { try? await requests.send(request) } ?? nil
    }

    // MARK: Starting

    /// How a player has come to the media.
    private enum Opening {
        /// It still had the media open.
        case held
        /// It ran, and was asked to open the media.
        case asked
        /// It was started for the media.
        case started
    }

    /// - Returns: the player, and whether it had the media in its own list before.
    private func start(
        _ media: PlayedMedia,
        _ playlist: Playlist,
        began: ContinuousClock.Instant,
        _ requests: StreamRequests
    ) async throws(ContinuationError) -> (player: PlayerChoice.Candidate, hasOwnList: Bool) {
        let deadline = began + Self.startTime
        let (candidate, opening) = try await self.openedAlthoughCancelled(media, playlist, deadline: deadline)
        let player = candidate.player
        // The player may have taken long to start. Meanwhile, the other one went on, or was paused.
        let asked = ContinuousClock.now
        let now = await self.response(to: PlayerMessage.position, requests)
        let answered = ContinuousClock.now
        var (media, began) = (media, began)
        if let now, let position = PlayerMessage.position(in: now) {
            media.position = position.seconds
            media.isPlaying = position.isPlaying
            began = asked + (answered - asked) / 2
        }
        var machine = PlaybackStartStateMachine(
            media,
            next: playlist.next,
            isStarted: opening == .started,
            began: began,
            deadline: deadline
        )
        while true {
            let asked = ContinuousClock.now
            let state = await self.bus.state(of: player)
            let isOnBus = self.bus.players.contains { $0.id == player }
            let answered = ContinuousClock.now
            guard !Task.isCancelled else {
                await self.keepPaused(player, until: deadline)
                throw ContinuationError(.timedOut, "The continuation was cancelled.", side: .local, canRetry: true)
            }
            // The position was right between the question and the response.
            let action = machine.observed(state, isOnBus: isOnBus, now: asked + (answered - asked) / 2)
            do throws(MessageBus.Failure) {
                switch action {
                case .wait: break
                case .setVolume(let volume): try await self.bus.set(volume: volume, of: player)
                case .play: try await self.bus.play(player)
                case .pause: try await self.bus.pause(player)
                case .seek(let second, let track): try await self.bus.seek(player, to: second, track: track)
                case .started: return (candidate, opening == .held)
                case .fail(let problem):
                    await self.keepPaused(player, until: deadline)
                    throw MessageBus.Failure(message: problem)
                }
            } catch {
                guard case .fail(let problem) = action else {
                    // Whether the player has followed, the next observation shows.
                    self.logger.debug("A player refused an order", metadata: ["reason": "\(error.message)"])
                    continue
                }
                throw Self.failed("\(Self.name(of: candidate)) \(problem).")
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Pauses a player that must not begin to play later. One that is still opening the media ignores that, so it is
    /// repeated until the player states that it is paused. In a task of its own: this one may be cancelled.
    private func keepPaused(_ player: String, until deadline: ContinuousClock.Instant) async {
        await self.clock.task {
            repeat {
                try? await self.bus.pause(player)
                let state = await self.bus.state(of: player)
                if state?.status == .paused || !self.bus.players.contains(where: { $0.id == player }) { return }
                try? await Task.sleep(for: Self.pollInterval)
            } while ContinuousClock.now < deadline
        }.value
    }

    /// Waits for the player that opens the media also if this task is cancelled: the caller must pause it then.
    private func openedAlthoughCancelled(
        _ media: PlayedMedia,
        _ playlist: Playlist,
        deadline: ContinuousClock.Instant
    ) async throws(ContinuationError) -> (player: PlayerChoice.Candidate, opening: Opening) {
        try await self.clock.task {
            do throws(ContinuationError) {
                return Result<(player: PlayerChoice.Candidate, opening: Opening), ContinuationError>
                    .success(try await self.opened(media, playlist, deadline: deadline))
            } catch {
                return .failure(error)
            }
        }.value.get()
    }

    /// Finds the player that has the media open, or lets one open it.
    private func opened(
        _ media: PlayedMedia,
        _ playlist: Playlist,
        deadline: ContinuousClock.Instant
    ) async throws(ContinuationError) -> (player: PlayerChoice.Candidate, opening: Opening) {
        let address = media.address.absoluteString
        let scheme = media.address.scheme?.lowercased() ?? ""
        let name = media.address.lastPathComponent
        let type = await BlockingCalls.run { DesktopEntries.mediaType(ofFileNamed: name) }
        let present = self.bus.players
        let candidates = await self.candidates(present)
        // After a continuation on another system, the player from which the media came still has it.
        if let player = PlayerChoice.holding(media.address, among: candidates) { return (player, .held) }
        if let player = PlayerChoice.best(of: candidates, scheme: scheme, mediaType: type) {
            do throws(MessageBus.Failure) {
                try await self.bus.open(address, in: player.player)
            } catch {
                throw Self.failed("The running player did not open the media: \(error.message).")
            }
            return (player, .asked)
        }
        let decision: LaunchURIDecision
        do throws(RemoteSystemError) {
            decision = await self.launcher.openMedia(
                try LaunchURI(address),
                following: playlist.next.compactMap { try? LaunchURI($0.absoluteString) },
                types: (type.map { [$0] } ?? []) + Self.usualTypes
            )
        } catch {
            throw ContinuationError(.payloadInvalid, error.message, side: .remote, cause: error)
        }
        guard decision.status == .success else {
            throw Self.failed(
                "No player that runs here opens the media. \(decision.reason ?? "None was started.")"
            )
        }
        let player = try await self.appeared(media, besides: Set(present.map(\.id)), decision.applicationID, deadline)
        return (player, .started)
    }

    /// Waits for the player that was started, or for a running one that it has passed the media to.
    private func appeared(
        _ media: PlayedMedia,
        besides present: Set<String>,
        _ application: String?,
        _ deadline: ContinuousClock.Instant
    ) async throws(ContinuationError) -> PlayerChoice.Candidate {
        var started: Set<String> = []
        var alive = ContinuousClock.now
        while ContinuousClock.now < deadline, !Task.isCancelled {
            let players = self.bus.players
            for candidate in await self.candidates(players) {
                guard let address = candidate.state.address else { continue }
                // An address can be written in several ways, or lead to another one.
                if !present.contains(candidate.player) || address == media.address.absoluteString {
                    return candidate
                }
            }
            let now = ContinuousClock.now
            let ids = Set(players.map(\.id))
            started.formUnion(ids.subtracting(present))
            if started.isEmpty || !started.isDisjoint(with: ids) { alive = now }
            guard now - alive < Self.passingTime else {
                throw Self.failed("\(application ?? "The player") \(PlaybackStartStateMachine.ended).")
            }
            try? await Task.sleep(for: Self.pollInterval)
        }
        throw Self.failed(
            "\(application ?? "The player") was started, but it cannot be controlled: no player with the media has "
                + "appeared on the session bus. For mpv, install mpv-mpris."
        )
    }

    private func candidates(_ players: [PlayerBus.Player]) async -> [PlayerChoice.Candidate] {
        await withTaskGroup(of: PlayerChoice.Candidate?.self) { group in
            for player in players.prefix(PlayerTable.max) {
                group.addTask {
                    guard let abilities = await self.bus.abilities(of: player.id),
                        let state = await self.bus.state(of: player.id)
                    else { return nil }
                    return PlayerChoice.Candidate(player: player.id, abilities: abilities, state: state)
                }
            }
            return await group.reduce(into: []) { all, candidate in
                if let candidate { all.append(candidate) }
            }
        }
    }

    private static func failed(_ reason: String) -> ContinuationError {
        ContinuationError(.handlerFailed, "\(reason) The media goes on where it was.", side: .local)
    }
}

/// The messages over the stream of a continuation (`Docs/wire/activities.md`).
enum PlayerMessage {
    private static let positionKey = "Position"
    private static let playingKey = "Playing"
    private static let startedKey = "Started"
    private static let pausedKey = "Paused"

    /// The receiver asks for the position.
    static let position: ValueSet = [Self.positionKey: true]

    /// The receiver plays.
    static let started: ValueSet = [Self.startedKey: true]

    static func asksForPosition(_ message: ValueSet) -> Bool { message[Self.positionKey]?.bool == true }

    static func isStarted(_ message: ValueSet) -> Bool { message[Self.startedKey]?.bool == true }

    /// The response to ``position``. Empty if the player does not state it, or plays something else meanwhile.
    static func position(_ media: PlayedMedia?) -> ValueSet {
        guard let media else { return [:] }
        return [Self.positionKey: .double(media.position), Self.playingKey: .bool(media.isPlaying)]
    }

    static func position(in response: ValueSet) -> (seconds: Double, isPlaying: Bool)? {
        guard let seconds = response[Self.positionKey]?.double, (0...PlayerState.maxSeconds).contains(seconds),
            let isPlaying = response[Self.playingKey]?.bool
        else { return nil }
        return (seconds, isPlaying)
    }

    /// The response to ``started``.
    static func paused(_ isPaused: Bool) -> ValueSet { [Self.pausedKey: .bool(isPaused)] }

    static func isPaused(_ response: ValueSet) -> Bool { response[Self.pausedKey]?.bool == true }
}
