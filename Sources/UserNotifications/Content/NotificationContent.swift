// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

/// The texts of a notification, and how it is shown.
///
/// A value type: change a copy and use it in a request.
///
/// ```swift
/// var content = NotificationContent(title: "Deploy?", body: "Build 1284 has passed all tests.")
/// content.categoryIdentifier = "deployment"
/// content.userInfo = ["build": 1284]
/// ```
public struct NotificationContent: Sendable, Hashable {
    /// The first line. Defaults to empty. Valid length: 0–512 bytes.
    ///
    /// Control characters are kept here, and replaced by spaces where the notification is shown.
    public var title: String
    /// The line below the title; where there is none, the first line of the body. Defaults to empty. Valid range: 0–512
    /// bytes.
    public var subtitle: String
    /// The text. Plain text: characters that a server would read as markup are escaped. Defaults to empty. Valid range:
    /// 0–8192 bytes.
    public var body: String
    /// The sound; `nil` for none. Defaults to `nil`.
    public var sound: NotificationSound?
    /// The number at the application's icon; 0 removes it, `nil` does not change it. Defaults to `nil`. Valid range:
    /// 0–999 999.
    public var badge: Int?
    /// Further values for the application. Defaults to empty. Valid range: at most 16 384 encoded bytes.
    public var userInfo: ValueSet
    /// The notifications of one thread are together in lists (`remotesystems notifications list` and `history`). A
    /// desktop shows them in its own order. Defaults to `nil`.
    public var threadIdentifier: String?
    /// The category that defines the actions. Defaults to `nil`: no actions.
    public var categoryIdentifier: String?
    /// How much the notification may interrupt the user. Defaults to `active`.
    public var interruptionLevel: NotificationInterruptionLevel
    /// The order in a thread; the greatest first. Defaults to 0. Valid range: 0–1.
    public var relevanceScore: Double
    /// The window or document that the application opens for the notification. Its responses have it. Defaults to
    /// `nil`.
    public var targetContentIdentifier: String?
    /// The value that the user selects with `--filter` of `remotesystems notifications list`, `watch` and `history`.
    /// Defaults to `nil`.
    public var filterCriteria: String?
    /// Images, sounds and videos, with different identifiers. The first image, or poster of a sound or a video, that is
    /// not hidden is shown. Defaults to empty. Valid range: at most ``NotificationLimits/attachments``.
    public var attachments: [NotificationAttachment]

    /// Creates content.
    ///
    /// - Parameters:
    ///   - title: The first line.
    ///   - subtitle: The line below the title. Defaults to empty.
    ///   - body: The text. Defaults to empty.
    ///   - sound: The sound. Defaults to `nil`: none.
    ///   - categoryIdentifier: The category that defines the actions. Defaults to `nil`.
    ///   - userInfo: Further values for the application. Defaults to empty.
    public init(
        title: String = "",
        subtitle: String = "",
        body: String = "",
        sound: NotificationSound? = nil,
        categoryIdentifier: String? = nil,
        userInfo: ValueSet = [:]
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.sound = sound
        self.badge = nil
        self.userInfo = userInfo
        self.threadIdentifier = nil
        self.categoryIdentifier = categoryIdentifier
        self.interruptionLevel = .active
        self.relevanceScore = 0
        self.targetContentIdentifier = nil
        self.filterCriteria = nil
        self.attachments = []
    }

    /// Whether the user sees something: a title, a subtitle or a body.
    public var hasAlert: Bool { !(self.title.isEmpty && self.subtitle.isEmpty && self.body.isEmpty) }

    /// Checks every field against its limit.
    ///
    /// - Throws: ``NotificationError`` that names the field.
    public func validate() throws(NotificationError) {
        try FieldCheck.text(self.title, "title", max: NotificationLimits.titleBytes)
        try FieldCheck.text(self.subtitle, "subtitle", max: NotificationLimits.titleBytes)
        try FieldCheck.text(self.body, "body", max: NotificationLimits.bodyBytes)
        if let sound { try FieldCheck.identifier(sound.name, "sound") }
        if let badge, !(0...NotificationLimits.badge).contains(badge) {
            throw NotificationError(
                .limitExceeded,
                "The badge must be from 0 to \(NotificationLimits.badge).",
                field: "badge"
            )
        }
        guard (0...1).contains(self.relevanceScore) else {
            throw NotificationError(
                .limitExceeded,
                "The relevance score must be from 0 to 1.",
                field: "relevanceScore"
            )
        }
        for (name, text) in self.identifiers { if let text { try FieldCheck.identifier(text, name) } }
        try FieldCheck.size(
            of: self.userInfo,
            "userInfo",
            max: NotificationLimits.userInfoBytes,
            depth: NotificationLimits.userInfoDepth
        )
        try FieldCheck.count(self.attachments.count, "attachments", max: NotificationLimits.attachments)
        guard Set(self.attachments.map(\.identifier)).count == self.attachments.count else {
            throw NotificationError(
                .attachmentInvalid,
                "Two attachments of the notification have the same identifier.",
                field: "attachments"
            )
        }
    }

    private var identifiers: [(String, String?)] {
        [
            ("threadIdentifier", self.threadIdentifier), ("categoryIdentifier", self.categoryIdentifier),
            ("targetContentIdentifier", self.targetContentIdentifier), ("filterCriteria", self.filterCriteria),
        ]
    }
}
