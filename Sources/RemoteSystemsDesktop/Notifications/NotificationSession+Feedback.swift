// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Synchronization

/// The vibration of a phone or a watch for a notification with a sound, by the session's feedback service (feedbackd).
extension NotificationSession {
    private static let (service, path) = ("org.sigxcpu.Feedback", "/org/sigxcpu/Feedback")
    /// An application that has no desktop entry on this system.
    private static let application = "org.remotesystems.Notifications"
    /// The time for the bus to start the service, and for the service to respond.
    private static let feedbackTime = Duration.seconds(5)

    /// Asks the feedback service for what is felt beside the sound of a notification that makes its sound now.
    func giveFeedback(for notification: DesktopNotification) {
        let givesItself = self.state.withLock { $0.abilities?.givesFeedback } == true
        guard !givesItself else { return }
        let call = MessageBus.Call(
            destination: Self.service,
            path: Self.path,
            interface: Self.service,
            method: "TriggerFeedback",
            arguments: [
                .string(notification.desktopEntry ?? Self.application),
                .string(notification.soundName ?? "notification-new-generic"),
                // The server makes the sound.
                .hints([("profile", .string("quiet"))]),
                // The natural length, once.
                .int32(-1),
            ]
        )
        self.loop.post { [weak self] connection in
            // Most desktops have no such service.
            unsafe self?.loop.send(call, over: connection.pointer, timeout: Self.feedbackTime) { _ in }
        }
    }
}
