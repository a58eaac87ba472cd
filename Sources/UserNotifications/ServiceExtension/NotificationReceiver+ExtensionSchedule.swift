// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import ValueSets

/// Notifications that extensions schedule for their applications.
extension NotificationReceiver {
    /// Handles a line of an extension with which it schedules a notification of its application.
    ///
    /// The caller waits for it before it reads the next line, so that an extension that writes without end is read as
    /// slowly as its notifications are stored.
    ///
    /// - Returns: whether it is such a line. The program has received the response then.
    func schedule(_ line: String, of program: any ExtensionProgram, _ application: String) async -> Bool {
        guard let message = ExtensionSchedule.request(in: line) else { return false }
        let result: Result<Date, NotificationError>
        do throws(NotificationError) {
            result = .success(try await self.schedule(message, byExtensionOf: application))
        } catch {
            result = .failure(error)
        }
        if let response = try? ExtensionSchedule.response(to: message["Id"]?.string ?? "", result) {
            program.send(response)
        }
        return true
    }

    private func schedule(
        _ message: ValueSet,
        byExtensionOf application: String
    ) async throws(NotificationError) -> Date {
        guard let systemID else {
            throw NotificationError(.notAuthorized, "The extensions of this system schedule no notifications.")
        }
        // As if the application had done it itself.
        let sender = NotificationSender(systemID: systemID, application: application, isLocal: true)
        try self.checkPermission(of: sender)
        var message = message
        if message["Files"] != nil {
            var (content, attachments) = try ServiceExtensionMessage.readContent(message)
            for attachment in attachments {
                content.attachments.append(try await self.takeOver(attachment, NotificationContent(), of: sender))
            }
            message["Content"] = .dictionary(content.valueSet)
        }
        let notification = try RemoteNotification(local: message)
        if let category = self.unknownCategory(of: notification, sender) {
            throw NotificationError(
                .categoryUnknown,
                "The category '\(category)' was not sent along, and the application has no view for it here.",
                field: "Content.Category"
            )
        }
        return try await self.schedule(notification, by: sender)
    }
}
