// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Shows notifications to the user of this system: a desktop's notification server, a portal, a terminal.
public protocol NotificationPresenter: Sendable {
    /// What the presenter can show. Changes when another server starts.
    var capabilities: NotificationPresenterCapabilities { get async }

    /// What the user does with the notifications. For one reader.
    var events: AsyncStream<NotificationPresenterEvent> { get }

    /// Shows a notification, in place of the one with the same identifier.
    ///
    /// What the presenter cannot show is left out: buttons, images, sounds. The texts are always shown.
    ///
    /// - Parameter notification: The notification.
    /// - Throws: ``NotificationError`` with `notShown`.
    func show(_ notification: PresentedNotification) async throws

    /// Removes a notification from the screen. Does nothing if it is not shown.
    ///
    /// Reports no event.
    ///
    /// - Parameter identifier: The ``PresentedNotification/identifier``.
    func close(_ identifier: String) async
}

/// A presenter whose notifications remain after the process has ended unexpectedly.
package protocol PlacedNotificationPresenter: NotificationPresenter {
    /// The identifiers of the notifications on the screen, by their places. All of them after each change, with those
    /// that are being closed. For one reader.
    var places: AsyncStream<[String: String]> { get }

    /// Those of some notifications, in the order of their arrival, that are shown at the same time.
    func shownTogether(of notifications: [PresentedNotification]) -> [PresentedNotification]

    /// States what an earlier process has left on the screen, as ``places`` did. A notification that is shown again
    /// appears at its place, and the others are closed. Called before the first is shown.
    func adopt(_ places: [String: String])
}

/// A notification as a presenter shows it.
public struct PresentedNotification: Sendable, Hashable {
    /// The identifier, unique among all senders.
    public var identifier: String
    /// The texts, and how they are shown.
    public var content: NotificationContent
    /// The category, with the actions; `nil` for none.
    public var category: NotificationCategory?
    /// The name of the application that sent it.
    public var applicationName: String
    /// Whether the command of this SDK has sent it, without a name. Only the system is shown as the sender then.
    package var isOfCommand: Bool
    /// The id of the application's desktop entry, without `.desktop`; `nil` if it has none.
    public var desktopEntry: String?
    /// The name of the system that sent it, which the presenter must show; `nil` for this system.
    public var systemName: String?
    /// The id of the system that sent it; `nil` for this system. Names are not unique.
    public var systemID: String?
    /// What limits are counted for: the system, or the linked account of all its systems. `nil` for this system, or if
    /// it is not known.
    package var quotaHolder: String?
    /// Whether no sound may be made, because another system of the user makes it. Defaults to `false`.
    public var isSilenced: Bool
    /// The absolute path of a verified local sound file, in place of the sound of the content; `nil` for none. Defaults
    /// to `nil`.
    public var soundPath: String?
    /// The absolute paths of verified local image files. Defaults to empty.
    public var imagePaths: [String]

    /// Creates a notification for a presenter.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique among all senders.
    ///   - content: The texts, and how they are shown.
    ///   - category: The category, with the actions. Defaults to `nil`: no actions.
    ///   - applicationName: The name of the application that sent it.
    ///   - systemName: The name of the system that sent it. Defaults to `nil`: this system.
    public init(
        identifier: String,
        content: NotificationContent,
        category: NotificationCategory? = nil,
        applicationName: String,
        systemName: String? = nil
    ) {
        self.identifier = identifier
        self.content = content
        self.category = category
        self.applicationName = applicationName
        self.isOfCommand = false
        self.desktopEntry = nil
        self.systemName = systemName
        self.systemID = nil
        self.quotaHolder = nil
        self.isSilenced = false
        self.soundPath = nil
        self.imagePaths = []
    }
}

/// An event that a presenter reports.
public enum NotificationPresenterEvent: Sendable, Hashable {
    /// The user chose an action.
    ///
    /// - Parameters:
    ///   - identifier: The ``PresentedNotification/identifier``.
    ///   - action: The action; `default` for the notification itself.
    ///   - text: The text that the user entered; `nil` if the action has no field for text.
    ///   - activationToken: The token with which a window may be raised; `nil` if the server sent none.
    case activated(
        identifier: String,
        action: NotificationActionIdentifier,
        text: String? = nil,
        activationToken: String? = nil
    )
    /// The notification is no longer shown. Follows `activated` as well.
    case closed(identifier: String, reason: NotificationClosedReason)
}

/// Why a notification is no longer shown.
public enum NotificationClosedReason: String, Sendable, Hashable, CaseIterable {
    /// Its time was over. It stays in the list of delivered notifications.
    case expired
    /// The user dismissed it.
    case dismissed
    /// It was closed with a call, or replaced.
    case withdrawn
    /// The server ended, or gave no reason.
    case undefined
}

/// The capabilities of a presenter.
public struct NotificationPresenterCapabilities: OptionSet, Sendable, Hashable {
    /// The capabilities as a number.
    public var rawValue: Int
    /// Creates capabilities from their number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Buttons for actions.
    public static let actions = NotificationPresenterCapabilities(rawValue: 1)
    /// A field in which the user enters text.
    public static let textInput = NotificationPresenterCapabilities(rawValue: 2)
    /// A text below the title.
    public static let body = NotificationPresenterCapabilities(rawValue: 4)
    /// Images.
    public static let images = NotificationPresenterCapabilities(rawValue: 8)
    /// Sounds.
    public static let sound = NotificationPresenterCapabilities(rawValue: 16)
    /// A list that keeps notifications after their banner.
    public static let persistence = NotificationPresenterCapabilities(rawValue: 32)
    /// Reports that the user dismissed a notification.
    public static let dismissal = NotificationPresenterCapabilities(rawValue: 64)
}
