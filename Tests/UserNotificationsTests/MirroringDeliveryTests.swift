// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Notifications of one system's desktop on another system of the user.
@Suite struct MirroringDeliveryTests {
    /// Runs `body` with two desks that know each other, of which the first one mirrors and is in use.
    private static func with(
        _ body: (DiscoveryStage, StagedDesk, StagedDesk, AsyncStream<UUID>) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let origin = try await StagedDesk.appearing("Origin", idleFor: .zero, on: stage)
            let other = try await StagedDesk.appearing("Other", idleFor: .seconds(100), on: stage)
            let ends = try await origin.daemon.receiver.beginMirroring(as: origin.system.id)
            try await stage.eventually("they know each other") {
                for desk in [origin, other] {
                    guard try await desk.daemon.receiver.otherSystems.count == 1 else { return false }
                }
                return true
            }
            try await body(stage, origin, other, ends)
            for desk in [origin, other] { try desk.daemon.running.cancel() }
        }
    }

    /// A content with a delivery id of its own.
    private static func content(_ title: String, _ identifier: String = "desktop-1") -> RemoteNotification {
        let content = NotificationContent(title: title, sound: .standard)
        var notification = RemoteNotification(NotificationRequest(identifier: identifier, content: content))
        notification.deliveryID = UUID()
        return notification
    }

    @Test func `the desktop that is in use makes the sound of what it shows itself (X-40)`() async throws {
        try await Self.with { stage, origin, other, _ in
            try await origin.daemon.receiver.mirror(Self.content("1 message"), of: "mail")
            try await stage.eventually("it is shown") { try other.titles == ["1 message"] }
            #expect(try other.isSilenced == true)
        }
    }

    @Test func `the end of an older text does not end the newer one, which the user has not seen`() async throws {
        try await Self.with { stage, origin, other, ends in
            let (first, second) = (Self.content("1 message"), Self.content("3 messages"))
            try await origin.daemon.receiver.mirror(first, of: "mail")
            try await stage.eventually("it is shown") { try other.titles == ["1 message"] }
            try await origin.daemon.receiver.mirror(second, of: "mail")
            try await stage.eventually("it is replaced") { try other.titles == ["3 messages"] }
            // A system that was away has dismissed the first text.
            let key = NotificationState.Key(
                systemID: "\(try origin.system.id)",
                deliveryID: try #require(first.deliveryID)
            )
            let state = NotificationState(status: .dismissed, date: stage.clock.date)
            try await origin.daemon.receiver.merge([key.text: state.valueSet], from: other.system.id)
            try await stage.settle()
            #expect(try other.titles == ["3 messages"])
            // The user dismisses what is shown now.
            let shown = try #require(try other.daemon.screen.shown.first).identifier
            try await other.daemon.receiver.received(.closed(identifier: shown, reason: .dismissed)).value
            var iterator = ends.makeAsyncIterator()
            #expect(await iterator.next() == second.deliveryID)
        }
    }

    @Test func `a limit of the user for one application delays no notifications of others (X-56)`() async throws {
        try await Self.with { stage, origin, other, _ in
            try await other.daemon.receiver.set(.allowed, perHour: 1, for: .init(application: "chat"))
            let receiver = try origin.daemon.receiver
            for number in 1...3 { await receiver.mirror(Self.content("chat \(number)", "\(number)"), of: "chat") }
            await receiver.mirror(Self.content("1 message", "mail"), of: "mail")
            try await stage.eventually("those within the limit came") {
                try await Self.titles(other) == ["chat 1", "1 message"]
            }
        }
    }

    /// The titles of what a system lists.
    private static func titles(_ desk: StagedDesk) async throws -> Set<String> {
        Set(try await desk.daemon.receiver.list().map(\.notification.request.content.title))
    }

    @Test func `of many at once, the newest 24 reach the other system, as soon as they may be sent (X-40)`()
        async throws
    {
        try await Self.with { stage, origin, other, _ in
            let receiver = try origin.daemon.receiver
            let titles = (1...26).map { "n\($0)" }
            for title in titles { await receiver.mirror(Self.content(title, title), of: "chat") }
            // For those that have left, this system does not say when it was used: the other one waits for that.
            for _ in 1...4 { try await stage.advance(by: .milliseconds(200)) }
            try await stage.eventually("15 came at once, of which the oldest two have left") {
                try await Self.titles(other) == Set(titles[2..<15])
            }
            for _ in titles[15...] { try await stage.advance(by: .seconds(5)) }
            try await stage.eventually("the others came") { try await Self.titles(other) == Set(titles[2...]) }
        }
    }

    @Test func `a text that waits because there are too many ends the one before, and comes later`() async throws {
        try await Self.with { stage, origin, other, _ in
            let receiver = try origin.daemon.receiver
            await receiver.mirror(Self.content("93 %"), of: "download")
            for number in 2...MirroredNotifications.burst {
                await receiver.mirror(Self.content("\(number)", "desktop-\(number)"), of: "chat")
            }
            try await stage.eventually("all are there") {
                try await other.daemon.receiver.list().count == MirroredNotifications.burst
            }
            await receiver.mirror(Self.content("Complete"), of: "download")
            try await stage.eventually("the old text is gone") {
                try await other.daemon.receiver.list().count == MirroredNotifications.burst - 1
            }
            try await stage.advance(by: .seconds(5))
            try await stage.eventually("the new one is there") { try await Self.titles(other).contains("Complete") }
        }
    }

    @Test func `what a daemon that crashed has mirrored leaves the other systems at its next start (X-40)`()
        async throws
    {
        try await Self.with { stage, origin, other, _ in
            try await origin.daemon.receiver.mirror(Self.content("1 message"), of: "mail")
            try await stage.eventually("it is shown") { try other.titles == ["1 message"] }
            #expect(origin.hasStored("mirrored"))
            try await origin.leaves(stage)
            try await stage.settle()
            #expect(try other.titles == ["1 message"])
            try await origin.returns(stage)
            try await stage.eventually("it is gone") { try await Self.titles(other).isEmpty }
            try await stage.eventually("it is not stored any more") { !origin.hasStored("mirrored") }
        }
    }

    @Test func `invented ends do not displace those of mirrored notifications, which their system knows itself`()
        async throws
    {
        try await Self.with { stage, origin, other, _ in
            let content = Self.content("1 message")
            let key = NotificationState.Key(
                systemID: "\(try origin.system.id)",
                deliveryID: try #require(content.deliveryID)
            )
            try await origin.daemon.receiver.mirror(content, of: "mail")
            try await stage.eventually("it is shown") { try other.titles == ["1 message"] }
            try await origin.daemon.receiver.endMirrored("desktop-1", isDismissed: true)
            let record = try #require(try origin.daemon.receiver.stateTopic.records[key.text])
            let reader = NotificationReceiver(stage.configuration, presenter: nil) { _ in nil }
            await reader.merge([key.text: record], from: try origin.system.id)
            stage.clock.date += 1
            let invented = (0..<NotificationStates.maxPerSource).map { _ in
                var state = NotificationState(status: .activated, date: stage.clock.date).valueSet
                state[NotificationState.relayedField] = true
                return ("liar.\(UUID().uuidString.lowercased())", state)
            }
            await reader.merge(Dictionary(uniqueKeysWithValues: invented), from: try other.system.id)
            #expect(await reader.states[.end(key)] != nil)
            // The other system knows it, too, and the next process does.
            try await stage.eventually("it is gone there") { try other.titles.isEmpty }
            try await origin.leaves(stage)
            try await origin.returns(stage)
            try await stage.eventually("it is published again") {
                try origin.daemon.receiver.stateTopic.records[key.text] != nil
            }
            #expect(try origin.daemon.receiver.stateTopic.records[key.text]?[NotificationState.relayedField] == nil)
        }
    }

    @Test func `what left because there were too many comes back with its next text (X-40)`() async throws {
        try await Self.with { stage, origin, other, _ in
            let receiver = try origin.daemon.receiver
            await receiver.mirror(Self.content("first"), of: "chat")
            for number in 2...MirroredNotifications.max + 1 {
                try await stage.advance(by: .seconds(5))
                await receiver.mirror(Self.content("\(number)", "desktop-\(number)"), of: "chat")
            }
            try await stage.eventually("the first one is gone") {
                try await other.daemon.receiver.list().count == MirroredNotifications.max
            }
            try await stage.advance(by: .seconds(5))
            await receiver.mirror(Self.content("first again"), of: "chat")
            try await stage.eventually("it is shown again") { try other.titles.contains("first again") }
        }
    }
}
