// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing

@testable import UserNotifications

/// Which notifications have a sound file of an application.
@Suite struct ApplicationSoundTests {
    private struct Sounds: ApplicationSounds {
        func path(of name: String, _ application: String) async -> String? {
            application == "calendar" ? "/sounds/\(name)" : nil
        }
    }

    @Test(
        arguments: [
            (NotificationSound.named("chime.oga"), "calendar", true, "/sounds/chime.oga"),
            (.standard, "calendar", true, nil), (.named("chime.oga"), "other", true, nil),
            (.named("chime.oga"), "calendar", false, nil),
        ] as [(NotificationSound, String, Bool, String?)]
    )
    func `a notification of this system has the sound file of its application (N-05, X-74)`(
        sound: NotificationSound,
        application: String,
        isLocal: Bool,
        path: String?
    ) async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await StagedNotificationDaemon(stage, StepStore())
            await daemon.receiver.setSounds(Sounds())
            var notification = RemoteNotification(
                NotificationRequest(
                    identifier: "n",
                    content: NotificationContent(title: "Tea", sound: sound),
                    trigger: .timeInterval(.seconds(1), repeats: false)
                )
            )
            notification.applicationName = "Calendar"
            _ = try await daemon.receiver.schedule(
                NotificationMessage.schedule(notification),
                by: NotificationSender(systemID: "s", application: application, isLocal: isLocal)
            )
            try await stage.clock.advance(by: .seconds(2))
            try await stage.eventually("it is shown") { !daemon.screen.shown.isEmpty }
            #expect(daemon.screen.shown.first?.soundPath == path)
            daemon.crash()
        }
    }

    /// A disk that does not respond.
    private struct Hanging: ApplicationSounds {
        func path(of name: String, _ application: String) async -> String? {
            let (never, feed) = AsyncStream.makeStream(of: Void.self)
            for await _ in never {}
            feed.finish()
            return "/sounds/\(name)"
        }
    }

    @Test func `a sound file that is not found within 0.5 s delays a notification no longer`() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await StagedNotificationDaemon(stage, StepStore())
            await daemon.receiver.setSounds(Hanging())
            let notification = RemoteNotification(
                NotificationRequest(
                    identifier: "n",
                    content: NotificationContent(title: "Tea", sound: .named("chime.oga")),
                    trigger: .timeInterval(.seconds(1), repeats: false)
                )
            )
            _ = try await daemon.receiver.schedule(
                NotificationMessage.schedule(notification),
                by: NotificationSender(systemID: "s", application: "calendar", isLocal: true)
            )
            try await stage.clock.advance(by: .seconds(2))
            try await stage.clock.advance(by: .milliseconds(600))
            try await stage.eventually("it is shown") { !daemon.screen.shown.isEmpty }
            #expect(daemon.screen.shown.first?.soundPath == nil)
            daemon.crash()
        }
    }

    @Test func `a program of another system gets no sound file of the application for which it sends`() async throws {
        try await ReceivingSystem.with { receiving in
            await receiving.receiver.setSounds(Sounds())
            let connection = try await receiving.connect()
            var notification = ReceivingSystem.question()
            notification.targetApplicationID = "calendar"
            notification.request.content.sound = .named("chime.oga")
            #expect(try await connection.deliver(notification).status == .shown)
            let shown = try #require(receiving.screen.shown.first)
            #expect(shown.content.sound == .named("chime.oga") && shown.soundPath == nil)
            await connection.close()
        }
    }
}
