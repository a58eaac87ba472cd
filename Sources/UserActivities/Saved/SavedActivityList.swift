// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// The activities that an application has saved, oldest first. A value type without I/O or a clock.
struct SavedActivityList: Sendable, Equatable {
    struct Entry: Sendable, Equatable {
        var identifier: String
        var payload: ActivityPayload

        /// The length of the entry in the file, in bytes.
        var bytes: Int { self.identifier.utf8.count + self.payload.bytes + 128 }
    }

    /// The file has another form, or belongs to a later version.
    struct Damaged: Error {}

    private(set) var entries: [Entry] = []

    init() {}

    /// Adds an activity, and removes the one with the same identifier. The oldest ones leave when there are too many.
    mutating func save(_ entry: Entry, maxCount: Int, maxBytes: Int) {
        self.entries.removeAll { $0.identifier == entry.identifier }
        self.entries.append(entry)
        var bytes = self.entries.reduce(0) { $0 + $1.bytes }
        while self.entries.count > maxCount || bytes > maxBytes, self.entries.count > 1 {
            bytes -= self.entries.removeFirst().bytes
        }
    }

    /// Removes activities.
    ///
    /// - Returns: whether there were any.
    mutating func delete(_ identifiers: Set<String>) -> Bool {
        let before = self.entries.count
        self.entries.removeAll { identifiers.contains($0.identifier) }
        return self.entries.count < before
    }

    /// Removes the activities whose time is over.
    mutating func expire(now: Date) {
        self.entries.removeAll { $0.payload.attributes.expirationDate.map { $0 <= now } ?? false }
    }

    /// The activities that may be found, newest first: each word is the beginning of a word of the title or of a
    /// keyword. Case does not count.
    func search(_ text: String) -> [Entry] {
        let words = Self.words(text)
        guard !words.isEmpty else { return [] }
        return self.entries.reversed().filter { entry in
            let attributes = entry.payload.attributes
            guard attributes.isEligibleForSearch else { return false }
            let known = Self.words(attributes.title ?? "") + attributes.keywords.flatMap { Self.words($0) }
            return words.allSatisfy { word in known.contains { $0.hasPrefix(word) } }
        }
    }

    private static func words(_ text: String) -> [Substring] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }
    }

    // MARK: The file

    init(file: [UInt8]) throws {
        let set = try ValueSet(encoded: file)
        guard let list = set["Activities"]?.array else { throw Damaged() }
        self.entries = try list.map { value in
            guard let entry = value.dictionary, let identifier = entry["Identifier"]?.string,
                let content = entry["Content"]?.dictionary, let type = content["Type"]?.string
            else { throw Damaged() }
            var payload = try ActivityPayload(saved: content, type: type)
            payload.attributes.expirationDate = entry["Expires"]?.date
            payload.attributes.isEligibleForHandoff = entry["Handoff"]?.bool ?? true
            payload.attributes.isEligibleForSearch = entry["Search"]?.bool ?? false
            payload.attributes.isEligibleForPublicIndexing = entry["PublicIndexing"]?.bool ?? false
            payload.attributes.isEligibleForPrediction = entry["Prediction"]?.bool ?? false
            return Entry(identifier: identifier, payload: payload)
        }
    }

    func file() throws -> [UInt8] {
        let list = self.entries.map { entry -> Value in
            let attributes = entry.payload.attributes
            var set: ValueSet = [
                "Identifier": .string(entry.identifier), "Content": .dictionary(entry.payload.message),
                "Handoff": .bool(attributes.isEligibleForHandoff), "Search": .bool(attributes.isEligibleForSearch),
                "PublicIndexing": .bool(attributes.isEligibleForPublicIndexing),
                "Prediction": .bool(attributes.isEligibleForPrediction),
            ]
            set["Expires"] = attributes.expirationDate.map { .date(secondsSince1970: $0.timeIntervalSince1970) }
            return .dictionary(set)
        }
        return try (["Activities": .array(list)] as ValueSet).encoded()
    }
}
