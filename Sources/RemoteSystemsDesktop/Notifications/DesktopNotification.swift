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
        /// Whether the user types a text. At most one action of a notification does. Servers without text fields leave
        /// the action out.
        package var takesText: Bool

        package init(key: String, label: String, takesText: Bool = false) {
            self.key = key
            self.label = label
            self.takesText = takesText
        }
    }

    /// How urgent it is.
    package enum Urgency: UInt8, Sendable, Hashable {
        case low, normal, critical
    }

    /// The text field of the action that takes a text.
    package struct TextField: Sendable, Hashable {
        /// What the empty field shows.
        package var placeholder: String
        /// What the button shows that sends the text.
        package var button: String
    }

    /// Identifies the notification. One with the same key replaces it.
    package var key: String
    /// A single line.
    package var summary: String
    /// The text below. Characters that a server would read as markup are escaped.
    package var body: String
    package var actions: [Action]
    /// How urgent it is. One of low urgency does not cover other programs.
    package var urgency: Urgency
    /// Whether it makes no sound.
    package var isSilent: Bool
    /// The sound of the freedesktop sound theme; `nil` for the server's own choice.
    package var soundName: String?
    /// The absolute path of a sound file, which counts before the name; `nil` for none.
    package var soundPath: String?
    /// Whether it stays until it is closed, also after an action.
    package var isResident: Bool
    /// The text field of the action that takes a text; `nil` if none does.
    package var textField: TextField?
    /// The absolute path of an image of a bounded size; `nil` for none.
    package var imagePath: String?
    /// The icon of the icon theme that is shown without an image; `nil` for none.
    package var iconName: String?
    /// The id of the desktop entry of the sender, for its icon and the server's settings; `nil` for another system's.
    package var desktopEntry: String?
    /// The sender. It is the last line, and part of the summary where the server shows no body.
    package var source: String?
    /// How the user can respond where the server cannot show every action. It is added to the body then.
    package var fallback: String?

    package init(
        key: String,
        summary: String,
        body: String = "",
        actions: [Action] = [],
        urgency: Urgency = .low,
        isSilent: Bool = true,
        isResident: Bool = true
    ) {
        self.key = key
        self.summary = summary
        self.body = body
        self.actions = actions
        self.urgency = urgency
        self.isSilent = isSilent
        self.isResident = isResident
    }
}

/// Where a notification is shown: a server, and the number that the server gave it.
package struct DesktopNotificationPlace: Sendable, Hashable, Codable {
    /// The unique name of the server on its bus, and the id of the bus. Another bus gives the same names.
    package var server: String
    package var id: UInt32

    package init(server: String, id: UInt32) {
        self.server = server
        self.id = id
    }
}

/// What the user, or the desktop, does with notifications.
///
/// Each event has the content that the server shows. A newer one with the same key may be wanted by then: what the user
/// does with the older text does not mean the newer one.
package enum DesktopNotificationEvent: Sendable, Hashable {
    /// The server shows the notification.
    case shown(DesktopNotification, place: DesktopNotificationPlace)
    /// The server shows nothing at a place any more. Not reported when the server or this process ends.
    case removed(DesktopNotificationPlace)
    /// The server was asked to show the notification, and did not. It is tried again when something changes.
    case notShown(DesktopNotification, reason: String)
    /// The user has chosen an action of a notification.
    ///
    /// - Parameter token: with which a program may raise its window; `nil` if the server gave none.
    case activated(DesktopNotification, action: String, token: String? = nil)
    /// The user has typed a text for an action of a notification.
    case replied(DesktopNotification, action: String, text: String)
    /// The server does not show the notification any more. It is not shown again unless its content changes.
    ///
    /// - Parameter byUser: whether the user has closed it. Otherwise, its time is over.
    case closed(DesktopNotification, byUser: Bool)
    /// The session was locked or unlocked. A lock that does not respond counts as locked. Reported before anything is
    /// shown.
    case locked(Bool)
}
