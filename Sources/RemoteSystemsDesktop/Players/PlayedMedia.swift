// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import UserActivities
internal import ValueSets

/// What is handed over of a media player: the content of activities of the type `org.remotesystems.playing-media`
/// (`Docs/wire/activities.md`).
struct PlayedMedia: Sendable, Hashable {
    /// `http`, `https`, or a `file` in one of this system's document roots.
    var address: URL
    var title: String?
    var artist: String?
    var album: String?
    var trackNumber: Int?
    /// In seconds.
    var position = 0.0
    /// From 0 to 1; `nil` if the player does not state it.
    var volume: Double?
    var isPlaying: Bool

    /// The reason why something is not handed over, as a sentence.
    struct Refusal: Error, Hashable {
        var text: String
    }

    /// Takes over what a player states.
    ///
    /// - Throws: the reason why another system could not play it.
    init(_ state: PlayerState, documents: DocumentURLMapper?) throws(Refusal) {
        guard let text = state.address else { throw Refusal(text: "The player does not state an address (xesam:url).") }
        self.address = try Self.address(text, documents: documents)
        self.title = state.title
        self.artist = state.artist
        self.album = state.album
        self.trackNumber = state.trackNumber
        self.position = state.position ?? 0
        self.volume = state.volume
        self.isPlaying = state.status == .playing
    }

    /// Checks an address that a player states.
    ///
    /// - Throws: the reason why another system could not play it.
    static func address(_ text: String, documents: DocumentURLMapper?) throws(Refusal) -> URL {
        guard let address = URL(string: text), let scheme = address.scheme?.lowercased() else {
            throw Refusal(text: "The address that the player states is not a URL.")
        }
        switch scheme {
        case "http", "https":
            guard address.host()?.isEmpty == false else { throw Refusal(text: "The address has no host.") }
            guard address.user() == nil, address.password() == nil else {
                throw Refusal(text: "The address contains a user name or a password, which is not sent.")
            }
        case "file":
            guard let documents else {
                throw Refusal(
                    text: "It is a file of this machine. Name its folder in 'documentRoots' on both machines."
                )
            }
            guard (try? documents.portable(address)) != nil else {
                throw Refusal(
                    text: "It is a file of this machine, in none of the folders that 'documentRoots' names."
                )
            }
        default:
            throw Refusal(
                text: "Only http and https addresses and files are handed over, not \(scheme.prefix(20)) addresses."
            )
        }
        return address
    }

    // MARK: The content of the activity

    /// Reads the content of an activity of another system.
    ///
    /// - Throws: the reason why it is not valid.
    init(content: ValueSet) throws(Refusal) {
        guard let address = content["URL"]?.url, Self.isPlayable(address) else {
            throw Refusal(text: "The activity has no address that a player could open.")
        }
        let position = content["Position"]?.double ?? 0
        guard (0...PlayerState.maxSeconds).contains(position) else {
            throw Refusal(text: "The position is not a number of seconds up to 31 days.")
        }
        let volume = content["Volume"]?.double
        guard volume.map({ (0...1).contains($0) }) ?? true else {
            throw Refusal(text: "The volume is not a number from 0 to 1.")
        }
        self.address = address
        self.title = content["Title"]?.string.flatMap(PlayerState.text)
        self.artist = content["Artist"]?.string.flatMap(PlayerState.text)
        self.album = content["Album"]?.string.flatMap(PlayerState.text)
        self.trackNumber = content["TrackNumber"]?.int
        self.position = position
        self.volume = volume
        self.isPlaying = content["Playing"]?.bool ?? true
    }

    /// Checks that a file is on this machine, where players would only report that they play nothing. Blocks while it
    /// looks.
    ///
    /// - Throws: the reason why it cannot be played, with the name under which both systems know the file.
    func checkFile(_ documents: DocumentURLMapper?) throws(Refusal) {
        let path = self.address.path(percentEncoded: false)
        guard self.address.scheme?.lowercased() == "file", !FileManager.default.fileExists(atPath: path) else { return }
        var name = self.address.lastPathComponent
        if let portable = try? documents?.portable(self.address) {
            // The folder's name, and the part of the path in the folder.
            let parts = portable.absoluteString.dropFirst("\(DocumentURLMapper.scheme):".count).split(separator: "/")
            name = (parts.prefix(1) + path.split(separator: "/").suffix(parts.count - 1)).joined(separator: "/")
        }
        throw Refusal(text: "The file \(name) is not on this machine: synchronise the folder.")
    }

    /// Whether a player may be asked to open an address of another system.
    static func isPlayable(_ address: URL) -> Bool {
        ["http", "https", "file"].contains(address.scheme?.lowercased()) && address.user() == nil
            && address.absoluteString.utf8.count <= PlayerState.maxAddressBytes
    }

    var content: ValueSet {
        var content: ValueSet = [
            "URL": .url(self.address),
            "Position": .double(self.position),
            "Playing": .bool(self.isPlaying),
        ]
        content["Volume"] = self.volume.map { .double($0) }
        content["Title"] = self.title.map { .string($0) }
        content["Artist"] = self.artist.map { .string($0) }
        content["Album"] = self.album.map { .string($0) }
        content["TrackNumber"] = self.trackNumber.map { .integer(Int64($0)) }
        return content
    }

    /// What users see in a list of offers.
    var shownTitle: String {
        let name = self.title ?? PlayerState.text(self.address.lastPathComponent) ?? "Media"
        return self.artist.map { "\(name) – \($0)" } ?? name
    }
}
