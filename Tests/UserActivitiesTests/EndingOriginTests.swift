// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserActivities

/// An application that ends while other systems continue its activity, as one that was continued often does.
@Suite(.timeLimit(.minutes(2))) struct EndingOriginTests {
    /// Saves until the test ends it, so that the application's host waits for the request before it ends.
    private final class Saving: UserActivityDelegate {
        private let isSaving = Mutex(false)
        private let end = AsyncStream<Never>.makeStream()

        var hasBegun: Bool { self.isSaving.withLock { $0 } }

        func finish() { self.end.continuation.finish() }

        func userActivityWillSave(_ activity: UserActivity) async {
            self.isSaving.withLock { $0 = true }
            for await _ in self.end.stream {}
        }
    }

    @Test func `receivers of an activity whose application is ending read that it is not offered any more (H-36)`()
        async throws
    {
        let log = ContinuationTests.Log()
        try await ContinuationTests.Desk.with(log) { desk in
            let activity = UserActivity(type: ContinuationTests.editing)
            let delegate = Saving()
            activity.delegate = delegate
            activity.needsSave = true
            let offer = try await desk.offer(activity)
            // This one has a connection, and confirms after the application has begun to end.
            let connected = Task { try await desk.continue(offer) }
            try await desk.stage.eventually("the application saves") { delegate.hasBegun }
            try await desk.stage.vanishes(desk.laptop)
            // This one connects while the application ends.
            let late = await #expect(throws: ContinuationError.self) { try await desk.continue(offer) }
            delegate.finish()
            let early = await #expect(throws: ContinuationError.self) { try await connected.value }
            for error in [late, early] {
                #expect(error?.code == .activityUnknown && error?.canRetry == false && error?.side == .remote)
                #expect(error?.message.contains("Another system may have continued it") == true)
            }
            #expect(!log.events.contains("continued"))
        }
    }
}
