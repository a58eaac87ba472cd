// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Testing
import UserNotifications

/// A test of notifications as the developer of an application writes it: with the public API, in less than 40 lines.
@Suite struct InvitationTests {
    @Test func `my calendar invites in time, and takes the comment (N-02, N-12)`() async throws {
        try await DiscoveryStage.with { stage in
            let desktop = StagedNotificationPresenter()
            let center = UserNotificationCenter(
                presenter: desktop,
                applicationName: "Calendar",
                configuration: stage.configuration
            )
            let comment = TextInputNotificationAction(identifier: "comment", title: "Comment")
            try await center.setNotificationCategories([
                NotificationCategory(identifier: "event-invite", actions: [NotificationAction(comment)])
            ])
            try await center.add(
                NotificationRequest(
                    identifier: "42",
                    content: NotificationContent(title: "Lunch", categoryIdentifier: "event-invite"),
                    trigger: .timeInterval(.seconds(600))
                )
            )
            try await stage.advance(by: .seconds(599))
            #expect(desktop.shown.isEmpty)
            try await stage.advance(by: .seconds(2))
            try await stage.eventually("the invitation is shown") { desktop.shown.map(\.content.title) == ["Lunch"] }

            desktop.choose("comment", on: "42", text: "I am late")
            var responses = center.responses.makeAsyncIterator()
            let response = try #require(await responses.next())
            #expect(response.requestIdentifier == "42" && response.userText == "I am late")
            #expect(try await center.deliveredNotifications.isEmpty)
        }
    }

    @Test func `it does not fail, however often it runs`() async throws {
        try await RepeatedRuns.run("an invitation") {
            try await self.`my calendar invites in time, and takes the comment (N-02, N-12)`()
        }
    }
}
