// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import UserActivities
internal import ValueSets

/// The tracks around the one that is handed over, as an entry of the activity's content (`Docs/wire/activities.md`).
///
/// An addition to ``PlayedMedia``. A track that another system could not play is left out, and a list that breaks a
/// rule is ignored.
struct Playlist: Sendable, Hashable {
    /// The entry of the content.
    static let key = "Playlist"
    /// The maximum number of tracks before the one that is handed over, and after it.
    static let maxTracks = 20
    /// The maximum length of all addresses. The rest of the content has room beside them.
    static let maxBytes = 32 << 10

    private static let previousKey = "Previous"
    private static let nextKey = "Next"

    /// Addresses by the same rules as ``PlayedMedia/address``, in the order of the list.
    var previous: [URL]
    var next: [URL]

    var isEmpty: Bool { self.previous.isEmpty && self.next.isEmpty }

    /// Takes over what a player states.
    ///
    /// - Parameter addresses: the addresses by the tracks' ids.
    init(_ list: PlayerTrackList, _ addresses: [String: String], documents: DocumentURLMapper?) {
        func playable(_ tracks: [String]) -> [URL] {
            tracks.compactMap { track in
                addresses[track].flatMap { try? PlayedMedia.address($0, documents: documents) }
            }
        }
        self.previous = playable(list.previous)
        self.next = playable(list.next)
    }

    // MARK: The content of the activity

    /// Reads the content of an activity of another system.
    init(content: ValueSet, documents: DocumentURLMapper?) {
        let list = content[Self.key]?.dictionary ?? [:]
        let previous = (list[Self.previousKey]?.array ?? []).suffix(Self.maxTracks)
        let next = (list[Self.nextKey]?.array ?? []).prefix(Self.maxTracks)
        self.previous = previous.compactMap { Self.local($0, documents) }
        self.next = next.compactMap { Self.local($0, documents) }
    }

    /// The value of the entry. If not all addresses fit, the next tracks count first, then the nearest previous ones.
    func content(documents: DocumentURLMapper?) -> Value {
        var bytes = Self.maxBytes
        func values(_ addresses: [URL]) -> [Value] {
            var values: [Value] = []
            for address in addresses.prefix(Self.maxTracks) {
                guard let text = Self.portable(address, documents) else { continue }
                guard text.utf8.count <= bytes else { break }
                bytes -= text.utf8.count
                values.append(.string(text))
            }
            return values
        }
        let next = values(self.next)
        let previous = values(self.previous.reversed())
        return .dictionary([Self.previousKey: .array(previous.reversed()), Self.nextKey: .array(next)])
    }

    // Texts, since the activity would be refused as a whole for a URL in a folder that the receiver does not have.

    private static func portable(_ address: URL, _ documents: DocumentURLMapper?) -> String? {
        guard address.isFileURL else { return address.absoluteString }
        return (try? documents?.portable(address))?.absoluteString
    }

    private static func local(_ value: Value, _ documents: DocumentURLMapper?) -> URL? {
        guard let text = value.string, text.utf8.count <= PlayerState.maxAddressBytes, let address = URL(string: text)
        else { return nil }
        if address.scheme?.lowercased() == DocumentURLMapper.scheme { return try? documents?.local(address) }
        return address.scheme?.lowercased() != "file" && PlayedMedia.isPlayable(address) ? address : nil
    }
}
