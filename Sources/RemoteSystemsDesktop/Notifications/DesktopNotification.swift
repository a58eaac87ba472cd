// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A notification on the user's desktop (Desktop Notifications Specification 1.3).
package struct DesktopNotification: Sendable, Hashable {
    /// A button, or a click on the notification itself.
    package struct Action: Sendable, Hashable {
        /// The key of a click on the notification itself.
        package static let click = "default"

        /// Identifies the action in its notification.
        package var key: String
        /// What the button shows.
        package var label: String

        package init(key: String, label: String) {
            self.key = key
            self.label = label
        }
    }

    /// Identifies the notification. One with the same key replaces it.
    package var key: String
    /// A single line.
    package var summary: String
    /// The text below. Characters that a server would read as markup are escaped.
    package var body: String
    package var actions: [Action]
    /// Whether it makes no sound and does not cover other programs.
    package var isQuiet: Bool
    /// Whether it stays until it is closed, also after an action.
    package var isResident: Bool

    package init(
        key: String,
        summary: String,
        body: String = "",
        actions: [Action] = [],
        isQuiet: Bool = true,
        isResident: Bool = true
    ) {
        self.key = key
        self.summary = summary
        self.body = body
        self.actions = actions
        self.isQuiet = isQuiet
        self.isResident = isResident
    }
}

/// What the user, or the desktop, does with notifications.
package enum DesktopNotificationEvent: Sendable, Hashable {
    /// The user has chosen an action of a notification.
    case activated(key: String, action: String)
    /// The user has closed the notification, or it has expired.
    case dismissed(key: String)
    /// The session was locked or unlocked. A session without a screen lock reports nothing.
    case locked(Bool)
}
