// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// What has ended, for the user to read again.
@Suite struct NotificationHistoryTests {
    private typealias Daemon = StagedNotificationDaemon

    private static func ends(_ page: NotificationPage) -> [String] {
        page.sets.map { "\($0["Id"]?.string ?? "") \($0["Event"]?.string ?? "")" }
    }

    @Test func `the history has what ended, how, and nothing that waits, also after a restart (X-40)`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let first = try await Daemon(stage, store)
            let answered = try await first.show("answered", stage)
            try await first.receiver.respond(answered, "yes", text: nil)
            let dismissed = try await first.show("dismissed", stage)
            first.screen.end(dismissed)
            try await stage.eventually("it is dismissed") { await first.receiver.list().isEmpty }
            _ = try await first.show("open", stage)
            first.crash()
            let second = try await Daemon(stage, store)
            let page = try await second.receiver.history(after: nil)
            #expect(Self.ends(page) == ["dismissed dismissed", "answered answered"] && page.next == nil)
            #expect(page.sets.map { $0["Action"]?.string } == [nil, "yes"])
            #expect(page.sets.allSatisfy { $0["Content"]?.dictionary?["UserInfo"] == nil })
            second.crash()
        }
    }

    @Test func `one notification or all are deleted`() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            var keys: [String] = []
            for title in ["1", "2", "3"] {
                let key = try await daemon.show(title, stage)
                try await daemon.receiver.respond(key, "yes", text: nil)
                keys.append(key)
            }
            #expect(try await daemon.receiver.forget(keys[1]) == 1)
            // It is gone, as one that never was.
            #expect(try await daemon.receiver.forget(keys[1]) == 0)
            #expect(Self.ends(try await daemon.receiver.history(after: nil)) == ["3 answered", "1 answered"])
            #expect(try await daemon.receiver.forget(nil) == 2)
            #expect(try await daemon.receiver.forget(nil) == 0)
            #expect(try await daemon.receiver.history(after: nil).sets.isEmpty)
            daemon.crash()
        }
    }

    @Test func `a notification leaves the history after 30 days, and the oldest leave a full one`() async throws {
        try await DiscoveryStage.with { stage in
            let store = StepStore()
            let daemon = try await Daemon(stage, store)
            let key = try await daemon.show("old", stage)
            try await daemon.receiver.respond(key, "yes", text: nil)
            stage.clock.date += 30 * 86_400 - 60
            #expect(Self.ends(try await daemon.receiver.history(after: nil)) == ["old answered"])
            stage.clock.date += 120
            #expect(try await daemon.receiver.history(after: nil).sets.isEmpty)
            // It leaves the store when others end.
            for number in 0..<64 {
                let key = try await daemon.show("\(number)", stage)
                try await daemon.receiver.respond(key, "yes", text: nil)
                // No response is to wait: there is room for 64.
                try await daemon.receiver.set(.denied, for: .init(application: Daemon.sender.application))
                try await daemon.receiver.set(.allowed, for: .init(application: Daemon.sender.application))
            }
            let records = try await store.history(after: nil, limit: 1000)
            #expect(records.count == 64 && !records.contains { $0.key == key })
            daemon.crash()
        }
    }

    @Test func `what another system ended is in the history as it ended there (X-40)`() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            var notification = RemoteNotification(
                NotificationRequest(identifier: "q", content: NotificationContent(title: "q"))
            )
            notification.deliveryID = UUID()
            let entry = try await daemon.receiver.add(notification)
            let key = try #require(entry.stateKey)
            let state = NotificationState(status: .activated, date: stage.clock.date)
            await daemon.receiver.merge([key.text: state.valueSet], from: try stage.system("Other").id)
            #expect(Self.ends(try await daemon.receiver.history(after: nil)) == ["q answered"])
            // Again, it changes nothing.
            await daemon.receiver.merge([key.text: state.valueSet], from: try stage.system("Third").id)
            #expect(try await daemon.receiver.history(after: nil).sets.count == 1)
            daemon.crash()
        }
    }

    @Test func `a seen message whose place is needed is in the history as expired`() async throws {
        try await DiscoveryStage.with { stage in
            let daemon = try await Daemon(stage, StepStore())
            try await daemon.receiver.fillWithSeenMessages()
            _ = try await daemon.show("new", stage)
            try await stage.eventually("the oldest one is in the history") {
                Self.ends(try await daemon.receiver.history(after: nil)) == ["0 expired"]
            }
            let list = await daemon.receiver.list().map(\.notification.request.identifier)
            #expect(list.first == "1" && list.last == "new" && list.count == ReceivedNotifications.maxPerSystem)
            daemon.crash()
        }
    }

    @Test func `what has ended counts for its system or linked account, and for each application of this system`()
        throws
    {
        func source(_ sender: NotificationSender) throws -> String {
            let request = NotificationRequest(identifier: "q", content: NotificationContent(title: "q"))
            var received = ReceivedNotifications(.now)
            let entry = try received.add(RemoteNotification(request), from: sender, name: nil, .now)
            return try NotificationRecord(history: entry, .withdrawn, by: nil, at: Date()).source
        }
        let first = try source(NotificationSender(systemID: "flood", application: "a"))
        // A system claims its applications, and a linked account certifies its systems.
        #expect(try source(NotificationSender(systemID: "flood", application: "b")) == first)
        #expect(try source(NotificationSender(systemID: "other", application: "a")) != first)
        let linked = try ["1", "2"].map {
            try source(NotificationSender(systemID: $0, application: $0, linkedAccountID: "friend"))
        }
        #expect(Set(linked).count == 1 && !linked.contains(first))
        let local = try ["a", "b"].map { try source(NotificationSender(systemID: "s", application: $0, isLocal: true)) }
        #expect(Set(local + linked + [first]).count == 4)
    }
}

extension NotificationReceiver {
    fileprivate func add(_ notification: RemoteNotification) throws -> ReceivedNotifications.Entry {
        try self.received.add(notification, from: StagedNotificationDaemon.sender, name: "Server", self.clock.now)
    }

    fileprivate func fillWithSeenMessages() throws {
        for number in 0..<ReceivedNotifications.maxPerSystem {
            let content = NotificationContent(title: "\(number)")
            var message = RemoteNotification(NotificationRequest(identifier: "\(number)", content: content))
            message.isOneWay = true
            _ = self.received.setOver(try self.add(message).key)
        }
    }
}
