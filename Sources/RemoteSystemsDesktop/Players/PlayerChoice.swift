// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// Chooses the player that opens media of another system.
enum PlayerChoice {
    /// A player that runs.
    struct Candidate: Hashable {
        var player: String
        var abilities: PlayerBus.Abilities
        var state: PlayerState
    }

    /// The player that still has media open; `nil` if none has. It goes on with it, whatever else it can open.
    ///
    /// A stopped player does not count: it may have lost the media.
    static func holding(_ media: URL, among candidates: [Candidate]) -> Candidate? {
        candidates.filter { candidate in
            candidate.state.status != .stopped && PlaybackStartStateMachine.isSame(candidate.state.address, media)
        }.min { one, other in
            // One that plays first. If another one went on, the media would be heard twice.
            let plays = (one.state.status == .playing, other.state.status == .playing)
            return plays.0 == plays.1 ? one.player < other.player : plays.0
        }
    }

    /// The player that opens media; `nil` if none does. A player that plays something else is left alone.
    ///
    /// - Parameters:
    ///   - scheme: the scheme of the media's address.
    ///   - mediaType: its media type, as its name suggests; `nil` if it suggests none.
    static func best(of candidates: [Candidate], scheme: String, mediaType: String?) -> Candidate? {
        candidates.filter { candidate in
            self.opens(candidate.abilities, scheme, mediaType) && !self.isBusy(candidate.state)
        }.min { one, other in
            // A player without media first, since nothing is lost there.
            let hasMedia = (one.state.address != nil, other.state.address != nil)
            return hasMedia.0 == hasMedia.1 ? one.player < other.player : !hasMedia.0
        }
    }

    private static func opens(_ abilities: PlayerBus.Abilities, _ scheme: String, _ mediaType: String?) -> Bool {
        // mpv does not list `file` and opens it.
        guard abilities.schemes.contains(scheme) || scheme == "file" else { return false }
        guard let kind = mediaType?.prefix(while: { $0 != "/" }), !abilities.mediaTypes.isEmpty else { return true }
        // One type has several names, so that only its kind, such as audio, is compared.
        return abilities.mediaTypes.contains { $0.hasPrefix("\(kind)/") }
    }

    /// An idle mpv states that it plays, without an address.
    private static func isBusy(_ state: PlayerState) -> Bool { state.status == .playing && state.address != nil }
}
