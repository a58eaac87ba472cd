// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import ValueSets

/// The content of a remote notification in the JSON form of Apple's push service.
///
/// ```swift
/// let json = #"{"aps": {"alert": {"title": "Deploy?"}, "badge": 1}, "build": 7}"#
/// let payload = try RemotePayload(json: Data(json.utf8))
/// print(payload.content.title, payload.content.userInfo["build"])
/// ```
///
/// The keys of `aps` that are read: `alert` (a string, which is the body, or a dictionary, below), `badge`, `sound` (a
/// string, or a dictionary with `name` and `critical`), `category`, `thread-id`, `interruption-level`,
/// `relevance-score`, `target-content-id`, `filter-criteria`, `content-available` and `mutable-content`. The keys
/// beside `aps` become the user info.
///
/// The keys of `alert` that are read: `title`, `subtitle` and `body`; or in place of each the key and the arguments of
/// a localised text: `title-loc-key` and `title-loc-args`, `subtitle-loc-key` and `subtitle-loc-args`, `loc-key` and
/// `loc-args`. No table of strings is read: the text is the key itself, in which `%@`, `%1$@` and so on stand for the
/// arguments.
///
/// A `sound` that is `critical` has the level ``NotificationInterruptionLevel/critical``, unless `interruption-level`
/// has another one.
///
/// Further keys of `aps` are ignored: `launch-image` and the `volume` of a sound, which desktops do not have; `action`,
/// `action-loc-key`, `summary-arg`, `summary-arg-count` and `url-args`, which Apple's systems do not use any more; and
/// those of live activities.
public struct RemotePayload: Sendable, Hashable {
    /// The texts, and how they are shown.
    public var content: NotificationContent
    /// Whether the receiving application is to update its content (`content-available`).
    public var isContentAvailable: Bool
    /// Whether the receiving application may change the content before it is shown (`mutable-content`).
    public var isMutable: Bool

    /// Creates a payload.
    ///
    /// - Parameters:
    ///   - content: The texts, and how they are shown.
    ///   - isContentAvailable: Whether the receiving application is to update its content. Defaults to `false`.
    ///   - isMutable: Whether the receiving application may change the content. Defaults to `false`.
    public init(content: NotificationContent, isContentAvailable: Bool = false, isMutable: Bool = false) {
        self.content = content
        self.isContentAvailable = isContentAvailable
        self.isMutable = isMutable
    }

    /// Creates a payload from JSON.
    ///
    /// - Parameter json: The payload, at most ``NotificationLimits/remotePayloadBytes`` long.
    /// - Throws: ``NotificationError`` that names the key, or with `payloadTooLarge`.
    public init(json: Data) throws(NotificationError) {
        guard json.count <= NotificationLimits.remotePayloadBytes else {
            throw NotificationError(
                .payloadTooLarge,
                "The payload has \(json.count) bytes; the maximum is \(NotificationLimits.remotePayloadBytes)."
            )
        }
        let set: ValueSet
        do throws(ValueSetError) {
            set = try ValueSet(json: json)
        } catch {
            throw NotificationError(.invalidContent, "The payload is not JSON. \(error.message)")
        }
        try self.init(set)
    }

    /// Creates a payload from a value set with the keys of the JSON form.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationError`` that names the key.
    public init(_ set: ValueSet) throws(NotificationError) {
        guard let aps = try FieldReader(set).dictionary("aps") else {
            throw NotificationError(.invalidContent, "The key is missing.", field: "aps")
        }
        var userInfo = set
        userInfo["aps"] = nil
        do throws(NotificationError) {
            self.content = try Self.content(FieldReader(aps), userInfo)
            self.isContentAvailable = try FieldReader(aps).flag("content-available")
            self.isMutable = try FieldReader(aps).flag("mutable-content")
        } catch {
            throw error.field == "userInfo" ? error : error.inside("aps")
        }
    }

    private static func content(
        _ aps: FieldReader,
        _ userInfo: ValueSet
    ) throws(NotificationError) -> NotificationContent {
        var content = NotificationContent(userInfo: userInfo)
        switch aps.set["alert"] {
        case nil, .null?: break
        case .string(let body)?: content.body = body
        case .dictionary(let alert)?:
            do throws(NotificationError) {
                let alert = FieldReader(alert)
                content.title = try PayloadText.read("title", localized: "title-", alert)
                content.subtitle = try PayloadText.read("subtitle", localized: "subtitle-", alert)
                content.body = try PayloadText.read("body", localized: "", alert)
            } catch {
                throw error.inside("alert")
            }
        default:
            throw NotificationError(.invalidContent, "The value must be a string or a dictionary.", field: "alert")
        }
        content.badge = try aps.int("badge")
        switch aps.set["sound"] {
        case nil, .null?: break
        case .dictionary(let sound)?:
            do throws(NotificationError) {
                let sound = FieldReader(sound)
                content.sound = NotificationSound(name: try sound.string("name") ?? "default")
                if try sound.flag("critical") { content.interruptionLevel = .critical }
            } catch {
                throw error.inside("sound")
            }
        default: content.sound = try aps.string("sound").map { NotificationSound(name: $0) }
        }
        content.categoryIdentifier = try aps.string("category")
        content.threadIdentifier = try aps.string("thread-id")
        if let level = try aps.string("interruption-level") {
            guard let known = NotificationInterruptionLevel(rawValue: level) else {
                let levels = NotificationInterruptionLevel.allCases.map(\.rawValue).joined(separator: ", ")
                throw NotificationError(
                    .invalidContent,
                    "The level is unknown. Levels: \(levels).",
                    field: "interruption-level"
                )
            }
            content.interruptionLevel = known
        }
        content.relevanceScore = try aps.double("relevance-score") ?? 0
        content.targetContentIdentifier = try aps.string("target-content-id")
        content.filterCriteria = try aps.string("filter-criteria")
        do throws(NotificationError) {
            try content.validate()
        } catch {
            var error = error
            error.field = error.field.map { Self.key(of: $0, aps.set) }
            throw error
        }
        return content
    }

    /// The keys of fields that are named otherwise.
    private static let keys = [
        "threadIdentifier": "thread-id", "categoryIdentifier": "category", "relevanceScore": "relevance-score",
        "targetContentIdentifier": "target-content-id", "filterCriteria": "filter-criteria",
    ]

    /// The key of a field of the content in `aps`.
    private static func key(of field: String, _ aps: ValueSet) -> String {
        switch field {
        case "title", "subtitle", "body": aps["alert"]?.string == nil ? "alert.\(field)" : "alert"
        case "sound": aps["sound"]?.string == nil ? "sound.name" : "sound"
        default: Self.keys[field] ?? field
        }
    }

    /// The payload as a value set with the keys of the JSON form. Fields with their default values are omitted.
    ///
    /// A key `aps` of the user info is lost.
    public var valueSet: ValueSet {
        var alert: ValueSet = [:]
        alert.put(self.content.title, "title")
        alert.put(self.content.subtitle, "subtitle")
        alert.put(self.content.body, "body")
        var aps: ValueSet = [:]
        if !alert.isEmpty { aps["alert"] = .dictionary(alert) }
        if let badge = self.content.badge { aps["badge"] = .integer(Int64(badge)) }
        aps.put(self.content.sound?.name, "sound")
        aps.put(self.content.categoryIdentifier, "category")
        aps.put(self.content.threadIdentifier, "thread-id")
        if self.content.interruptionLevel != .active {
            aps["interruption-level"] = .string(self.content.interruptionLevel.rawValue)
        }
        if self.content.relevanceScore != 0 { aps["relevance-score"] = .double(self.content.relevanceScore) }
        aps.put(self.content.targetContentIdentifier, "target-content-id")
        aps.put(self.content.filterCriteria, "filter-criteria")
        if self.isContentAvailable { aps["content-available"] = 1 }
        if self.isMutable { aps["mutable-content"] = 1 }
        var set = self.content.userInfo
        set["aps"] = .dictionary(aps)
        return set
    }

    /// The payload as JSON.
    ///
    /// - Returns: The JSON text, at most ``NotificationLimits/remotePayloadBytes`` long.
    /// - Throws: ``NotificationError`` with `payloadTooLarge` or `invalidContent`.
    public func json() throws(NotificationError) -> String {
        let json: String
        do throws(ValueSetError) {
            json = try self.valueSet.json()
        } catch {
            throw NotificationError(.invalidContent, "The user info cannot be written as JSON. \(error)")
        }
        guard json.utf8.count <= NotificationLimits.remotePayloadBytes else {
            throw NotificationError(
                .payloadTooLarge,
                "The payload has \(json.utf8.count) bytes; the maximum is \(NotificationLimits.remotePayloadBytes)."
            )
        }
        return json
    }
}
