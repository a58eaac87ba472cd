// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A kind of notification: its actions, and how it is shown.
///
/// Set categories before notifications that name them are added.
public struct NotificationCategory: Sendable, Hashable {
    /// How the notifications of a category behave.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The options as a number.
        public var rawValue: Int
        /// Creates options from their number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The application receives ``NotificationActionIdentifier/dismiss`` when the user dismisses a notification.
        public static let customDismissAction = Options(rawValue: 1)
        /// Stored for other platforms. Without effect on this one.
        public static let allowInCarPlay = Options(rawValue: 2)
        /// The title is shown also where previews are hidden.
        public static let hiddenPreviewsShowTitle = Options(rawValue: 4)
        /// The subtitle is shown also where previews are hidden.
        public static let hiddenPreviewsShowSubtitle = Options(rawValue: 8)
        /// Stored for other platforms. Without effect on this one.
        public static let allowAnnouncement = Options(rawValue: 16)

        static let all: Options = [
            .customDismissAction, .allowInCarPlay, .hiddenPreviewsShowTitle, .hiddenPreviewsShowSubtitle,
            .allowAnnouncement,
        ]
    }

    /// The identifier, unique in the application. Valid length: 1–128 bytes.
    public var identifier: String
    /// The actions in the order in which they are shown. Valid range: at most 10.
    public var actions: [NotificationAction]
    /// Stored for other platforms. Defaults to empty. Valid range: at most 16.
    public var intentIdentifiers: [String]
    /// How the notifications behave. Defaults to none.
    public var options: Options
    /// The body where previews are hidden, such as on a lock screen; `nil` for a general text. Defaults to `nil`.
    public var hiddenPreviewsBodyPlaceholder: String?
    /// The text for a group of notifications; `%u` is their number. Defaults to `nil`.
    public var summaryFormat: String?

    /// Creates a category.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique in the application.
    ///   - actions: The actions in the order in which they are shown. Defaults to empty.
    ///   - intentIdentifiers: Stored for other platforms. Defaults to empty.
    ///   - options: How the notifications behave. Defaults to none.
    public init(
        identifier: String,
        actions: [NotificationAction] = [],
        intentIdentifiers: [String] = [],
        options: Options = []
    ) {
        self.identifier = identifier
        self.actions = actions
        self.intentIdentifiers = intentIdentifiers
        self.options = options
        self.hiddenPreviewsBodyPlaceholder = nil
        self.summaryFormat = nil
    }

    /// Checks every field against its limit.
    ///
    /// - Throws: ``NotificationError`` that names the field.
    public func validate() throws(NotificationError) {
        try FieldCheck.identifier(self.identifier, "identifier")
        try FieldCheck.count(self.actions.count, "actions", max: NotificationLimits.actions)
        var identifiers: Set<NotificationActionIdentifier> = []
        for (index, action) in self.actions.enumerated() {
            do throws(NotificationError) {
                try action.validate()
            } catch {
                throw error.inside("actions[\(index)]")
            }
            guard identifiers.insert(action.identifier).inserted else {
                throw NotificationError(
                    .invalidContent,
                    "Another action has the same identifier.",
                    field: "actions[\(index)].identifier"
                )
            }
        }
        try FieldCheck.count(
            self.intentIdentifiers.count,
            "intentIdentifiers",
            max: NotificationLimits.intentIdentifiers
        )
        for (index, intent) in self.intentIdentifiers.enumerated() {
            try FieldCheck.identifier(intent, "intentIdentifiers[\(index)]")
        }
        let texts = [
            ("hiddenPreviewsBodyPlaceholder", self.hiddenPreviewsBodyPlaceholder),
            ("summaryFormat", self.summaryFormat),
        ]
        for (field, text) in texts {
            if let text { try FieldCheck.text(text, field, max: NotificationLimits.titleBytes) }
        }
    }
}
