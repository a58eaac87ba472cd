// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystems
internal import ServiceLifecycle
package import UserActivities
internal import ValueSets

/// Hands over what the media players of the desktop play, without their help, and continues what players of other
/// systems play.
package actor MediaPlayers: Service {
    /// The minimum time between two looks at players that change. They could change at any rate.
    private static let interval = Duration.milliseconds(500)
    /// The time that a player has to pause.
    private static let pauseTime = Duration.seconds(3)
    private static let maxOrigins = 8

    private let configuration: RemoteSystemsConfiguration
    private let documents: DocumentURLMapper?
    private let logger: Logger
    private var table = PlayerTable()
    private var bus: PlayerBus?
    private var host: UserActivityHost?
    private var current: (offered: PlayerTable.Offered, activity: UserActivity)?
    /// The last delegates, which activities do not keep alive, and which other systems need while they begin to play.
    private var origins: [Origin] = []
    private var timer: Task<Void, Never>?
    /// Why players are not handed over, as it was logged last.
    private var reasons: [String: String] = [:]

    /// - Parameters:
    ///   - configuration: that of the host daemon.
    ///   - documents: the folders whose files are handed over; `nil` for none.
    package init(_ configuration: RemoteSystemsConfiguration, documents: DocumentURLMapper?) {
        var configuration = configuration
        configuration.applicationID = BuiltInApplication.mediaPlayers
        self.configuration = configuration
        self.documents = documents
        self.logger = configuration.logger
    }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        guard MessageBus.isSessionKnown else { return try await gracefulShutdown() }
        var options = UserActivityHost.Options()
        options.host.displayName = "Media players"
        options.isBuiltIn = true
        options.documents = self.documents
        let launcher = await DesktopURILauncher(stateDirectory: self.configuration.stateDirectory)
        let host = UserActivityHost(
            self.configuration,
            activityTypes: [BuiltInApplication.playingMedia],
            options: options,
            handler: .closure { [weak self] activity in try await self?.continue(activity, launcher) }
        )
        self.host = host
        do {
            try await self.run(host)
        } catch {
            // The daemon has other tasks.
            self.logger.error("Media players are not handed over", metadata: ["reason": "\(error)"])
            try? await gracefulShutdown()
        }
    }

    private func run(_ host: UserActivityHost) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            group.addTask {
                // The host's own run() throws the reason if it does not start.
                guard (try? await host.host.port) != nil else { return try await gracefulShutdown() }
                try await BusLoop.keepServing("Media players are not followed", self.logger) { await self.serve() }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func serve() async -> Result<Void, MessageBus.Failure> {
        let bus = PlayerBus()
        self.bus = bus
        let result = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.follow(bus) }
                let result = await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try bus.run() } }
                group.cancelAll()
                return result
            }
        } onCancel: {
            bus.stop()
        }
        self.bus = nil
        self.table.set([], now: .now)
        await self.refresh()
        return result
    }

    // MARK: Offering

    private func follow(_ bus: PlayerBus) async {
        for await _ in bus.wakeUps {
            let (players, changed) = bus.take()
            self.table.set(Set(players.map(\.id)), now: .now)
            let names = Dictionary(players.map { ($0.id, $0.name) }) { $1 }
            self.reasons = self.reasons.filter { names.values.contains($0.key) }
            await withTaskGroup(of: (String, PlayerState?).self) { group in
                for player in changed where self.table.follows(player) {
                    group.addTask { (player, await bus.state(of: player)) }
                }
                for await (player, state) in group { self.reported(player, state, name: names[player] ?? player) }
            }
            await self.refresh()
            guard (try? await Task.sleep(for: Self.interval)) != nil else { return }
        }
    }

    private func reported(_ player: String, _ state: PlayerState?, name: String) {
        guard let state else {
            self.failed(player)
            return self.explain(name, "It does not respond, or states more than a player may.")
        }
        do throws(PlayedMedia.Refusal) {
            let media = try PlayedMedia(state, documents: self.documents)
            self.table.reported(player, state.status, media, now: .now)
            self.reasons[name] = nil
        } catch {
            self.table.reported(player, state.status, nil, now: .now)
            if state.address != nil { self.explain(name, error.text) }
        }
    }

    /// A player did not state what it plays. It is asked again, since the position changes without a report.
    private func failed(_ player: String) {
        guard let pause = self.table.failed(player) else { return }
        Task { [weak self] in
            // Nothing reports that the player responds again.
            try? await Task.sleep(for: pause)
            await self?.bus?.mark(player)
        }
    }

    /// Logs why a player is not handed over, once.
    private func explain(_ name: String, _ reason: String) {
        guard self.reasons.updateValue(reason, forKey: name) != reason else { return }
        self.logger.notice(
            "A media player is not handed over",
            metadata: ["player": "\(name.prefix(80))", "reason": "\(reason)"]
        )
    }

    /// Offers what is to be offered now, and nothing else.
    private func refresh() async {
        let now = ContinuousClock.now
        let wanted = self.table.offered(now: now)
        self.schedule(now)
        if let current, let wanted, current.offered.player == wanted.player,
            current.offered.media.address == wanted.media.address, current.activity.isCurrent
        {
            guard wanted != current.offered else { return }
            self.current?.offered = wanted
            if current.activity.title != wanted.media.shownTitle { current.activity.title = wanted.media.shownTitle }
            return
        }
        self.current?.activity.invalidate()
        self.current = nil
        guard let wanted, let host else { return }
        let activity = UserActivity(
            type: BuiltInApplication.playingMedia,
            title: wanted.media.shownTitle,
            supportsContinuationStreams: true
        )
        activity.userInfo = wanted.media.content
        // The position changes all the time. It is read when another system asks for it.
        activity.needsSave = true
        let origin = Origin(player: wanted.player, owner: self)
        activity.delegate = origin
        self.origins = self.origins.suffix(Self.maxOrigins - 1) + [origin]
        self.current = (wanted, activity)
        do {
            try await activity.becomeCurrent(at: host)
        } catch {
            self.logger.info("A media player is not offered", metadata: ["reason": "\(error)"])
        }
    }

    private func schedule(_ now: ContinuousClock.Instant) {
        self.timer?.cancel()
        self.timer = self.table.nextChange(now: now).map { next in
            Task { [weak self] in
                guard (try? await Task.sleep(until: next, clock: .continuous)) != nil else { return }
                await self?.refresh()
            }
        }
    }

    // MARK: Handing over

    /// Connects an activity to its player.
    private final class Origin: UserActivityDelegate {
        let player: String
        private let owner: MediaPlayers

        init(player: String, owner: MediaPlayers) {
            self.player = player
            self.owner = owner
        }

        func userActivityWillSave(_ activity: UserActivity) async { await self.owner.save(activity, of: self.player) }

        func userActivityWasContinued(_ activity: UserActivity, by receiver: UserActivityReceiver) async {
            await self.owner.beganHandOver(of: self.player)
        }

        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            await self.owner.handOver(self.player, of: try? PlayedMedia(content: activity.userInfo), input, output)
        }
    }

    /// Writes the player's position into the activity. A player that does not state it ends the activity.
    private func save(_ activity: UserActivity, of player: String) async {
        activity.needsSave = true
        guard let bus, let state = await bus.state(of: player),
            let media = try? PlayedMedia(state, documents: self.documents)
        else {
            activity.invalidate()
            self.failed(player)
            return
        }
        activity.userInfo = media.content
        // A player that does not state its list in time is handed over without it.
        guard let track = state.trackID, let list = await bus.trackList(of: player, around: track) else { return }
        let addresses = await bus.addresses(of: list.previous + list.next, in: player)
        let playlist = Playlist(list, addresses, documents: self.documents)
        guard !playlist.isEmpty else { return }
        activity.addUserInfoEntries([Playlist.key: playlist.content(documents: self.documents)])
    }

    /// What a player plays now; `nil` if it does not respond, or another system could not play it.
    private func media(of player: String) async -> PlayedMedia? {
        guard let state = await self.bus?.state(of: player) else { return nil }
        return try? PlayedMedia(state, documents: self.documents)
    }

    private func beganHandOver(of player: String) async {
        self.table.beganHandOver(player, now: .now)
        await self.refresh()
    }

    /// Waits until the other system plays, and pauses the player.
    ///
    /// - Parameter media: what the other system has received.
    private func handOver(
        _ player: String,
        of media: PlayedMedia?,
        _ input: ContinuationInputStream,
        _ output: ContinuationOutputStream
    ) async {
        var (isAsked, hasPaused) = (false, false)
        do {
            try await StreamRequests.serve(input, output) { message in
                guard !PlayerMessage.asksForPosition(message) else {
                    // The position of another track, to which the player has gone on, says nothing about this one.
                    let now = await self.media(of: player)
                    return PlayerMessage.position(now?.address == media?.address ? now : nil)
                }
                guard PlayerMessage.isStarted(message) else { return [:] }
                isAsked = true
                guard await self.pause(player) else { return PlayerMessage.paused(false) }
                hasPaused = true
                self.table.handedOver(player)
                return PlayerMessage.paused(true)
            }
        } catch {
            self.logger.debug("The stream of a hand-over ended", metadata: ["reason": "\(error)"])
        }
        guard !hasPaused else { return }
        if !isAsked { self.logger.notice("Another system could not play the media. The player goes on") }
        self.table.failedHandOver(player)
        await self.refresh()
    }

    /// - Returns: whether the player has paused, or has left the bus.
    private func pause(_ player: String) async -> Bool {
        guard let bus else { return false }
        try? await bus.pause(player)
        let deadline = ContinuousClock.now + Self.pauseTime
        while ContinuousClock.now < deadline, !Task.isCancelled {
            let state = await bus.state(of: player)
            if state.map({ $0.status != .playing }) ?? !bus.players.contains(where: { $0.id == player }) { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        self.logger.warning("A media player that was handed over did not pause")
        return false
    }

    // MARK: Continuing

    private func `continue`(_ activity: UserActivity, _ launcher: DesktopURILauncher) async throws {
        guard let bus else {
            throw ContinuationError(
                .handlerFailed,
                "The session bus, on which media players are controlled, cannot be reached.",
                side: .local,
                canRetry: true
            )
        }
        let player = try await PlayerContinuation(
            bus: bus,
            launcher: launcher,
            documents: self.documents,
            clock: FeatureClock(self.configuration),
            logger: self.logger
        ).run(activity)
        self.table.continued(player)
        await self.refresh()
    }
}
