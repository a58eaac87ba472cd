// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// What an application publishes about its current activity: enough to list it, and nothing of its content
/// (`Docs/wire/activities.md`).
struct ActivityDescriptor: Sendable, Hashable {
    /// The name of the topic, and of the service with which activities are continued.
    static let topic = "org.remotesystems.activities"

    /// The maximum length of a title, in bytes of UTF-8. Longer ones are cut off.
    static let maxTitleBytes = 512
    /// The maximum length of a target's identifier, in bytes of UTF-8. Longer ones are left out.
    static let maxIdentifierBytes = 1024

    var id: UUID
    var type: String
    var title: String?
    var supportsContinuationStreams = false
    /// Whether a browser can continue the activity.
    var hasWebpage = false
    /// The version of the payload, as the application counts it.
    var payloadVersion: Int?
    var targetContentIdentifier: String?
    /// The time at which the offer ends, by the origin's clock.
    var expirationDate: Date
    /// The time for which the offer is valid from now, which does not depend on the receiver's clock.
    var lifetime: Duration

    /// The key of the record.
    var key: String { self.id.uuidString.lowercased() }

    var record: ValueSet {
        var record: ValueSet = [
            "Type": .string(self.type),
            "Expires": .date(secondsSince1970: self.expirationDate.timeIntervalSince1970),
            "Lifetime": .integer(self.lifetime.components.seconds),
        ]
        record["Title"] = self.title.map { .string($0) }
        if self.supportsContinuationStreams { record["Streams"] = true }
        if self.hasWebpage { record["Webpage"] = true }
        record["Version"] = self.payloadVersion.map { .integer(Int64($0)) }
        record["Target"] = self.targetContentIdentifier.map { .string($0) }
        return record
    }

    /// Describes an activity of this application.
    init(_ activity: UserActivity, expirationDate: Date, lifetime: Duration) {
        let attributes = activity.attributes
        self.id = activity.id
        self.type = activity.type
        self.title = attributes.title.flatMap { Self.shown($0) }
        self.supportsContinuationStreams = attributes.supportsContinuationStreams
        self.hasWebpage = attributes.webpageURL != nil
        self.payloadVersion = attributes.payloadVersion
        self.targetContentIdentifier = attributes.targetContentIdentifier.flatMap {
            $0.utf8.count <= Self.maxIdentifierBytes ? $0 : nil
        }
        self.expirationDate = expirationDate
        self.lifetime = lifetime
    }

    /// Reads a record of a peer; `nil` if it is not a descriptor. Unknown fields are ignored.
    init?(key: String, _ record: ValueSet) {
        guard let id = UUID(uuidString: key), let type = record["Type"]?.string, ActivityTypeName.isValid(type),
            let expires = record["Expires"]?.date, let seconds = record["Lifetime"]?.int,
            (1...Self.maxLifetime).contains(seconds)
        else { return nil }
        self.id = id
        self.type = type
        self.title = record["Title"]?.string.flatMap { Self.shown($0) }
        self.supportsContinuationStreams = record["Streams"]?.bool ?? false
        self.hasWebpage = record["Webpage"]?.bool ?? false
        self.payloadVersion = record["Version"]?.int
        self.targetContentIdentifier = record["Target"]?.string.flatMap {
            $0.utf8.count <= Self.maxIdentifierBytes ? $0 : nil
        }
        self.expirationDate = expires
        self.lifetime = .seconds(seconds)
    }

    /// The maximum lifetime of an offer, in seconds: one day.
    static let maxLifetime = 86_400

    /// A title as it can be shown: without control characters, and cut off after ``maxTitleBytes``. `nil` if nothing is
    /// left.
    static func shown(_ title: String) -> String? {
        var shown = title.withoutControlCharacters
        // From the front: the end of a character is found by reading what precedes it.
        var bytes = 0
        let end = shown.indices.first { index in
            bytes += shown[index].utf8.count
            return bytes > Self.maxTitleBytes
        }
        if let end { shown.removeSubrange(end...) }
        return shown.allSatisfy(\.isWhitespace) ? nil : shown
    }
}
