// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Service instances whose resolvers are still to be requested, the latest first. Each is in the queue at most once and
/// is removed when the instance vanishes, so the queue never holds more than the known service instances.
struct ResolverQueue: Sendable {
    private var entries: [(serviceInstance: ServiceInstance, ticket: UInt64)] = []
    /// The ticket of the valid entry for each service instance. Other entries are removed from time to time, so that
    /// each operation takes constant time on average.
    private var tickets: [ServiceInstance: UInt64] = [:]
    private var lastTicket: UInt64 = 0

    var count: Int { tickets.count }
    /// The number of stored entries, including removed ones.
    var storedCount: Int { entries.count }

    /// Adds a service instance as the next one. Does nothing if it is already in the queue.
    mutating func append(_ serviceInstance: ServiceInstance) {
        guard tickets[serviceInstance] == nil else { return }
        lastTicket += 1
        tickets[serviceInstance] = lastTicket
        entries.append((serviceInstance, lastTicket))
        if entries.count > 2 * tickets.count + 64 { entries.removeAll { tickets[$0.serviceInstance] != $0.ticket } }
    }

    mutating func remove(_ serviceInstance: ServiceInstance) {
        tickets[serviceInstance] = nil
    }

    mutating func removeAll() {
        entries = []
        tickets = [:]
    }

    /// Removes and returns the service instance that was added last.
    mutating func popLast() -> ServiceInstance? {
        while let (serviceInstance, ticket) = entries.popLast() {
            guard tickets[serviceInstance] == ticket else { continue }
            tickets[serviceInstance] = nil
            return serviceInstance
        }
        return nil
    }
}
