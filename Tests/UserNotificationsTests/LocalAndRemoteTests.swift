// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTesting
import Testing

@testable import UserNotifications

/// Notifications of an application of this system beside those of another system.
@Suite struct LocalAndRemoteTests {
    @Test func `local and remote notifications have one screen, one list and one kind of response (N-01)`()
        async throws
    {
        try await ReceivingSystem.with(store: StepStore()) { receiving in
            let receiver = receiving.receiver
            let application = StagedNotificationDaemon.sender
            let connection = try await receiving.connect()
            #expect(try await connection.deliver(ReceivingSystem.question("remote")).status == .shown)
            _ = try await receiver.schedule(StagedNotificationDaemon.message("local", after: 1), by: application)
            try await receiving.stage.advance(by: .seconds(2))
            try await receiving.stage.eventually("both are shown") { receiving.screen.shown.count == 2 }
            let list = await receiver.list()
            #expect(list.map(\.notification.request.identifier) == ["remote", "local"])
            for entry in list { receiving.screen.choose("yes", on: entry.key) }

            var responses = connection.responses.makeAsyncIterator()
            let remote = try #require(await responses.next())
            #expect((remote.requestIdentifier, remote.actionIdentifier) == ("remote", "yes"))
            try await receiving.stage.eventually("the other response waits for its application") {
                await receiver.routing.responses(for: application).count == 1
            }
            let local = try #require(await receiver.routing.responses(for: application).first)
            #expect((local.requestIdentifier, local.actionIdentifier) == ("local", "yes"))
            try await receiving.stage.eventually("both have left the screen") { receiving.screen.shown.isEmpty }
            #expect(await receiver.list().isEmpty)
            await connection.close()
        }
    }
}
