// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import Synchronization

/// Where an activity is offered.
protocol ActivityPublisher: AnyObject, Sendable {
    /// Makes the activity current, in place of the former one, and offers it if it may be offered.
    func makeCurrent(_ activity: UserActivity) async throws
    /// Ends the offer of the activity, which is no longer current.
    func withdraw(_ activity: UserActivity)
    /// Publishes changed properties of the current activity, or ends its offer if it may not be offered any more.
    func update(_ activity: UserActivity)
}

/// The publishers of this process.
final class ActivityPublishers: Sendable {
    static let shared = ActivityPublishers()

    private let all = Mutex<[any ActivityPublisher]>([])

    func add(_ publisher: any ActivityPublisher) { self.all.withLock { $0.append(publisher) } }

    func remove(_ publisher: any ActivityPublisher) { self.all.withLock { $0.removeAll { $0 === publisher } } }

    /// Returns the only publisher.
    func only() throws(RemoteSystemError) -> any ActivityPublisher {
        let all = self.all.withLock { $0 }
        guard let first = all.first else {
            throw RemoteSystemError(
                .misuse,
                "No UserActivityHost runs in this process. Run one before an activity becomes current.",
                side: .local
            )
        }
        guard all.count == 1 else {
            throw RemoteSystemError(
                .misuse,
                "Several UserActivityHosts run in this process. State which one: 'becomeCurrent(at: host)'.",
                side: .local
            )
        }
        return first
    }
}
