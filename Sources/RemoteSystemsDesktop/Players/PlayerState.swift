// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import FoundationEssentials
internal import ValueSets

/// What a media player states about itself (MPRIS 2.2, `org.mpris.MediaPlayer2.Player`), as far as it is credible.
///
/// Any program can be a player. A value of the wrong type, or out of range, counts as absent.
struct PlayerState: Sendable, Hashable {
    enum Status: String {
        case playing = "Playing"
        case paused = "Paused"
        case stopped = "Stopped"
    }

    /// The maximum length and position, in seconds: 31 days.
    static let maxSeconds = 2_678_400.0
    /// The maximum length of a text, in characters. Longer ones are cut off.
    static let maxTextLength = 200
    /// The maximum length of an address and of a track's id, in bytes.
    static let maxAddressBytes = 4096

    var status = Status.stopped
    /// The address of the media.
    var address: String?
    var title: String?
    var artist: String?
    var album: String?
    var trackNumber: Int?
    /// Identifies the track for the player. A valid object path.
    var trackID: String?
    /// In seconds. `nil` for a live stream.
    var length: Double?
    /// In seconds, at the time of the report.
    var position: Double?
    /// 1 is the normal maximum.
    var volume: Double?
    var canSeek = false
    var canPause = true

    init() {}

    /// Reads the properties of the interface.
    init(_ properties: ValueSet) {
        let metadata = properties["Metadata"]?.dictionary ?? [:]
        self.status = properties["PlaybackStatus"]?.string.flatMap(Status.init) ?? .stopped
        self.address = Self.address(in: metadata)
        self.title = metadata["xesam:title"]?.string.flatMap(Self.text)
        self.album = metadata["xesam:album"]?.string.flatMap(Self.text)
        let artists = (metadata["xesam:artist"]?.array ?? []).prefix(4).compactMap(\.string)
        self.artist = Self.text(artists.joined(separator: ", "))
        self.trackNumber = metadata["xesam:trackNumber"]?.int.flatMap { (1...99_999).contains($0) ? $0 : nil }
        self.trackID = Self.trackID(in: metadata)
        self.length = metadata["mpris:length"].flatMap(Self.seconds).flatMap { $0 > 0 ? $0 : nil }
        self.position = properties["Position"].flatMap(Self.seconds).map { min($0, self.length ?? Self.maxSeconds) }
        self.volume = properties["Volume"]?.double.flatMap { $0.isFinite ? min(max($0, 0), 1) : nil }
        self.canSeek = properties["CanSeek"]?.bool ?? false
        self.canPause = properties["CanPause"]?.bool ?? true
    }

    /// The address in the metadata of a track.
    static func address(in metadata: ValueSet) -> String? {
        metadata["xesam:url"]?.string.flatMap {
            (1...Self.maxAddressBytes).contains($0.utf8.count) && !$0.hasControlCharacters ? $0 : nil
        }
    }

    /// The id in the metadata of a track.
    static func trackID(in metadata: ValueSet) -> String? {
        metadata["mpris:trackid"]?.string.flatMap { Self.trackID($0) }
    }

    /// The id of a track; `nil` if it is not valid.
    static func trackID(_ text: String) -> String? {
        unsafe text.utf8.count <= Self.maxAddressBytes && g_variant_is_object_path(text) != 0 ? text : nil
    }

    /// Reads a number of microseconds.
    private static func seconds(_ value: Value) -> Double? {
        guard let microseconds = value.double, microseconds.isFinite else { return nil }
        let seconds = microseconds / 1_000_000
        return (0...Self.maxSeconds).contains(seconds) ? seconds : nil
    }

    /// A text as one line of limited length; `nil` if nothing is left.
    static func text(_ text: String) -> String? {
        let start = String(text.prefix(Self.maxTextLength + 1)).withoutControlCharacters
        let cut = start.count > Self.maxTextLength ? "\(start.prefix(Self.maxTextLength - 1))…" : start
        return cut.allSatisfy(\.isWhitespace) ? nil : cut
    }
}
