// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import UserNotificationsUI

/// Shows a custom view when the user opens a notification, in a process of its own.
///
/// ```swift
/// @main
/// struct Invitations: NotificationContentExtension {
///     func didReceive(
///         _ notification: DeliveredNotification,
///         _ context: NotificationCardContext
///     ) async throws -> NotificationCard {
///         NotificationCard(elements: [.text(notification.request.content.title, style: .heading)])
///     }
/// }
/// ```
///
/// An application's manifest names the program and the categories with the key `notificationContentExtensions`
/// (`Docs/host-daemon.md`). Desktops show notifications of these categories with a button that opens the view. The host
/// daemon starts the program then, and ends it when the view is closed. What the program prints goes to the daemon's
/// log.
///
/// Without a desktop, or if the extension fails, the notification has its texts and actions only.
public protocol NotificationContentExtension: Sendable {
    /// Creates the extension. Lengthy work belongs to ``prepare()``.
    init()

    /// Prepares the extension before the first call. The default implementation does nothing.
    func prepare() async throws

    /// The user has opened a notification.
    ///
    /// - Parameters:
    ///   - notification: The notification. Its attachments are read only.
    ///   - context: With which the view can change at any time.
    /// - Returns: The view.
    /// - Throws: Any error. The view is closed then, and the notification stays.
    func didReceive(
        _ notification: DeliveredNotification,
        _ context: NotificationCardContext
    ) async throws -> NotificationCard

    /// The user has chosen an action below the view. The extension must handle all custom actions of its categories.
    ///
    /// The default implementation returns ``ContentExtensionResponseOption/dismissAndForwardAction``.
    ///
    /// - Parameters:
    ///   - response: The action, the text that was entered, and the values of the controls.
    ///   - context: With which the view can change, to show the effect.
    /// - Returns: What becomes of the notification. It is awaited for 30 s; after that, and after an error, the action
    ///   is forwarded to the application.
    func didReceive(
        _ response: NotificationCardResponse,
        _ context: NotificationCardContext
    ) async throws -> ContentExtensionResponseOption

    /// The user has used a control of the view. The default implementation does nothing.
    func didChange(_ change: NotificationCardChange, _ context: NotificationCardContext) async throws
}

extension NotificationContentExtension {
    /// The default implementation, which does nothing.
    public func prepare() async throws {}

    /// The default implementation, which forwards every action.
    public func didReceive(
        _ response: NotificationCardResponse,
        _ context: NotificationCardContext
    ) async throws -> ContentExtensionResponseOption {
        .dismissAndForwardAction
    }

    /// The default implementation, which does nothing.
    public func didChange(_ change: NotificationCardChange, _ context: NotificationCardContext) async throws {}

    /// Serves the view for which the host daemon has started this process, and ends it.
    @concurrent
    public static func main() async {
        await ContentExtensionMain.run(Self())
    }
}
