// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import Synchronization
import UserActivities

/// Many applications of many systems, each of which offers an activity.
final class OfferingCrowd: Sendable {
    private static let type = "org.remotesystems.benchmark.crowd"

    private let hosts: [UserActivityHost]
    private let tasks: [Task<Void, any Error>]
    /// The next application that offers another activity.
    private let next = Atomic(0)

    /// - Parameters:
    ///   - numbers: the numbers of systems that ``PackedSystems`` has created.
    ///   - applications: the number of applications of each system.
    init(_ numbers: Range<Int>, applications: Int, of systems: PackedSystems, folder: String) async throws {
        var hosts: [UserActivityHost] = []
        var tasks: [Task<Void, any Error>] = []
        for number in numbers {
            for application in 0..<applications {
                var configuration = systems.configuration(number, source: try FolderDiscovery(folder: folder))
                configuration.applicationID += ".\(application)"
                let host = UserActivityHost(configuration, activityTypes: [], handler: .closure { _ in })
                hosts.append(host)
                tasks.append(Task { try await host.run() })
                _ = try await host.host.port
                try await UserActivity(type: Self.type, title: "Activity \(application)").becomeCurrent(at: host)
            }
        }
        self.hosts = hosts
        self.tasks = tasks
    }

    /// Makes another activity of one of the applications current, in place of its former one.
    ///
    /// - Returns: its id, and the time before it became current.
    func offer() async throws -> (id: UUID, time: Int64) {
        let index = self.next.add(1, ordering: .relaxed).newValue % self.hosts.count
        let activity = UserActivity(type: Self.type, title: "Another activity")
        let start = monotonicNanoseconds()
        try await activity.becomeCurrent(at: self.hosts[index])
        return (activity.id, start)
    }
}
