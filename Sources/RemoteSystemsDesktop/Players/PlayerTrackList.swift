// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// The tracks of a player's list around the one that it plays (`org.mpris.MediaPlayer2.TrackList`), by their ids.
struct PlayerTrackList: Sendable, Hashable {
    /// Stands for the place before the first track.
    static let noTrack = "/org/mpris/MediaPlayer2/TrackList/NoTrack"

    /// In the order of the list, as ``next``.
    var previous: [String]
    var next: [String]
    /// Whether the player lets others add tracks.
    var canEdit: Bool

    /// Reads the properties of the interface.
    ///
    /// - Returns: `nil` if the track is not in the list.
    init?(_ properties: ValueSet, around track: String) {
        let tracks = (properties["Tracks"]?.array ?? []).compactMap { $0.string.flatMap { PlayerState.trackID($0) } }
        guard let index = tracks.firstIndex(of: track) else { return nil }
        self.previous = Array(tracks[..<index].suffix(Playlist.maxTracks))
        self.next = Array(tracks[(index + 1)...].prefix(Playlist.maxTracks))
        self.canEdit = properties["CanEditTracks"]?.bool ?? false
    }
}
