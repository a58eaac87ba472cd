// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing
import ValueSets

@testable import RemoteSystems

/// The rules by which a request with a key runs once.
@Suite struct IdempotencyCacheTests {
    typealias Memory = IdempotencyCacheStateMachine<String>
    typealias Name = Memory.Name

    static let start = ContinuousClock.now

    static func name(_ key: String = "key", system: UInt8 = 1, service: String = "service") throws -> Name {
        let system = try #require(SystemID(bytes: [UInt8](repeating: system, count: 32)))
        return Name(system: system, service: service, key: Array(key.utf8))
    }

    static func reported(_ outcome: Memory.OnRequest) -> String {
        switch outcome {
        case .execute: "carry out"
        case .wait(let work): "wait for \(work)"
        case .outcome(let outcome):
            outcome.response.message["n"]?.int.map { "answer \($0)" } ?? "status \(outcome.response.status.rawValue)"
        }
    }

    static func response(_ number: Int64) -> HandlerOutcome {
        HandlerOutcome(Response(message: ["n": .integer(number)]))
    }

    @Test func `a repeated request waits for the first, and gets its response`() throws {
        var memory = Memory()
        let name = try Self.name()
        let first = memory.received(name, fingerprint: 1, work: "first", now: Self.start)
        #expect(Self.reported(first) == "carry out")
        let second = memory.received(name, fingerprint: 1, work: "second", now: Self.start)
        #expect(Self.reported(second) == "wait for first")
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let third = memory.received(name, fingerprint: 1, work: "third", now: Self.start + .seconds(299))
        #expect(Self.reported(third) == "answer 7")
    }

    @Test func `another system, service or key is another request`() throws {
        var memory = Memory()
        let names = [
            try Self.name(), try Self.name("other"), try Self.name(system: 2), try Self.name(service: "other"),
        ]
        for name in names {
            let outcome = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            #expect(Self.reported(outcome) == "carry out")
        }
    }

    @Test func `a response expires after five minutes`() throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let later = memory.received(name, fingerprint: 1, work: "", now: Self.start + .seconds(300))
        #expect(Self.reported(later) == "carry out")
        #expect(memory.bytes == 0)
    }

    @Test func `a key with another message is refused, during and after the first request`() throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        let running = memory.received(name, fingerprint: 2, work: "", now: Self.start)
        #expect(Self.reported(running) == "status 1")
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let done = memory.received(name, fingerprint: 2, work: "", now: Self.start)
        #expect(Self.reported(done) == "status 1")
    }

    @Test(arguments: [(false, "status 1"), (true, "carry out")])
    func `a failure is kept unless it says that a retry may help`(canRetry: Bool, then: String) throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        let failure = HandlerOutcome(Response(status: .failure, failure: WireFailure("No.", canRetry: canRetry)))
        memory.executed(name, failure, bytes: 1, now: Self.start)
        let again = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        #expect(Self.reported(again) == then)
    }

    @Test func `a failure is forgotten only for the execution that caused it, a success is not`() throws {
        struct Oops: Error {}
        var memory = Memory()
        for (outcome, then) in [(HandlerOutcome(Oops()), "carry out"), (Self.response(7), "answer 7")] {
            let name = try Self.name(then)
            guard case .execute(let execution) = memory.received(name, fingerprint: 1, work: "", now: Self.start) else {
                Issue.record("It is the first.")
                return
            }
            memory.executed(name, outcome, bytes: 10, now: Self.start)
            memory.forgetFailure(name, execution + 1)
            let kept = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            guard case .outcome(let remembered) = kept else {
                Issue.record("It is remembered.")
                return
            }
            #expect((remembered.error is Oops) == (outcome.error is Oops))
            #expect(remembered.isRepeated)
            memory.forgetFailure(name, execution)
            let again = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            #expect(Self.reported(again) == then)
        }
    }

    @Test func `the oldest responses are evicted, and a running request never is`() throws {
        var memory = Memory(limits: Memory.Limits(requests: 2))
        let (one, two, three) = (try Self.name("1"), try Self.name("2"), try Self.name("3"))
        _ = memory.received(one, fingerprint: 1, work: "", now: Self.start)
        _ = memory.received(two, fingerprint: 1, work: "", now: Self.start)
        let full = memory.received(three, fingerprint: 1, work: "", now: Self.start)
        #expect(Self.reported(full) == "status 2")
        memory.executed(one, Self.response(1), bytes: 10, now: Self.start)
        let room = memory.received(three, fingerprint: 1, work: "", now: Self.start)
        #expect(Self.reported(room) == "carry out")
        #expect(memory.count == 2)
        #expect(memory.isRunning(two))
    }

    @Test(arguments: [false, true])
    func `a system that fills the cache evicts its own responses`(byBytes: Bool) throws {
        var memory = Memory(limits: byBytes ? Memory.Limits(bytes: 100_000) : Memory.Limits(requests: 20))
        let names = try (2...4).map { try Self.name(system: $0) }
        for (number, name) in names.enumerated() {
            _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            memory.executed(name, Self.response(Int64(number)), bytes: 1_000, now: Self.start)
        }
        for number in 0..<200 {
            let name = try Self.name("\(number)")
            let outcome = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            #expect(Self.reported(outcome) == "carry out")
            memory.executed(name, Self.response(7), bytes: 10_000, now: Self.start)
        }
        for (number, name) in names.enumerated() {
            let outcome = memory.received(name, fingerprint: 1, work: "", now: Self.start + .seconds(299))
            #expect(Self.reported(outcome) == "answer \(number)")
        }
        let latest = memory.received(try Self.name("199"), fingerprint: 1, work: "", now: Self.start)
        #expect(Self.reported(latest) == "answer 7")
        // All responses expire, of every system.
        _ = memory.received(try Self.name("200"), fingerprint: 1, work: "", now: Self.start + .seconds(300))
        #expect(memory.count == 1)
        #expect(memory.bytes == 0)
    }

    @Test func `the bytes are bounded for responses of any size`() throws {
        var memory = Memory(limits: Memory.Limits(bytes: 10_000, bytesEach: 2_000))
        for number in 0..<100 {
            let name = try Self.name("\(number)")
            _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
            memory.executed(name, Self.response(1), bytes: 1_500, now: Self.start)
            #expect(memory.bytes <= 10_000)
        }
        #expect(memory.count == 5)
    }

    @Test func `a response too large for the cache is not executed twice`() throws {
        var memory = Memory(limits: Memory.Limits(bytesEach: 2_000))
        let name = try Self.name()
        _ = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        memory.executed(name, Self.response(1), bytes: 2_001, now: Self.start)
        let again = memory.received(name, fingerprint: 1, work: "", now: Self.start)
        #expect(Self.reported(again) == "status 5")
    }
}
