// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Streams between the application that offers an activity and the one that continues it.
@Suite(.timeLimit(.minutes(2))) struct ContinuationStreamTests {
    typealias Desk = ContinuationTests.Desk

    /// Responds to each pair of streams with what arrives, in capital letters.
    private final class Shouting: UserActivityDelegate {
        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            do {
                var text: [UInt8] = []
                for try await bytes in input { text += bytes }
                try await output.write(Array(String(decoding: text, as: UTF8.self).uppercased().utf8))
                try await output.finish()
                try await output.waitUntilFinished()
            } catch {
                output.abort("\(error)")
            }
        }
    }

    private static func shout(_ text: String, over activity: UserActivity) async throws -> String {
        let (input, output) = try await activity.continuationStreams()
        try await output.write(Array(text.utf8))
        try await output.finish()
        var answer: [UInt8] = []
        for try await bytes in input { answer += bytes }
        return String(decoding: answer, as: UTF8.self)
    }

    /// Also H-26: the title and the streams are stated with the type, and the delegate is set.
    @Test
    func `several pairs can be opened, and what one side writes the other reads (H-37, H-74, H-75, H-76)`()
        async throws
    {
        let answers = Mutex<Set<String>>([])
        let handler = ClosureContinuationHandler { activity in
            let texts = try await withThrowingTaskGroup(of: String.self) { group in
                for text in ["one", "two", "three"] { group.addTask { try await Self.shout(text, over: activity) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            answers.withLock { $0 = texts }
        }
        try await Desk.with(handler) { desk in
            let delegate = Shouting()
            let activity = UserActivity(
                type: ContinuationTests.editing,
                title: "A story",
                supportsContinuationStreams: true
            )
            activity.delegate = delegate
            let offer = try await desk.offer(activity)
            #expect(offer.title == "A story" && offer.supportsContinuationStreams)
            try await desk.continue(offer)
            #expect(answers.withLock { $0 } == ["ONE", "TWO", "THREE"])
        }
    }

    @Test func `streams need the origin's consent, and an activity that is being continued (H-73, X-10)`() async throws
    {
        let errors = Mutex<[ContinuationError.Code]>([])
        let continued = Mutex<UserActivity?>(nil)
        let handler = ClosureContinuationHandler { activity in
            continued.withLock { $0 = activity }
            do throws(ContinuationError) {
                _ = try await activity.continuationStreams()
            } catch {
                errors.withLock { $0.append(error.code) }
            }
        }
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            try await desk.continue(desk.offer(activity))
            #expect(errors.withLock { $0 } == [.streamsNotSupported])
            // The origin's own activity has no other side.
            let own = await #expect(throws: ContinuationError.self) { _ = try await activity.continuationStreams() }
            #expect(own?.code == .streamFailed)

            let delegate = Shouting()
            let open = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            open.delegate = delegate
            try await desk.continue(desk.offer(open))
            // The handler could open streams; after it none can be opened, without asking the origin.
            #expect(errors.withLock { $0 } == [.streamsNotSupported])
            let late = try #require(continued.withLock { $0 })
            let error = await #expect(throws: ContinuationError.self) { _ = try await late.continuationStreams() }
            #expect(error?.code == .streamFailed && error?.side == .local)
            withExtendedLifetime(delegate) {}
        }
    }

    @Test func `a link that is cut is reported on both sides`() async throws {
        let outcome = Mutex<String?>(nil)
        let origin = CutOrigin()
        let begun = AsyncStream<Void>.makeStream()
        let handler = ClosureContinuationHandler { activity in
            let (input, output) = try await activity.continuationStreams()
            try await output.write([1])
            begun.continuation.yield()
            do {
                while try await input.read() != nil {}
                outcome.withLock { $0 = "ended" }
            } catch {
                outcome.withLock { $0 = "failed" }
            }
        }
        try await Desk.with(handler) { desk in
            let activity = UserActivity(type: ContinuationTests.editing, supportsContinuationStreams: true)
            activity.delegate = origin
            let offer = try await desk.offer(activity)
            let continuing = Task { try await desk.continue(offer) }
            for await _ in begun.stream { break }
            try await desk.stage.eventually("the origin reads") { origin.outcome == "reading" }
            try await desk.stage.vanishes(desk.laptop, .crash)
            try await desk.stage.eventually("both sides notice") {
                outcome.withLock { $0 } == "failed" && origin.outcome == "failed"
            }
            _ = await continuing.result
        }
    }

    private final class CutOrigin: UserActivityDelegate {
        private let state = Mutex<String?>(nil)
        var outcome: String? { self.state.withLock { $0 } }

        func userActivity(
            _ activity: UserActivity,
            didReceive input: ContinuationInputStream,
            _ output: ContinuationOutputStream
        ) async {
            do {
                while try await input.read() != nil { self.state.withLock { $0 = "reading" } }
                self.state.withLock { $0 = "ended" }
            } catch {
                self.state.withLock { $0 = "failed" }
            }
        }
    }
}
