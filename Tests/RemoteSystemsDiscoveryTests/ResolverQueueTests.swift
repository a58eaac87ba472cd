// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// Instances that wait for a resolver while a daemon is slow.
@Suite struct ResolverQueueTests {
    private static func instance(_ number: Int) -> ServiceInstance {
        ServiceInstance(interface: 1, family: .ipv4, instance: "\(number)")
    }

    @Test func `the last one comes first, and each comes once`() {
        var queue = ResolverQueue()
        for number in [1, 2, 3, 2] { queue.append(Self.instance(number)) }
        #expect(queue.count == 3)
        #expect((0..<4).map { _ in queue.popLast()?.instance } == ["3", "2", "1", nil])
    }

    @Test func `a removed instance does not come, and comes next once it is back`() {
        var queue = ResolverQueue()
        for number in [1, 2, 3] { queue.append(Self.instance(number)) }
        queue.remove(Self.instance(3))
        queue.remove(Self.instance(1))
        queue.append(Self.instance(1))
        #expect((0..<3).map { _ in queue.popLast()?.instance } == ["1", "2", nil])
    }

    @Test func `neighbours that advertise and withdraw without end take no memory`() {
        var queue = ResolverQueue()
        queue.append(Self.instance(-1))
        for number in 0..<10_000 {
            queue.append(Self.instance(number % 100))
            queue.remove(Self.instance(number % 100))
            queue.append(Self.instance(number))
            queue.remove(Self.instance(number))
        }
        #expect(queue.count == 1)
        #expect(queue.storedCount <= 100)
        #expect(queue.popLast() == Self.instance(-1))
    }
}
