// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications for systems of the user that are away, from the daemon that keeps them to the screen.
@Suite struct OutboxDeliveryTests {
    private static func notification(_ identifier: String = "q", _ title: String = "Deployed") -> RemoteNotification {
        var notification = RemoteNotification(
            NotificationRequest(identifier: identifier, content: NotificationContent(title: title))
        )
        notification.applicationName = "Build server"
        return notification
    }

    /// Hands a notification over to the daemon of one system for others.
    private static func post(
        _ notification: RemoteNotification,
        from origin: StagedDesk,
        to targets: StagedDesk...
    ) async throws {
        let message = NotificationMessage.post(notification, to: try targets.map { "\(try $0.system.id)" })
        try await origin.daemon.receiver.post(message, by: try Self.program(of: origin))
    }

    private static func program(of desk: StagedDesk) throws -> NotificationSender {
        NotificationSender(systemID: "\(try desk.system.id)", application: "test.build", isLocal: true)
    }

    private static func with(
        _ body: (DiscoveryStage, _ origin: StagedDesk, _ target: StagedDesk) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let origin = try await StagedDesk.appearing("Server", on: stage)
            let target = try await StagedDesk.appearing("Laptop", on: stage)
            try await body(stage, origin, target)
            for desk in [origin, target] { try desk.daemon.running.cancel() }
        }
    }

    /// What a program of a system reads of the outbox.
    private static func listed(by desk: StagedDesk) async throws -> [PostedNotification] {
        let page = try NotificationPage(await desk.daemon.receiver.posted(), own: nil, after: nil)
        return try page.sets.map { set throws(NotificationError) in try PostedNotification(set) }
    }

    private static func isEmptied(_ desk: StagedDesk, _ stage: DiscoveryStage) async throws {
        try await stage.eventually("nothing waits any more") {
            try await desk.daemon.receiver.outbox.isEmpty && !desk.hasStored("outbox")
        }
    }

    @Test func `a system that was away receives it when it is back, with its sender, and once (N-08)`() async throws {
        try await Self.with { stage, origin, target in
            try await target.leaves(stage)
            try await Self.post(Self.notification(), from: origin, to: target)
            try await stage.clock.advance(by: .seconds(60))
            #expect(try await origin.daemon.receiver.outbox.all.count == 1)
            #expect(origin.hasStored("outbox"))
            try await target.returns(stage)
            try await stage.eventually("it is shown") { try target.titles == ["Deployed"] }
            let entry = try #require(await target.daemon.receiver.list().first)
            #expect(entry.sender.application == "test.build" && entry.notification.applicationName == "Build server")
            #expect(entry.sender.systemID == "\(try origin.system.id)")
            // No response is wanted: the program may have ended.
            #expect(entry.notification.isOneWay)
            try await Self.isEmptied(origin, stage)
            try target.dismiss()
            try await stage.eventually("it is gone") { try await target.daemon.receiver.list().isEmpty }
            try await target.leaves(stage)
            try await target.returns(stage)
            try await stage.clock.advance(by: .seconds(60))
            #expect(try target.titles.isEmpty)
        }
    }

    /// A sender repeats what it stores after a lost connection, and a member could repeat it at any time.
    @Test func `a notification that is sent again is shown once, and not after it has ended`() async throws {
        try await Self.with { stage, _, target in
            let notification = Self.notification()
            #expect(notification.deliveryID != nil)
            for _ in 0..<2 { #expect(try await target.receive(notification, stage).status == .shown) }
            #expect(try target.titles == ["Deployed"])
            #expect(try await target.daemon.receiver.list().count == 1)
            try target.dismiss()
            try await stage.eventually("it is gone") { try await target.daemon.receiver.list().isEmpty }
            let ended = NotificationDelivery(.withheld, reason: "It has ended on one of the user's systems.")
            #expect(try await target.receive(notification, stage) == ended)
            try await target.leaves(stage)
            try await target.returns(stage)
            try await stage.eventually("its daemon knows again what has ended") {
                try await !target.daemon.receiver.states.all.isEmpty
            }
            #expect(try await target.receive(notification, stage) == ended)
            #expect(try target.titles.isEmpty)
        }
    }

    @Test func `too many for one system that does not come back are refused, and others still receive theirs`()
        async throws
    {
        try await Self.with { stage, origin, target in
            let away = try await StagedDesk.appearing("Attic", on: stage)
            try await away.leaves(stage)
            for number in 0..<Outbox.maxOfApplication {
                try await Self.post(Self.notification("\(number)"), from: origin, to: away)
            }
            let error = await #expect(throws: NotificationError.self) {
                try await Self.post(Self.notification("more"), from: origin, to: away, target)
            }
            #expect(error?.code == .limitExceeded)
            // Nothing of a refused request is kept.
            #expect(try await origin.daemon.receiver.outbox.all.allSatisfy { $0.key.identifier != "more" })
            try await Self.post(Self.notification("more", "More"), from: origin, to: target)
            try await stage.eventually("it is shown") { try target.titles == ["More"] }
        }
    }

    @Test func `a system that is there receives it at once`() async throws {
        try await Self.with { stage, origin, target in
            try await Self.post(Self.notification(), from: origin, to: target)
            try await stage.eventually("it is shown") { try target.titles == ["Deployed"] }
            try await Self.isEmptied(origin, stage)
        }
    }

    @Test func `it waits through a crash of the daemon that keeps it`() async throws {
        try await Self.with { stage, origin, target in
            try await target.leaves(stage)
            try await Self.post(Self.notification("1", "First"), from: origin, to: target)
            try await Self.post(Self.notification("2", "Second"), from: origin, to: target)
            try await Self.post(Self.notification("1", "Replaced"), from: origin, to: target)
            try await origin.leaves(stage)
            try await target.returns(stage)
            try await origin.returns(stage)
            try await stage.eventually("both are shown") { try target.titles.sorted() == ["Replaced", "Second"] }
            try await Self.isEmptied(origin, stage)
        }
    }

    @Test func `what has ended on another system meanwhile is not shown (X-40)`() async throws {
        try await Self.with { stage, origin, target in
            let third = try await StagedDesk.appearing("Desktop", on: stage)
            try await target.leaves(stage)
            let notification = Self.notification()
            try await Self.post(notification, from: origin, to: target, third)
            try await stage.eventually("it is shown") { try third.titles == ["Deployed"] }
            try third.dismiss()
            try await stage.eventually("it has ended") { try await !third.daemon.receiver.states.all.isEmpty }
            // The laptop learns the end because it follows the others from its start.
            let other = Self.notification("other", "Other")
            try await target.returns(stage)
            try await Self.post(other, from: origin, to: target)
            try await Self.isEmptied(origin, stage)
            try await stage.eventually("only the other one is left") {
                try await target.daemon.receiver.list().map(\.notification.request.identifier) == ["other"]
            }
            try third.daemon.running.cancel()
        }
    }

    @Test func `one that the user denies there is not tried again, and its sender learns the reason`() async throws {
        try await Self.with { stage, origin, target in
            try await target.daemon.receiver.set(.denied, for: .init(application: "test.build"))
            try await Self.post(Self.notification("secret"), from: origin, to: target)
            try await Self.isEmptied(origin, stage)
            #expect(try target.titles.isEmpty)
            let listed = try await Self.listed(by: origin)
            #expect(listed.map(\.isWaiting) == [false] && listed.first?.problem?.contains("does not permit") == true)
            #expect(try await origin.daemon.receiver.unpost(["secret"]) == 1)
            #expect(try await Self.listed(by: origin).isEmpty)
        }
    }

    @Test func `an expired notification is discarded, and a late one keeps the rest of its time`()
        async throws
    {
        try await Self.with { stage, origin, target in
            try await target.leaves(stage)
            var short = Self.notification("short", "Short")
            short.expiration = .seconds(60)
            var long = Self.notification("long", "Long")
            long.expiration = .seconds(600)
            try await Self.post(short, from: origin, to: target)
            try await Self.post(long, from: origin, to: target)
            stage.clock.date += 121
            try await stage.clock.advance(by: .seconds(121))
            try await stage.eventually("one is given up") { try await origin.daemon.receiver.outbox.all.count == 1 }
            try await target.returns(stage)
            try await stage.eventually("the other one is shown") { try target.titles == ["Long"] }
            let shown = try #require(await target.daemon.receiver.list().first)
            #expect(try #require(shown.notification.expiration) < .seconds(480))
            try await Self.isEmptied(origin, stage)
        }
    }

    @Test func `one whose expiration has passed is not sent to a system that is back, and leaves the outbox`()
        async throws
    {
        try await Self.with { stage, origin, target in
            try await target.leaves(stage)
            var short = Self.notification("short", "Short")
            short.expiration = .seconds(10)
            try await Self.post(short, from: origin, to: target)
            try await stage.clock.advance(by: .seconds(11))
            try await Self.isEmptied(origin, stage)
            let listed = try await Self.listed(by: origin)
            #expect(listed.map(\.problem) == ["Its time was over before the system was back."])
            // The clock is set while it waits, so that no alarm has removed it.
            try await Self.post(short, from: origin, to: target)
            stage.clock.date += 11
            try await target.returns(stage)
            try await Self.post(Self.notification("other", "Other"), from: origin, to: target)
            try await stage.eventually("the other one is shown") { try target.titles.contains("Other") }
            try await stage.clock.advance(by: .seconds(2))
            try await Self.isEmptied(origin, stage)
            #expect(try target.titles == ["Other"])
            let ended = try await target.daemon.receiver.history(after: nil)
            #expect(ended.sets.isEmpty)
        }
    }

    @Test func `what cannot be stored is refused, and nothing of it is kept`() async throws {
        try await Self.with { stage, origin, target in
            try await target.leaves(stage)
            try await Self.post(Self.notification("q", "First"), from: origin, to: target)
            origin.failStore(NotificationError(.storeFailed, "The disk is full. Free space and retry."))
            await #expect(throws: NotificationError.self) {
                try await Self.post(Self.notification("q", "Second"), from: origin, to: target)
            }
            await #expect(throws: NotificationError.self) {
                _ = try await origin.daemon.receiver.unpost(["q"])
            }
            let titles = try await origin.daemon.receiver.outbox.all.map(\.notification.request.content.title)
            #expect(titles == ["First"])
            origin.failStore(nil)
            #expect(try await origin.daemon.receiver.unpost(["q"]) == 1)
            try await Self.isEmptied(origin, stage)
        }
    }

    @Test func `requests with other targets than systems, and too large ones, are refused`() async throws {
        try await Self.with { _, origin, target in
            let program = try Self.program(of: origin)
            let valid = try "\(target.system.id)"
            for systems in [[], ["laptop"], [valid, ""], [program.systemID], Array(repeating: valid, count: 65)] {
                let message = NotificationMessage.post(Self.notification(), to: systems)
                await #expect(throws: NotificationError.self, "\(systems)") {
                    try await origin.daemon.receiver.post(message, by: program)
                }
            }
            var large = Self.notification()
            large.request.content.body = String(repeating: "x", count: 4096)
            let error = await #expect(throws: NotificationError.self) {
                try await Self.post(large, from: origin, to: target)
            }
            #expect(error?.code == .payloadTooLarge)
            #expect(try await origin.daemon.receiver.outbox.isEmpty)
        }
    }

    @Test func `only a daemon sends in the name of another program`() async throws {
        try await Self.with { stage, _, target in
            let connection = try await target.connect(stage)
            let notification = Self.notification()
            _ = try await connection.deliver(notification, onBehalfOf: "test.other")
            let entry = try #require(await target.daemon.receiver.list().first)
            #expect(entry.sender.application == stage.configuration.applicationID)
            await connection.close()
        }
    }
}
