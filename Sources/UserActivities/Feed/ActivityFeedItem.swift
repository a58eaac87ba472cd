// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import RemoteSystems
public import ValueSets

/// An activity as Project Rome's activity feed describes it.
///
/// Applications that keep such activities hand them over with ``UserActivity/init(type:item:)``, and read one that they
/// continue with ``init(_:)``. The JSON form has the names of the resource `userActivity` of Microsoft Graph. There is
/// no feed in a cloud: ``SavedActivities`` keeps activities on their own system.
public struct ActivityFeedItem: Sendable, Hashable, Codable {
    /// The maximum length of an item's JSON form, in bytes: 100 KB, as in Project Rome. An item of more than
    /// ``UserActivityHost/maxPayloadBytes`` can be saved with ``SavedActivities``, but not handed over.
    public static let maxBytes = 100_000
    /// The maximum number of sessions that an item keeps. The oldest ones are dropped.
    public static let maxSessions = 64

    /// How an item is shown. Only the ``displayText`` is used here, as the title of the activity; programs that read
    /// the item use the rest.
    public struct VisualElements: Sendable, Hashable, Codable {
        /// The picture beside an item.
        public struct Attribution: Sendable, Hashable, Codable {
            /// The address of the picture. Defaults to `nil`.
            public var iconURL: URL?
            /// The text for people who do not see the picture. Defaults to `nil`.
            public var alternateText: String?
            /// Whether the program that shows the picture may add query parameters for its size and appearance to the
            /// address. Defaults to `false`.
            public var addImageQuery = false

            /// Creates an attribution.
            ///
            /// - Parameters:
            ///   - iconURL: the address of the picture. Defaults to `nil`.
            ///   - alternateText: the text for people who do not see the picture. Defaults to `nil`.
            public init(iconURL: URL? = nil, alternateText: String? = nil) {
                self.iconURL = iconURL
                self.alternateText = alternateText
            }

            private enum CodingKeys: String, CodingKey {
                case iconURL = "iconUrl", alternateText, addImageQuery
            }

            /// Reads the JSON form. Missing keys have their defaults.
            public init(from decoder: any Decoder) throws {
                let values = try decoder.container(keyedBy: CodingKeys.self)
                self.iconURL = try values.decodeIfPresent(URL.self, forKey: .iconURL)
                self.alternateText = try values.decodeIfPresent(String.self, forKey: .alternateText)
                self.addImageQuery = try values.decodeIfPresent(Bool.self, forKey: .addImageQuery) ?? false
            }
        }

        /// The title. Must not be empty: ``ActivityFeedItem/json()`` throws otherwise.
        public var displayText: String
        /// A sentence below the title. Defaults to `nil`.
        public var description: String?
        /// The background colour, as `#RRGGBB`. Not checked. Defaults to `nil`.
        public var backgroundColor: String?
        /// The picture. Defaults to `nil`.
        public var attribution: Attribution?
        /// The name of the application or the site that is shown with the picture. Defaults to `nil`.
        public var attributionDisplayText: String?
        /// An adaptive card, as a JSON object. Stored only. Defaults to `nil`.
        public var content: ValueSet?

        /// Creates elements with a title.
        ///
        /// - Parameter displayText: the title, which must not be empty.
        public init(displayText: String) { self.displayText = displayText }
    }

    /// A time in which the user was engaged in the activity, as ``ActivityFeedItem/beginSession(at:)`` and
    /// ``ActivityFeedItem/endSession(at:)`` record it.
    public struct Session: Sendable, Hashable, Codable {
        /// The beginning. `startedDateTime` in the JSON form, in ISO 8601 and to the second.
        public var start: Date
        /// The end, not before the beginning; `nil` while the session lasts. `lastActiveDateTime` in the JSON form.
        public var end: Date?

        private enum CodingKeys: String, CodingKey {
            case start = "startedDateTime", end = "lastActiveDateTime"
        }
    }

    /// Identifies the activity within its application. Valid length: 1–1024 bytes of UTF-8.
    public var id: String
    /// The address with which the application opens the activity, for example `player:album/17`.
    public var activationURL: URL
    /// The address that opens where the application is missing. Defaults to `nil`.
    public var fallbackURL: URL?
    /// The address of the content that the activity is about. Defaults to `nil`.
    public var contentURL: URL?
    /// The media type of that content. Defaults to `nil`.
    public var contentType: String?
    /// A description of that content as a JSON object, for example of a type of schema.org. Defaults to `nil`.
    public var contentInfo: ValueSet?
    /// How the item is shown.
    public var visualElements: VisualElements
    /// Whether other systems may continue the activity. Defaults to `true`.
    public var isRoamable = true
    /// The sessions, oldest first. Defaults to none.
    public var sessions: [Session] = []

    /// Creates an item.
    ///
    /// - Parameters:
    ///   - id: identifies the activity within its application.
    ///   - activationURL: the address with which the application opens the activity.
    ///   - displayText: the title.
    public init(id: String, activationURL: URL, displayText: String) {
        self.id = id
        self.activationURL = activationURL
        self.visualElements = VisualElements(displayText: displayText)
    }

    private enum CodingKeys: String, CodingKey {
        case id = "appActivityId", activationURL = "activationUrl", fallbackURL = "fallbackUrl"
        case contentURL = "contentUrl", contentType, contentInfo, visualElements, isRoamable, sessions = "historyItems"
    }

    /// Decodes the JSON form without checking its limits. Use ``init(json:)`` for JSON that others have written.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.id = try values.decode(String.self, forKey: .id)
        self.activationURL = try values.decode(URL.self, forKey: .activationURL)
        self.fallbackURL = try values.decodeIfPresent(URL.self, forKey: .fallbackURL)
        self.contentURL = try values.decodeIfPresent(URL.self, forKey: .contentURL)
        self.contentType = try values.decodeIfPresent(String.self, forKey: .contentType)
        self.contentInfo = try values.decodeIfPresent(ValueSet.self, forKey: .contentInfo)
        self.visualElements = try values.decode(VisualElements.self, forKey: .visualElements)
        self.isRoamable = try values.decodeIfPresent(Bool.self, forKey: .isRoamable) ?? true
        self.sessions = try values.decodeIfPresent([Session].self, forKey: .sessions) ?? []
    }

    // MARK: Sessions

    /// Begins a session. One that still lasts ends at the same time. Beyond ``maxSessions``, the oldest is dropped.
    ///
    /// - Parameter time: the beginning. Defaults to now.
    public mutating func beginSession(at time: Date = .now) {
        self.endSession(at: time)
        self.sessions.append(Session(start: time))
        if self.sessions.count > Self.maxSessions { self.sessions.removeFirst(self.sessions.count - Self.maxSessions) }
    }

    /// Ends the session that lasts. Has no effect if there is none.
    ///
    /// - Parameter time: the end. Before the beginning, the beginning counts. Defaults to now.
    public mutating func endSession(at time: Date = .now) {
        guard let last = self.sessions.indices.last, self.sessions[last].end == nil else { return }
        self.sessions[last].end = max(time, self.sessions[last].start)
    }

    // MARK: JSON

    /// Reads the JSON form. Unknown keys are ignored.
    ///
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` when the text is not an item, or too long.
    public init(json: String) throws {
        guard json.utf8.count <= Self.maxBytes else { throw Self.tooLong(json.utf8.count) }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        do {
            self = try decoder.decode(Self.self, from: Data(json.utf8))
        } catch {
            throw Self.invalid("The text is not an item of an activity feed.", error)
        }
        try self.check()
    }

    /// Returns the JSON form.
    ///
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` when a value is not valid, or the item is longer
    ///   than ``maxBytes``.
    public func json() throws -> String {
        try self.check()
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(self)
        guard bytes.count <= Self.maxBytes else { throw Self.tooLong(bytes.count) }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func check() throws {
        guard (1...1024).contains(self.id.utf8.count) else {
            throw Self.invalid("The id of an item of an activity feed has 1 to 1024 bytes.")
        }
        guard self.activationURL.scheme?.isEmpty == false else {
            throw Self.invalid("The activation address of an item of an activity feed has no scheme.")
        }
        guard !self.visualElements.displayText.isEmpty else {
            throw Self.invalid("An item of an activity feed has a display text.")
        }
        guard self.sessions.count <= Self.maxSessions else {
            throw Self.invalid("An item of an activity feed has at most \(Self.maxSessions) sessions.")
        }
    }

    private static func tooLong(_ bytes: Int) -> RemoteSystemError {
        Self.invalid("An item of an activity feed has at most \(Self.maxBytes) bytes as JSON; this one has \(bytes).")
    }

    private static func invalid(_ text: String, _ cause: (any Error)? = nil) -> RemoteSystemError {
        RemoteSystemError(.invalidArgument, text, side: .local, cause: cause)
    }

    // MARK: Hand-off

    /// The key of ``UserActivity/userInfo`` with the item, as JSON.
    public static let userInfoKey = "ActivityFeedItem"

    /// Reads the item of an activity.
    ///
    /// - Returns: `nil` for an activity without an item.
    /// - Throws: the errors of ``init(json:)``.
    public init?(_ activity: UserActivity) throws {
        guard let json = activity.userInfo[Self.userInfoKey]?.string else { return nil }
        self = try Self(json: json)
    }
}

extension UserActivity {
    /// Creates an activity from an item of Project Rome's activity feed.
    ///
    /// The display text becomes the title, the id the ``persistentIdentifier``, and a fallback address with `http` or
    /// `https` the ``webpageURL``. An item that is not roamable is not offered to other systems. The whole item is in
    /// ``userInfo``.
    ///
    /// - Parameters:
    ///   - type: the kind of activity, in reverse-DNS form.
    ///   - item: the item.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` when the item is not valid or too long.
    public convenience init(type: String, item: ActivityFeedItem) throws {
        self.init(type: type, title: item.visualElements.displayText)
        self.userInfo = [ActivityFeedItem.userInfoKey: .string(try item.json())]
        self.persistentIdentifier = item.id
        self.isEligibleForHandoff = item.isRoamable
        if let address = item.fallbackURL, ["http", "https"].contains(address.scheme?.lowercased()) {
            self.webpageURL = address
        }
    }
}
