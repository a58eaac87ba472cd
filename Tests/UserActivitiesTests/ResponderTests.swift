// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing
import ValueSets

@testable import UserActivities

/// Several objects that share one activity.
@Suite(.timeLimit(.minutes(2))) struct ResponderTests {
    /// Adds one entry, and takes it back on the other system.
    private final class Part: ActivityResponder {
        let key: String
        let value: Value
        let log: Log
        private let restored = Mutex<Value?>(nil)

        init(_ key: String, _ value: Value = .null, log: Log = Log()) {
            self.key = key
            self.value = value
            self.log = log
        }

        var content: Value? { self.restored.withLock { $0 } }

        func updateUserActivityState(_ activity: UserActivity) async {
            self.log.note(
                "\(self.key) sees \(activity.userInfo.map(\.key).sorted()), needs save: \(activity.needsSave)"
            )
            activity.addUserInfoEntries([self.key: self.value])
        }

        func restoreUserActivityState(_ activity: UserActivity) async {
            self.log.note("\(self.key) is restored")
            self.restored.withLock { $0 = activity.userInfo[self.key] }
        }
    }

    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { self.lines.withLock { $0 } }
        func note(_ line: String) { self.lines.withLock { $0.append(line) } }
    }

    @Test
    func
        `responders fill in the content in order, and others restore it in theirs (H-38, H-39, H-40, H-42, H-44)`()
        async throws
    {
        let log = Log()
        let panes = [Part("Right", log: log), Part("Left", log: log)]
        let handler = RestoringHandler(objects: panes)
        try await ContinuationTests.Desk.with(handler) { desk in
            let parts = [Part("Left", "a list", log: log), Part("Right", 17, log: log)]
            let activity = UserActivity(type: ContinuationTests.editing)
            activity.userInfo = ["Stale": true]
            for part in parts { activity.addResponder(part) }
            activity.needsSave = true
            try await desk.continue(try await desk.offer(activity))
            // Each pane took what it needs (B-12).
            #expect(panes.map(\.content) == [17, "a list"])
            #expect(
                log.all == [
                    "Left sees [], needs save: false", "Right sees [\"Left\"], needs save: false",
                    "Right is restored", "Left is restored",
                ]
            )
            #expect(activity.userInfo == ["Left": "a list", "Right": 17])
            withExtendedLifetime(parts) {}
        }
    }

    @Test func `an activity ends with its last responder (H-41)`() async throws {
        let activity = UserActivity(type: ContinuationTests.editing)
        let (one, other) = (Part("One"), Part("Other"))
        activity.addResponder(one)
        activity.addResponder(one)
        activity.addResponder(other)
        activity.removeResponder(one)
        #expect(!activity.isInvalidated)
        activity.removeResponder(other)
        #expect(activity.isInvalidated)
        // An activity without responders is the application's own affair.
        let own = UserActivity(type: ContinuationTests.editing)
        own.removeResponder(one)
        #expect(!own.isInvalidated)
    }

    @Test func `an activity whose responders were released is not continued any more (H-41)`() async throws {
        try await ContinuationTests.Desk.with(RestoringHandler(objects: [])) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            do {
                let part = Part("Gone")
                activity.addResponder(part)
                _ = try await desk.offer(activity)
            }
            let offer = try #require(desk.watcher.offers.first)
            let error = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            #expect(error?.code == .activityUnknown && activity.isInvalidated)
        }
    }

    @Test func `receivers at the same time share one round of saving`() async throws {
        try await DiscoveryStage.with { stage in
            let clock = FeatureClock(stage.configuration)
            let activity = UserActivity(type: ContinuationTests.editing)
            let log = Log()
            let part = Part("Text", "complete", log: log)
            activity.addResponder(part)
            activity.needsSave = true
            let results = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 { group.addTask { await activity.save(within: .seconds(5), clock: clock) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results == Array(repeating: true, count: 8))
            #expect(log.all.count == 1 && activity.userInfo == ["Text": "complete"])
            withExtendedLifetime(part) {}
        }
    }
}

/// Restores objects in an order.
struct RestoringHandler: ContinuationHandler {
    let objects: [any ActivityRestoring]

    func continueUserActivity(
        _ activity: UserActivity,
        restore: @escaping @Sendable ([any ActivityRestoring]) async -> Void
    ) async throws -> Bool {
        await restore(self.objects)
        return true
    }
}
