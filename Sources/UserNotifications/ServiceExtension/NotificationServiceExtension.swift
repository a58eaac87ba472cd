// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Changes the notifications of other systems before the user of this one sees them, in a process of its own.
///
/// ```swift
/// @main
/// struct Decryption: NotificationServiceExtension {
///     func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
///         var content = request.content
///         content.body = try decrypt(content.userInfo)
///         return content
///     }
/// }
/// ```
///
/// An application's manifest names the program with the key `notificationServiceExtension` (`Docs/host-daemon.md`). The
/// host daemon starts it for each notification for the application that has a text, that is
/// ``RemoteNotification/isMutable``, and that comes from another system of the same account. It handles this one
/// notification and ends. What it prints goes to standard error, which is that of the daemon.
///
/// The notification is shown as it was sent if the extension throws, crashes, uses more memory or time than it may, or
/// returns content without a text.
public protocol NotificationServiceExtension: Sendable {
    /// Creates the extension.
    init()

    /// Changes the content of a notification.
    ///
    /// The extension has 30 s from the arrival of the notification, which includes the time for which it waits for
    /// earlier ones of the same system. The category, and with it the actions, stays that of the sender.
    ///
    /// - Parameter request: The notification. Its attachments are read only.
    /// - Returns: The content to show. Files of further attachments are best kept in the directory `TMPDIR`, which is
    ///   removed afterwards.
    /// - Throws: Any error. Its description goes to standard error, and the original content is shown.
    func didReceive(_ request: NotificationRequest) async throws -> NotificationContent

    /// Changes the content of a notification, and does more for its application.
    ///
    /// The default implementation calls ``didReceive(_:)``. An extension implements one of the two.
    ///
    /// - Parameters:
    ///   - request: The notification. Its attachments are read only.
    ///   - context: With which the extension schedules notifications of its application.
    /// - Returns: The content to show.
    /// - Throws: Any error. Its description goes to standard error, and the original content is shown.
    func didReceive(
        _ request: NotificationRequest,
        _ context: NotificationServiceContext
    ) async throws -> NotificationContent

    /// The time is almost over: the process is ended in 5 s. Called while ``didReceive(_:)`` runs.
    ///
    /// - Returns: The content to show now, as far as it is ready; `nil` to wait for ``didReceive(_:)``. The default
    ///   implementation returns `nil`.
    func serviceExtensionTimeWillExpire() async -> NotificationContent?
}

extension NotificationServiceExtension {
    /// The default implementation, which changes nothing.
    public func didReceive(_ request: NotificationRequest) async throws -> NotificationContent { request.content }

    /// The default implementation, which needs no context.
    public func didReceive(
        _ request: NotificationRequest,
        _ context: NotificationServiceContext
    ) async throws -> NotificationContent {
        try await self.didReceive(request)
    }

    /// The default implementation, which returns `nil`.
    public func serviceExtensionTimeWillExpire() async -> NotificationContent? { nil }

    /// Handles the notification for which the host daemon has started this process, and ends it.
    @concurrent
    public static func main() async {
        await ServiceExtensionMain.run(Self())
    }
}
