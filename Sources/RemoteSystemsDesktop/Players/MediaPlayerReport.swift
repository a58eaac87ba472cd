// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import UserActivities

/// A media player on the session bus, and whether it can be handed over.
package struct MediaPlayerReport: Sendable, Hashable {
    /// The well-known bus name, such as `org.mpris.MediaPlayer2.mpv`.
    package var name: String
    /// The player's name for people, if it states one.
    package var identity: String?
    /// Whether it plays now.
    package var isPlaying: Bool
    /// What it plays, if it can be handed over.
    package var title: String?
    /// Why it cannot be handed over; `nil` if it can.
    package var reason: String?

    /// The time in which the bus states its players.
    private static let timeLimit = Duration.seconds(5)

    /// Asks the players on the session bus.
    ///
    /// - Parameter documents: the folders whose files are handed over; `nil` for none.
    /// - Returns: `nil` if the session bus cannot be reached, or does not respond.
    package static func all(documents: DocumentURLMapper?) async -> [MediaPlayerReport]? {
        guard MessageBus.isSessionKnown else { return nil }
        let bus = PlayerBus()
        return await withTaskGroup(of: [MediaPlayerReport]?.self) { group in
            group.addTask {
                _ = await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try bus.run() } }
                return nil
            }
            group.addTask {
                // A bus that does not respond wakes nothing up.
                let limit = Task {
                    try await Task.sleep(for: Self.timeLimit)
                    bus.stop()
                }
                defer {
                    limit.cancel()
                    bus.stop()
                }
                for await _ in bus.wakeUps {
                    // Each player has a limit of its own.
                    limit.cancel()
                    return await Self.read(bus, documents)
                }
                return nil
            }
            return await group.reduce(nil) { $0 ?? $1 }
        }
    }

    private static func read(_ bus: PlayerBus, _ documents: DocumentURLMapper?) async -> [MediaPlayerReport] {
        await withTaskGroup(of: MediaPlayerReport.self) { group in
            for player in bus.players.prefix(PlayerTable.max) {
                group.addTask {
                    let identity = await bus.abilities(of: player.id)?.identity
                    return MediaPlayerReport(player.name, identity, await bus.state(of: player.id), documents)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.name < $1.name }
        }
    }

    init(_ name: String, _ identity: String?, _ state: PlayerState?, _ documents: DocumentURLMapper?) {
        self.name = name
        self.identity = identity
        self.isPlaying = state?.status == .playing && state?.address != nil
        guard let state else {
            self.reason = "It does not respond, or states more than a player may."
            return
        }
        do throws(PlayedMedia.Refusal) {
            self.title = try PlayedMedia(state, documents: documents).shownTitle
            if state.status == .stopped { self.reason = "It is stopped." }
        } catch {
            self.reason = error.text
        }
    }
}
