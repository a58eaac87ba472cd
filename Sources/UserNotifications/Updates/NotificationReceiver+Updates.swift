// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsTransport

/// Notifications with which an application of this system updates its content. It is started if it does not run.
extension NotificationReceiver {
    /// The time for an application to start and to connect.
    static let startTime = Duration.seconds(20)

    /// The number of updates that are handled now.
    var updates: Int { self.updateLimiter.count }

    /// Passes a notification on to the application that it concerns, and waits for its end.
    ///
    /// The sender waits, too, and learns what became of it. So nothing has to be stored.
    func update(
        _ notification: RemoteNotification,
        of sender: NotificationSender
    ) async throws(NotificationError) -> NotificationDelivery {
        guard sender.may(.contentUpdate) else {
            return NotificationDelivery(.withheld, reason: "Only systems of the same account start applications.")
        }
        let holder = sender.quotaHolder
        guard self.updateLimiter.enter(holder) else {
            throw NotificationError(.rateLimited, "Too many updates wait for applications. Try again in a moment.")
        }
        defer { self.updateLimiter.leave(holder) }
        let application = notification.application(of: sender)
        guard let connection = await self.connection(of: application) else {
            return NotificationDelivery(
                .withheld,
                reason: "The application '\(application)' is not installed, or it does not receive updates."
            )
        }
        var request = notification.request
        // They are for the eyes of the user.
        request.content.attachments = []
        let update = ContentUpdate(
            request: request,
            systemID: sender.systemID,
            claimedApplicationID: sender.application
        )
        let response = try? await connection.send(NotificationMessage.update(update), timeout: Self.responseTime)
        guard response?.status != .success else { return NotificationDelivery(.handled) }
        return NotificationDelivery(
            .withheld,
            reason: response?.error?.message ?? "The application has ended before it had updated its content."
        )
    }

    /// Updates the content of an application whose notification the user also sees. Only the log has its failure.
    func updateBeside(_ notification: RemoteNotification, of sender: NotificationSender) {
        _ = self.clock.task {
            var reason: String?
            do throws(NotificationError) {
                reason = try await self.update(notification, of: sender).reason
            } catch {
                reason = "\(error)"
            }
            guard let reason else { return }
            self.logger.info(
                "The content of an application was not updated",
                metadata: [
                    "application": "\(notification.application(of: sender))", "reason": "\(reason)",
                ]
            )
        }
    }

    /// The connection of an application of this system, which is started if it does not run.
    private func connection(of application: String) async -> AppServiceConnection? {
        if let present = self.presentConnection(of: application) { return present }
        guard let wake else { return nil }
        let (connected, id) = self.applications.add()
        defer { self.applications.finish(id) }
        guard await wake(application) else { return nil }
        // As for responses: one that has just crashed may count as running, and then nothing was started.
        let startingAgain = self.clock.task(at: self.clock.now + Self.connectTime) { _ = await wake(application) }
        defer { startingAgain.cancel() }
        return await self.clock.first(within: Self.startTime) {
            if let present = await self.presentConnection(of: application) { return present }
            for await started in connected where started == application {
                if let present = await self.presentConnection(of: application) { return present }
            }
            return nil
        } ?? nil
    }

    private func presentConnection(of application: String) -> AppServiceConnection? {
        let connection = self.routing.link(ofApplication: application).flatMap { self.connections[$0] }
        // The end of a connection is noticed here a moment later.
        return connection?.info == nil ? nil : connection
    }
}
