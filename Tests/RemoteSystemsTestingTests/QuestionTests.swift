// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing
import UserNotifications

/// Tests of questions to several systems as the developer of an application writes them: with the public API.
@Suite struct QuestionTests {
    private static var question: RemoteNotification {
        var question = RemoteNotification(
            NotificationRequest(
                identifier: "deploy",
                content: NotificationContent(title: "Deploy?", categoryIdentifier: "deploy")
            ),
            category: NotificationCategory(
                identifier: "deploy",
                actions: [NotificationAction(identifier: "yes", title: "Deploy")]
            )
        )
        question.isShared = true
        return question
    }

    @Test func `what I ask here is answered on my desktop, and gone from my phone (N-11, X-40)`() async throws {
        try await DiscoveryStage.with { stage in
            let (desktop, phone) = (StagedNotificationPresenter(), StagedNotificationPresenter())
            let systems = [
                try stage.system("Desktop", applications: [.hostDaemon(showingNotificationsOn: desktop)]),
                try stage.system("Phone", applications: [.hostDaemon(showingNotificationsOn: phone)]),
            ]
            var connections: [RemoteNotificationConnection] = []
            let question = Self.question
            for system in systems {
                try await stage.appears(system)
                let connection = try await system.notifications(of: stage)
                let delivery = try await connection.deliver(question)
                #expect(delivery.status == .shown)
                connections.append(connection)
            }
            desktop.choose("yes", on: try #require(desktop.shown.first).identifier)

            var responses = connections[0].responses.makeAsyncIterator()
            let response = try #require(await responses.next())
            #expect(response.requestIdentifier == "deploy" && response.actionIdentifier == "yes")
            #expect(response.systemID == "\(systems[0].id)")
            try await stage.eventually("the question is gone from both") {
                desktop.shown.isEmpty && phone.shown.isEmpty
            }
        }
    }

    @Test(arguments: [true, false])
    func `a system that was away shows what waits, and not what was answered meanwhile (N-07, X-40)`(
        isAnswered: Bool
    ) async throws {
        try await DiscoveryStage.with { stage in
            let (desktop, phone) = (StagedNotificationPresenter(), StagedNotificationPresenter())
            let systems = [
                try stage.system("Desktop", applications: [.hostDaemon(showingNotificationsOn: desktop)]),
                try stage.system("Phone", applications: [.hostDaemon(showingNotificationsOn: phone)]),
            ]
            let question = Self.question
            for system in systems {
                try await stage.appears(system)
                _ = try await system.notifications(of: stage).deliver(question)
            }
            try await stage.vanishes(systems[1], .crash)
            try await stage.eventually("its screen is empty") { phone.shown.isEmpty }
            if isAnswered { desktop.choose("yes", on: try #require(desktop.shown.first).identifier) }
            try await stage.eventually("the desktop has it, or not") { desktop.shown.isEmpty == isAnswered }
            try await stage.appears(systems[1])
            try await stage.eventually("the phone has it, or not") { phone.shown.isEmpty == isAnswered }
            guard !isAnswered else { return }
            // The staged user of the system that has come back is listened to.
            phone.choose("yes", on: try #require(phone.shown.first).identifier)
            try await stage.eventually("the question is gone from both") {
                desktop.shown.isEmpty && phone.shown.isEmpty
            }
        }
    }
}

extension StagedSystem {
    /// Connects to its notifications.
    fileprivate func notifications(of stage: DiscoveryStage) async throws -> RemoteNotificationConnection {
        let request = RemoteSystemConnectionRequest(
            host: self.address,
            port: try await self.port(),
            systemID: self.id,
            configuration: stage.configuration
        )
        let connection = RemoteNotificationConnection(request, systemName: self.displayName)
        try await connection.open()
        return connection
    }
}
