// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

struct AttemptQueueTests {
    static let start = ContinuousClock.now
    typealias Attempt = AttemptQueue.Attempt

    private func queue(_ count: Int, cause: AttemptQueue.Cause = .hint) -> AttemptQueue {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<count {
            queue.add(Attempt(instance: "\(number)", number: number, endpoints: [Self.host(number)], cause: cause))
        }
        return queue
    }

    /// The endpoint of one of many machines.
    private static func host(_ number: Int, port: Int = 4000) -> Endpoint {
        Endpoint(host: "10.0.\(number / 250).\(number % 250 + 1)", port: port)
    }

    private static func system(_ number: Int) throws -> SystemID {
        try #require(SystemID(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }))
    }

    /// Starts every attempt that may start.
    private func started(_ queue: inout AttemptQueue, at time: Duration = .zero) -> [Int] {
        var numbers: [Int] = []
        while let next = queue.next(now: Self.start + time) { numbers.append(next.number) }
        return numbers
    }

    @Test func `at most the limit of attempts runs at the same time, in order`() {
        var queue = queue(200, cause: .known)
        #expect(started(&queue) == Array(0..<AttemptQueue.limit))
        queue.release(5)
        #expect(started(&queue) == [AttemptQueue.limit])
    }

    @Test func `an attempt that is released twice makes way for one other only`() {
        var queue = queue(100, cause: .known)
        _ = started(&queue)
        queue.release(0)
        #expect(started(&queue).count == 1)
        queue.release(0)
        #expect(started(&queue).isEmpty)
    }

    @Test func `a thousand systems are tried without a delay when each attempt finds one`() throws {
        for cause in [AttemptQueue.Cause.hint, .known] {
            var queue = queue(1000, cause: cause)
            var all: [Int] = []
            while case let numbers = started(&queue), !numbers.isEmpty {
                all += numbers
                for number in numbers { queue.ended(number, found: try Self.system(number), now: Self.start) }
            }
            #expect(all == Array(0..<1000))
            #expect(queue.openCount == 0 && queue.waitingCount == 0)
        }
    }

    // MARK: Attacks

    @Test func `hints that lead to no system cause a limited number of connections, and the queue says when to go on`()
    {
        var queue = queue(2000)
        var connections = 0
        var time = Duration.zero
        for _ in 0..<10_000 where time < .seconds(20) {
            let numbers = started(&queue, at: time)
            connections += numbers.count
            for number in numbers { queue.ended(number, now: Self.start + time) }
            guard numbers.isEmpty else { continue }
            guard let next = queue.nextTime else { break }
            #expect(next > Self.start + time)
            time = next - Self.start
        }
        #expect(connections <= Int(AttemptQueue.burst + 20 * AttemptQueue.rate) + 1)
        #expect(connections > Int(19 * AttemptQueue.rate))
    }

    @Test func `hints cannot flood one machine, whatever their ports`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<2000 {
            let endpoints = [Self.host(0, port: number + 1), Self.host(number + 1)]
            queue.add(Attempt(instance: "\(number)", number: number, endpoints: endpoints, cause: .hint))
        }
        var connections = 0
        for second in 0..<20 {
            let numbers = started(&queue, at: .seconds(second))
            connections += numbers.count
            for number in numbers { queue.ended(number, now: Self.start + .seconds(second)) }
            while case let more = started(&queue, at: .seconds(second)), !more.isEmpty {
                connections += more.count
                for number in more { queue.ended(number, now: Self.start + .seconds(second)) }
            }
        }
        #expect(connections <= Int(AttemptQueue.burstToMachine + 20 * AttemptQueue.rateToMachine) + 1)
    }

    @Test func `a system that is found again and again does not return tokens for ever`() throws {
        var queue = AttemptQueue(now: Self.start)
        let system = try Self.system(1)
        var connections = 0
        for number in 0..<2000 {
            queue.add(Attempt(instance: "\(number)", number: number, endpoints: [Self.host(0)], cause: .hint))
            for started in started(&queue) {
                connections += 1
                queue.ended(started, found: system, now: Self.start)
            }
        }
        #expect(connections <= 2 * Int(AttemptQueue.burstToMachine) + 1)
    }

    @Test func `a machine with many hints does not delay another machine's hint`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<1000 {
            queue.add(Attempt(instance: "\(number)", number: number, endpoints: [Self.host(0)], cause: .hint))
        }
        _ = started(&queue)
        queue.add(Attempt(instance: "other", number: 1000, endpoints: [Self.host(1)], cause: .hint))
        queue.release(0)
        queue.release(1)
        #expect(started(&queue).contains(1000))
    }

    @Test func `copies of one advertisement do not delay another one, even at the same address`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<1000 {
            let attempt = Attempt(
                instance: "\(number)",
                name: "copied",
                number: number,
                endpoints: [Self.host(0)],
                cause: .hint
            )
            queue.add(attempt)
        }
        _ = started(&queue)
        queue.add(Attempt(instance: "new", name: "new", number: 1000, endpoints: [Self.host(0)], cause: .hint))
        queue.release(0)
        queue.release(1)
        #expect(started(&queue).contains(1000))
        // Cancelled copies are not stored for ever.
        for number in 2..<900 { queue.cancel(number) }
        #expect(queue.storedCount < 1000)
    }

    @Test func `a new advertisement gets the next token, before copies of another one`() throws {
        // At the address of the copies, and at another one.
        let loopback = Endpoint(host: "127.0.0.1", port: 4000)
        for endpoint in [loopback, Self.host(1)] {
            var queue = AttemptQueue(now: Self.start)
            func add(_ number: Int, name: String, at endpoint: Endpoint) {
                queue.add(
                    Attempt(instance: "\(number)", name: name, number: number, endpoints: [endpoint], cause: .hint)
                )
            }
            for number in 0..<1000 { add(number, name: "copied", at: loopback) }
            while case let numbers = started(&queue), !numbers.isEmpty {
                for number in numbers { queue.ended(number, now: Self.start) }
            }
            #expect(queue.waitingCount == 1000 - Int(AttemptQueue.burst))
            add(1000, name: "new", at: endpoint)
            let time = try #require(queue.nextTime) - Self.start
            #expect(started(&queue, at: time) == [1000])
        }
    }

    @Test func `names that keep appearing leave turns to a name that had one`() {
        var queue = AttemptQueue(now: Self.start)
        for (number, name) in (["again", "again"] + (0..<100).map { "new \($0)" }).enumerated() {
            queue.add(
                Attempt(instance: "\(number)", name: name, number: number, endpoints: [Self.host(0)], cause: .hint)
            )
        }
        #expect(started(&queue).firstIndex(of: 1) == AttemptTurns<String>.newInRow)
    }

    @Test func `hints never take all places, and known processes come first`() {
        var queue = queue(1000)
        #expect(started(&queue).count == AttemptQueue.foreignLimit)
        queue.add(Attempt(instance: "known", number: 1000, endpoints: [Self.host(7)], cause: .known))
        #expect(started(&queue) == [1000])
        // Attempts that take long do not count, but they are limited, too.
        for number in 0..<1000 {
            queue.release(number)
            _ = started(&queue, at: .seconds(10))
        }
        #expect(queue.openCount <= AttemptQueue.maxForeignOpen + 1)
        queue.add(Attempt(instance: "known", number: 1001, endpoints: [Self.host(8)], cause: .known))
        #expect(started(&queue, at: .seconds(10)) == [1001])
    }

    @Test func `hints of a known process's address do not delay it`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<500 {
            queue.add(Attempt(instance: "\(number)", number: number, endpoints: [Self.host(0)], cause: .hint))
            for started in started(&queue) { queue.ended(started, now: Self.start) }
        }
        #expect(started(&queue).isEmpty)
        queue.add(Attempt(instance: "known", number: 1000, endpoints: [Self.host(0)], cause: .known))
        #expect(started(&queue) == [1000])
    }

    @Test func `attempts at many machines are hurried while others wait`() {
        for (count, isHurried) in [(200, true), (10, false)] {
            var queue = queue(count)
            let first = queue.next(now: Self.start)
            #expect(first?.isHurried == isHurried)
        }
    }

    @Test func `cancelled attempts leave nothing behind`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<100_000 {
            queue.add(Attempt(instance: "x", number: number, endpoints: [Self.host(number % 1000)], cause: .hint))
            queue.cancel(number)
        }
        #expect(queue.waitingCount == 0)
        #expect(queue.storedCount <= 1024)
        #expect(started(&queue).isEmpty)
    }

    @Test func `an attempt after a loss starts at once, unless very many are open`() {
        var queue = queue(200, cause: .known)
        _ = started(&queue)
        var open = AttemptQueue.limit
        for number in 1000..<5000 {
            let lost = Attempt(instance: "x", number: number, endpoints: [Self.host(number % 250)], cause: .loss)
            if queue.startAtOnce(lost, now: Self.start) != nil { open += 1 }
        }
        #expect(open == AttemptQueue.maxOpen && queue.openCount == open)
    }

    @Test func `losses cause few connections to addresses that the lost processes announce`() throws {
        // A machine with one address, and one with eight in the same /64.
        let network = (1...8).map { Endpoint(host: "2001:db8::\($0)", port: 80) }
        for victim in [[Self.host(0)], network] {
            var queue = AttemptQueue(now: Self.start)
            let (system, own) = (try Self.system(1), Self.host(1))
            var (number, connections) = (0, 0)
            for round in 0..<20 {
                let now = Self.start + .seconds(10 * round)
                for _ in 0..<64 {
                    number += 1
                    let lost = Attempt(
                        instance: "\(number)",
                        number: number,
                        endpoints: victim + [own],
                        hints: victim,
                        cause: .loss
                    )
                    let started = queue.startAtOnce(lost, now: now)
                    let endpoints = try #require(started?.endpoints)
                    #expect(endpoints.contains(own))
                    connections += endpoints.count - 1
                    queue.ended(number, found: system, now: now)
                }
            }
            let limit = AttemptQueue.burstToMachine + 190 * AttemptQueue.rateToMachine
            // An attempt may take more tokens than there are.
            #expect(connections <= Int(limit) + victim.count)
            #expect(connections > 0)
        }
    }

    @Test func `a known process causes few connections to other addresses that it announces`() throws {
        var queue = AttemptQueue(now: Self.start)
        let (system, own, victim) = (try Self.system(1), Self.host(1), Self.host(0))
        var connections = 0
        for number in 0..<500 {
            queue.add(
                Attempt(
                    instance: "\(number)",
                    number: number,
                    endpoints: [victim, own],
                    hints: [victim],
                    cause: .known
                )
            )
            while let next = queue.next(now: Self.start) {
                #expect(next.endpoints.contains(own))
                connections += next.endpoints.count - 1
                queue.ended(next.number, found: system, now: Self.start)
            }
        }
        #expect(connections == Int(AttemptQueue.burstToMachine))
    }

    @Test func `losses do not delay other known processes`() {
        var queue = AttemptQueue(now: Self.start)
        for number in 0..<1000 {
            let lost = Attempt(instance: "x", number: number, endpoints: [Self.host(number)], cause: .loss)
            _ = queue.startAtOnce(lost, now: Self.start)
            queue.ended(number, now: Self.start)
        }
        queue.add(Attempt(instance: "known", number: 1000, endpoints: [Self.host(1000)], cause: .known))
        #expect(started(&queue) == [1000])
    }

    @Test func `an attempt after a loss has no endpoint if there is no token for any`() {
        var queue = AttemptQueue(now: Self.start)
        var last: Attempt?
        for number in 0..<65 {
            let lost = Attempt(
                instance: "x",
                number: number,
                endpoints: [Self.host(0)],
                hints: [Self.host(0)],
                cause: .loss
            )
            last = queue.startAtOnce(lost, now: Self.start)
            queue.ended(number, now: Self.start)
        }
        #expect(last?.endpoints == [])
    }
}
