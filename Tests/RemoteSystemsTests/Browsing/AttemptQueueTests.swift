// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystems

struct AttemptQueueTests {
    private func queue(_ count: Int) -> AttemptQueue {
        var queue = AttemptQueue()
        for number in 0..<count { queue.add(.init(instance: "system \(number)", number: number, endpoints: [])) }
        return queue
    }

    /// Starts every attempt that may start.
    private func started(_ queue: inout AttemptQueue) -> [Int] {
        var numbers: [Int] = []
        while let next = queue.next() { numbers.append(next.number) }
        return numbers
    }

    @Test func `at most the limit of attempts runs at the same time, in order`() {
        var queue = queue(1000)
        #expect(started(&queue) == Array(0..<AttemptQueue.limit))
        queue.release(5)
        #expect(started(&queue) == [AttemptQueue.limit])
    }

    @Test func `an attempt that is released twice makes way for one other only`() {
        var queue = queue(100)
        _ = started(&queue)
        queue.release(0)
        #expect(started(&queue).count == 1)
        queue.release(0)
        #expect(started(&queue).isEmpty)
    }

    @Test func `all attempts start when each is released in turn`() {
        var queue = queue(1000)
        var all: [Int] = []
        while case let numbers = started(&queue), !numbers.isEmpty {
            all += numbers
            for number in numbers { queue.release(number) }
        }
        #expect(all == Array(0..<1000))
    }
}
