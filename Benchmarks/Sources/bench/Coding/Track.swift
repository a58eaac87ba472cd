// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring

/// The content for the coders: ten fields that a player application might send.
///
/// Each coder gets the same content in its most suitable form. Formats without dates or UUIDs get them as prepared
/// numbers or text, so that no formatting is measured.
struct Track: Codable, Sendable {
    struct Position: Codable, Sendable {
        var track: Int
        var seconds: Double
    }

    var type: String
    var title: String
    var artist: String
    var targetID: UUID
    var creationDate: Date
    var sequence: Int
    var volume: Double
    var isMuted: Bool
    var tags: [String]
    var position: Position

    /// Creates the track with a number. All tracks have different content of the same size.
    init(_ number: Int) {
        type = "track"
        title = "An album with a name of its own, number \(number)"
        artist = "A well-known band."
        targetID = Self.identifier(number)
        creationDate = Date(timeIntervalSince1970: 1_700_000_000.25 + Double(number))
        sequence = 100_000 + number
        volume = 0.75
        isMuted = number.isMultiple(of: 2)
        tags = ["evening", "instrumental", "favourite"]
        position = Position(track: number % 12, seconds: 61.125)
    }

    private static func identifier(_ number: Int) -> UUID {
        let digits = String(number, radix: 16)
        let text = "6BA7B810-9DAD-41D1-80B4-" + String(repeating: "0", count: 12 - digits.count) + digits
        return UUID(uuidString: text) ?? UUID()
    }

    /// The tracks of the large dictionary, by name.
    static let large: [String: Track] = Dictionary(
        uniqueKeysWithValues: (0..<200).map { ("Track \($0)", Track($0)) }
    )
}
