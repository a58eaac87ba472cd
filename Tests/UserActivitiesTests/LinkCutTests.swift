// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// A link that is cut at each message of a continuation.
@Suite(.timeLimit(.minutes(2))) struct LinkCutTests {
    typealias Desk = ContinuationTests.Desk

    private func isRequest(_ name: String) -> StagedMessageSelector {
        .first { $0.kind == .request && $0.content["Request"] == .string(name) }
    }

    /// The responses of a continuation: the first has the content, the second is that to the confirmation.
    private func response(_ number: Int) -> StagedMessageSelector { .response(number, of: ActivityDescriptor.topic) }

    @Test(arguments: ["fetch", "content", "confirm"])
    func `before the confirmation has arrived, the activity stays offered, and can be continued later (H-60)`(
        step: String
    ) async throws {
        let log = ContinuationTests.Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let origin = ContinuationTests.Origin()
            activity.delegate = origin
            let offer = try await desk.offer(activity)
            desk.laptop.link.cut(at: step == "content" ? self.response(1) : self.isRequest(step))
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .originGone && error?.canRetry == true)
            #expect(log.events.last == "failed com.example.editing originGone" && !log.events.contains("did update"))
            #expect(activity.isCurrent && origin.content.withLock { $0.receiver } == nil)
            try await desk.stage.eventually("it is listed") { desk.watcher.offers.map(\.id) == [activity.id] }
            try await desk.continue(try #require(desk.watcher.offers.first))
            #expect(log.events.last == "continued")
        }
    }

    @Test func `a confirmation whose response is lost is repeated, so that neither side loses the activity (H-36)`()
        async throws
    {
        let log = ContinuationTests.Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let origin = ContinuationTests.Origin()
            activity.delegate = origin
            activity.userInfo = ["left": 1]
            let offer = try await desk.offer(activity)
            desk.laptop.link.cut(at: self.response(2))
            try await desk.continue(offer)
            #expect(log.events.last == "continued" && log.events.contains("left restores 1"))
            try await desk.stage.eventually("the origin learns it") { origin.content.withLock { $0.receiver } != nil }
            #expect(!activity.isCurrent)
        }
    }

    @Test func `a stream is opened over the connection that has repeated the confirmation (H-36, H-74)`() async throws {
        final class Sender: UserActivityDelegate {
            func userActivity(
                _ activity: UserActivity,
                didReceive input: ContinuationInputStream,
                _ output: ContinuationOutputStream
            ) async {
                do {
                    try await output.write(Array("the rest".utf8))
                    try await output.finish()
                    try await output.waitUntilFinished()
                } catch {
                    output.abort("\(error)")
                }
            }
        }
        let received = Mutex("")
        let handler = ClosureContinuationHandler { activity in
            let (input, output) = try await activity.continuationStreams()
            var bytes: [UInt8] = []
            for try await part in input { bytes += part }
            try await output.finish()
            received.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
        }
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            let sender = Sender()
            activity.delegate = sender
            let offer = try await desk.offer(activity)
            desk.laptop.link.cut(at: self.response(2))
            try await desk.continue(offer)
            #expect(received.withLock { $0 } == "the rest")
            #expect(!activity.isCurrent)
        }
    }

    @Test(arguments: ["return", "returned", "confirmed"])
    func `a failed receiver returns an activity over another connection if the link is lost (H-61)`(
        step: String
    ) async throws {
        let log = ContinuationTests.Log(isContinued: false)
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let origin = ContinuationTests.Origin()
            activity.delegate = origin
            let offer = try await desk.offer(activity)
            switch step {
            case "return": desk.laptop.link.cut(at: self.isRequest("return"))
            case "returned": desk.laptop.link.cut(at: self.response(3))
            default: desk.laptop.link.cut(at: self.response(2))
            }
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .handlerFailed)
            #expect(log.events.last == "failed com.example.editing handlerFailed")
            try await desk.stage.eventually("it is offered again") {
                activity.isCurrent && desk.watcher.offers.map(\.id) == [activity.id]
            }
        }
    }

    @Test(arguments: ["request", "response"])
    func `a failed receiver returns an activity over another connection if the first one is silent (H-61)`(
        part: String
    ) async throws {
        let log = ContinuationTests.Log(isContinued: false)
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let offer = try await desk.offer(activity)
            desk.laptop.link.delay(part == "request" ? self.isRequest("return") : self.response(3), by: .seconds(60))
            async let failure = self.failure(of: offer, desk)
            try await desk.stage.eventually("the application has failed") { log.events.contains("continued") }
            for _ in 0..<40 where !log.events.contains("failed \(ContinuationTests.editing) handlerFailed") {
                try await desk.stage.advance(by: .seconds(1))
            }
            let code = await failure
            #expect(code == .handlerFailed && activity.isCurrent)
        }
    }

    @Test func `what a receiver has confirmed waits a minute for it after its link was lost, and not after its end`()
        throws
    {
        var continuations = OutgoingContinuations()
        let (activity, other, id, receiver) = (UUID(), UUID(), UUID(), try Self.system(1))
        let links = (0..<2).map { _ in UserActivity(type: "a.b") }
        let (first, second, start) = (ObjectIdentifier(links[0]), ObjectIdentifier(links[1]), ContinuousClock.now)
        continuations.offer(activity)
        try continuations.begin(activity, id: id, over: first, for: .system(receiver), now: start)
        _ = try continuations.confirm(id, over: first, by: receiver, now: start)
        let begun = UUID()
        continuations.offer(other)
        try continuations.begin(other, id: begun, over: first, for: .system(receiver), now: start)
        let waits = continuations.ended(first, isLost: true, now: start)
        let end = try #require(waits)
        #expect(end == start + OutgoingContinuations.reconnectingTime)
        // What was not confirmed does not wait.
        continuations.expire(now: end - .nanoseconds(1))
        #expect(continuations.activities == [activity])
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try continuations.takeBack(id, over: first, now: start)
        }
        // Its receiver comes back in time, and closes the connection in the end.
        #expect(try continuations.confirm(id, over: second, by: receiver, now: start) == nil)
        continuations.expire(now: end)
        #expect(continuations.activities == [activity])
        let afterEnd = continuations.ended(second, isLost: false, now: end)
        #expect(afterEnd == nil && continuations.activities.isEmpty)
        // It does not come back.
        try continuations.begin(other, id: begun, over: first, for: .system(receiver), now: start)
        _ = try continuations.confirm(begun, over: first, by: receiver, now: start)
        let waitsAgain = continuations.ended(first, isLost: true, now: start)
        #expect(waitsAgain == end)
        continuations.expire(now: end)
        #expect(continuations.activities.isEmpty)
        withExtendedLifetime(links) {}
    }

    @Test func `a continuation goes on over another connection for its receiver only`() throws {
        var continuations = OutgoingContinuations()
        let (activity, id) = (UUID(), UUID())
        let links = (0..<2).map { _ in UserActivity(type: "a.b") }
        let (first, second) = (ObjectIdentifier(links[0]), ObjectIdentifier(links[1]))
        let (receiver, other) = try (Self.system(1), Self.system(2))
        continuations.offer(activity)
        try continuations.begin(activity, id: id, over: first, for: .system(receiver), now: .now)
        // Not confirmed yet, so it belongs to its connection.
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try continuations.confirm(id, over: second, by: receiver, now: .now)
        }
        #expect(try continuations.confirm(id, over: first, by: receiver, now: .now) == activity)
        #expect(try continuations.confirm(id, over: first, by: receiver, now: .now) == nil)
        _ = continuations.ended(first, isLost: true, now: .now)
        #expect(throws: OutgoingContinuations.Refusal.unknown) {
            try continuations.confirm(id, over: second, by: other, now: .now)
        }
        #expect(try continuations.confirm(id, over: second, by: receiver, now: .now) == nil)
        #expect(try continuations.activity(of: id, over: second) == activity)
        #expect(throws: OutgoingContinuations.Refusal.alreadyContinued) {
            try continuations.begin(activity, id: UUID(), over: second, for: .system(receiver), now: .now)
        }
        withExtendedLifetime(links) {}
    }

    private static func system(_ byte: UInt8) throws -> SystemID {
        try #require(SystemID(bytes: Array(repeating: byte, count: 32)))
    }

    @Test func `content that arrives slowly is continued, and content that takes too long stays at the origin (H-60)`()
        async throws
    {
        let log = ContinuationTests.Log()
        try await Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            for (seconds, isInTime) in [(20, false), (10, true)] {
                let offer = try await desk.offer(activity)
                desk.laptop.link.delay(self.response(1), by: .seconds(seconds))
                async let failure = self.failure(of: offer, desk)
                try await desk.stage.eventually("the content is requested") {
                    log.events.count { $0 == "requesting" } == (isInTime ? 2 : 1)
                }
                try await desk.stage.advance(by: .seconds(16))
                let code = await failure
                #expect(code == (isInTime ? nil : .timedOut))
                #expect(activity.isCurrent == !isInTime)
            }
        }
    }

    /// Continues an offer, and returns why it could not be.
    private func failure(of offer: UserActivityOffer, _ desk: Desk) async -> ContinuationError.Code? {
        do {
            try await desk.continue(offer)
            return nil
        } catch {
            return (error as? ContinuationError)?.code
        }
    }

    @Test func `a stream that is cut fails on both sides`() async throws {
        let ends = Mutex<[String]>([])
        final class Sender: UserActivityDelegate {
            let ends: @Sendable (String) -> Void
            init(_ ends: @escaping @Sendable (String) -> Void) { self.ends = ends }
            func userActivity(
                _ activity: UserActivity,
                didReceive input: ContinuationInputStream,
                _ output: ContinuationOutputStream
            ) async {
                do {
                    while true { try await output.write([UInt8](repeating: 1, count: 64 << 10)) }
                } catch {
                    self.ends("origin")
                }
            }
        }
        let handler = ClosureContinuationHandler { activity in
            let (input, _) = try await activity.continuationStreams()
            do {
                for try await _ in input {}
            } catch {
                ends.withLock { $0.append("receiver") }
                throw error
            }
        }
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            let sender = Sender { end in ends.withLock { $0.append(end) } }
            activity.delegate = sender
            let offer = try await desk.offer(activity)
            desk.laptop.link.cut(afterBytes: 1 << 20)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error != nil)
            try await desk.stage.eventually("both sides learn it") {
                Set(ends.withLock { $0 }) == ["origin", "receiver"]
            }
        }
    }
}
