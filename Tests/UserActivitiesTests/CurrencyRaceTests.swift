// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserActivities

/// Activities that end while they become current.
@Suite(.timeLimit(.minutes(2))) struct CurrencyRaceTests {
    /// A publisher that offers an activity only when the test permits it. Like the real one, it ignores the end of an
    /// activity that it does not offer.
    private final class SuspendedPublisher: ActivityPublisher {
        let offered = Mutex<Set<UUID>>([])
        private let requests = AsyncStream.makeStream(of: Void.self)
        private let permits = AsyncStream.makeStream(of: Void.self)

        /// Returns when an activity is to be offered.
        func requested() async {
            for await _ in self.requests.stream { return }
        }

        func permit() { self.permits.continuation.yield() }

        func makeCurrent(_ activity: UserActivity) async throws {
            self.requests.continuation.yield()
            for await _ in self.permits.stream { break }
            self.offered.withLock { _ = $0.insert(activity.id) }
        }

        func withdraw(_ activity: UserActivity) {
            guard self.offered.withLock({ $0.remove(activity.id) }) != nil else { return }
            activity.lostCurrency(at: self)
        }

        func update(_ activity: UserActivity) {}
    }

    enum End: CaseIterable, Sendable {
        case invalidate, resign

        func apply(to activity: UserActivity) {
            switch self {
            case .invalidate: activity.invalidate()
            case .resign: activity.resignCurrent()
            }
        }
    }

    @Test(arguments: End.allCases)
    func `an activity that ends before it is offered is not offered (H-19, H-25)`(end: End) async throws {
        let (activity, publisher) = (UserActivity(type: "com.example.editing"), SuspendedPublisher())
        async let becoming: Void = activity.becomeCurrent(publishedBy: publisher)
        await publisher.requested()
        end.apply(to: activity)
        publisher.permit()
        try await becoming
        #expect(publisher.offered.withLock { $0.isEmpty })
        #expect(!activity.isCurrent)
    }

    @Test func `an activity that becomes current at another host meanwhile is offered only there (H-19)`() async throws
    {
        let activity = UserActivity(type: "com.example.editing")
        let (first, second) = (SuspendedPublisher(), SuspendedPublisher())
        second.permit()
        async let becoming: Void = activity.becomeCurrent(publishedBy: first)
        await first.requested()
        try await activity.becomeCurrent(publishedBy: second)
        first.permit()
        try await becoming
        #expect(first.offered.withLock { $0.isEmpty })
        #expect(second.offered.withLock { $0 } == [activity.id])
        #expect(activity.isCurrent)
        activity.resignCurrent()
        #expect(second.offered.withLock { $0.isEmpty })
    }

    @Test func `whatever happens at once, the record that is left is that of the current activity (H-19)`() async throws
    {
        try await DiscoveryStage.with { stage in
            let origin = ActivityOrigin(stage.configuration, UserActivityHost.Options())
            origin.begin()
            let activities = (0..<2).map { _ in UserActivity(type: "com.example.editing") }
            for _ in 0..<500 {
                await withTaskGroup { group in
                    for activity in activities + activities {
                        group.addTask { try? await origin.makeCurrent(activity) }
                        group.addTask { origin.withdraw(activity) }
                        group.addTask { origin.update(activity) }
                        for isEligible in [false, true] {
                            group.addTask {
                                activity.isEligibleForHandoff = isEligible
                                origin.update(activity)
                            }
                        }
                    }
                }
                let left = Set(origin.topic.records.keys)
                // It publishes the current activity, if there is one.
                origin.permissionsChanged()
                #expect(Set(origin.topic.records.keys) == left && left.count <= 1)
            }
            origin.end()
            #expect(origin.topic.records.isEmpty)
        }
    }
}
