// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The operations of a service extension besides changing the content of a notification.
public struct NotificationServiceContext: Sendable {
    let scheduler: ExtensionScheduler

    /// Schedules a notification of the extension's application, which this system delivers also after the extension has
    /// ended.
    ///
    /// It replaces one of the application with the same identifier, and counts for the application: the user's
    /// permission and ``NotificationLimits/pendingRequests`` are those of the application, whose
    /// ``UserNotificationCenter`` lists and removes it. Responses go to the application.
    ///
    /// - Parameters:
    ///   - request: The notification, with a trigger.
    ///   - category: The category that its content names, with the actions. Defaults to `nil`: none.
    ///   - applicationName: The name of the application as the user sees it. Defaults to `nil`: its id.
    /// - Returns: The date of the delivery; `nil` for one that waits for a region. It has been stored.
    /// - Throws: ``NotificationError`` that says why it is not scheduled.
    @discardableResult
    public func schedule(
        _ request: NotificationRequest,
        category: NotificationCategory? = nil,
        applicationName: String? = nil
    ) async throws -> Date? {
        try await self.scheduler.schedule(request, category, applicationName)
    }
}
