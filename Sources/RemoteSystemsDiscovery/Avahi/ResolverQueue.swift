// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Sightings whose resolvers are still to be requested. Each is in it once, and what is gone leaves it, so it holds no
/// more than what is known, however often neighbours announce and withdraw.
struct ResolverQueue: Sendable {
    private var entries: [(serviceInstance: ServiceInstance, ticket: UInt64)] = []
    /// Which entry counts. Those that do not are removed now and then, so that each step takes constant time on
    /// average.
    private var tickets: [ServiceInstance: UInt64] = [:]
    private var lastTicket: UInt64 = 0

    var count: Int { tickets.count }
    /// Counts those that have left, too.
    var storedCount: Int { entries.count }

    /// Adds one as the next; does nothing about one that is in already.
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

    /// The one that was added last.
    mutating func popLast() -> ServiceInstance? {
        while let (serviceInstance, ticket) = entries.popLast() {
            guard tickets[serviceInstance] == ticket else { continue }
            tickets[serviceInstance] = nil
            return serviceInstance
        }
        return nil
    }
}
