// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
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

    static func holder(_ system: UInt8 = 1) throws -> QuotaHolder { .system(try self.name(system: system).system) }

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
        let first = memory.received(name, work: "first")
        #expect(Self.reported(first) == "carry out")
        let second = memory.received(name, work: "second")
        #expect(Self.reported(second) == "wait for first")
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let third = memory.received(name, work: "third", now: Self.start + .seconds(299))
        #expect(Self.reported(third) == "answer 7")
    }

    @Test func `another system, service or key is another request`() throws {
        var memory = Memory()
        let names = [
            try Self.name(), try Self.name("other"), try Self.name(system: 2), try Self.name(service: "other"),
        ]
        for name in names {
            let outcome = memory.received(name)
            #expect(Self.reported(outcome) == "carry out")
        }
    }

    @Test func `a response expires after five minutes`() throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name)
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let later = memory.received(name, now: Self.start + .seconds(300))
        #expect(Self.reported(later) == "carry out")
        #expect(memory.bytes == 0)
    }

    @Test func `a key with another message is refused, during and after the first request`() throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name)
        let running = memory.received(name, fingerprint: 2)
        #expect(Self.reported(running) == "status 1")
        memory.executed(name, Self.response(7), bytes: 10, now: Self.start)
        let done = memory.received(name, fingerprint: 2)
        #expect(Self.reported(done) == "status 1")
    }

    @Test(arguments: [(false, "status 1"), (true, "carry out")])
    func `a failure is kept unless it says that a retry may help`(canRetry: Bool, then: String) throws {
        var memory = Memory()
        let name = try Self.name()
        _ = memory.received(name)
        let failure = HandlerOutcome(Response(status: .failure, failure: WireFailure("No.", canRetry: canRetry)))
        memory.executed(name, failure, bytes: 1, now: Self.start)
        let again = memory.received(name)
        #expect(Self.reported(again) == then)
    }

    @Test func `a failure is forgotten only for the execution that caused it, a success is not`() throws {
        struct Oops: Error {}
        var memory = Memory()
        for (outcome, then) in [(HandlerOutcome(Oops()), "carry out"), (Self.response(7), "answer 7")] {
            let name = try Self.name(then)
            guard case .execute(let execution) = memory.received(name) else {
                Issue.record("It is the first.")
                return
            }
            memory.executed(name, outcome, bytes: 10, now: Self.start)
            memory.forgetFailure(name, execution + 1)
            let kept = memory.received(name)
            guard case .outcome(let remembered) = kept else {
                Issue.record("It is remembered.")
                return
            }
            #expect((remembered.error is Oops) == (outcome.error is Oops))
            #expect(remembered.isRepeated)
            memory.forgetFailure(name, execution)
            let again = memory.received(name)
            #expect(Self.reported(again) == then)
        }
    }

    /// Fills a system's keys with finished requests. Returns the number of requests that were executed.
    private static func fill(
        _ memory: inout Memory,
        system: UInt8,
        requests: Int,
        bytes: Int = 10,
        at now: ContinuousClock.Instant = start
    ) throws -> Int {
        var executed = 0
        for number in 0..<requests {
            let name = try Self.name("\(number)", system: system)
            let outcome = memory.received(name, now: now)
            guard case .execute = outcome else { continue }
            executed += 1
            memory.executed(name, Self.response(Int64(number)), bytes: bytes, now: now)
        }
        return executed
    }

    @Test func `a full quota refuses new keys, and keeps every key for its time`() throws {
        var memory = Memory(limits: Memory.Limits(keys: 100, keysEach: 10))
        let executed = try Self.fill(&memory, system: 1, requests: 30)
        #expect(executed == 10)
        let later = Self.start + .seconds(299)
        let new = try memory.received(Self.name("new"), now: later)
        guard case .outcome(let refusal) = new else {
            Issue.record("It was carried out.")
            return
        }
        #expect(refusal.response.status == .resourceLimitsExceeded)
        #expect(refusal.response.failure?.code == "key-quota-exceeded")
        #expect(refusal.response.failure?.canRetry == true)
        for number in 0..<10 {
            let name = try Self.name("\(number)")
            let outcome = memory.received(name, now: later)
            #expect(Self.reported(outcome) == "answer \(number)")
        }
        let end = Self.start + .seconds(300)
        let again = try memory.received(Self.name("new"), now: end)
        #expect(Self.reported(again) == "carry out")
    }

    @Test(arguments: [10, 40_000])
    func `no other system's keys remove a system's key or refuse its next one`(bytes: Int) throws {
        var memory = Memory()
        // The victim has the largest response.
        let name = try Self.name("order", system: 1)
        _ = memory.received(name)
        memory.executed(name, Self.response(7), bytes: 1 << 20, now: Self.start)
        for system in 2...9 as ClosedRange<UInt8> {
            let executed = try Self.fill(&memory, system: system, requests: 9_000, bytes: bytes)
            #expect(executed <= 8_192)
        }
        #expect(memory.count <= 65_536)
        #expect(memory.bytes <= 32 << 20)
        let now = Self.start + .seconds(299)
        let repeated = memory.received(name, now: now)
        #expect(Self.reported(repeated) == "answer 7")
        for system in [1, 10] as [UInt8] {
            let next = try Self.name("next", system: system)
            let outcome = memory.received(next, now: now)
            #expect(Self.reported(outcome) == "carry out")
        }
        #expect(memory.endCount == memory.count - 2)
        _ = memory.received(name, now: now + .seconds(1))
        #expect(memory.count == 3)
        #expect(memory.bytes == 0)
    }

    @Test func `the systems of a linked account share one quota`() throws {
        var memory = Memory(limits: Memory.Limits(keys: 1_000, keysEach: 10))
        let account = try AccountAuthority(creatingAt: Date()).accountID
        let standing = Standing.linked(account, Grants())
        var executed = 0
        for system in 1...100 as ClosedRange<UInt8> {
            let name = try Self.name(system: system)
            let holder = standing.quotaHolder(of: name.system)
            let outcome = memory.received(name, of: holder, fingerprint: 1, work: "", now: Self.start)
            if case .execute = outcome { executed += 1 }
        }
        #expect(executed == 10)
    }

    @Test func `running requests are limited, and never removed`() throws {
        var memory = Memory(limits: Memory.Limits(inFlight: 100, inFlightEach: 2))
        let (one, two, three) = (try Self.name("1"), try Self.name("2"), try Self.name("3"))
        let holder = try Self.holder()
        _ = memory.received(one, of: holder, fingerprint: 1, work: "", now: Self.start)
        _ = memory.received(two, of: holder, fingerprint: 1, work: "", now: Self.start)
        guard case .outcome(let full) = memory.received(three, of: holder, fingerprint: 1, work: "", now: Self.start)
        else {
            Issue.record("It was carried out.")
            return
        }
        #expect(full.response.failure?.code == "too-many-keys")
        memory.executed(one, Self.response(1), bytes: 10, now: Self.start)
        let next = memory.received(three, of: holder, fingerprint: 1, work: "", now: Self.start + .seconds(1_000))
        #expect(Self.reported(next) == "carry out")
        #expect(memory.count == 2)
        #expect(memory.isRunning(two))
    }

    @Test func `messages of running requests are limited, however often their caller connects again`() throws {
        var memory = Memory(limits: Memory.Limits(requestBytes: 4_000, requestBytesEach: 1_000))
        var reported: [String] = []
        // Neither a short message nor another system is affected, and a repeated request holds nothing.
        let requests: [(key: String, system: UInt8, bytes: Int)] = [
            ("1", 1, 600), ("2", 1, 600), ("3", 1, 100), ("1", 2, 600), ("1", 1, 600),
        ]
        for request in requests {
            let outcome = memory.received(
                try Self.name(request.key, system: request.system),
                of: try Self.holder(request.system),
                fingerprint: 1,
                requestBytes: request.bytes,
                work: "it",
                now: Self.start
            )
            reported.append(Self.reported(outcome))
            guard case .outcome(let full) = outcome else { continue }
            #expect(full.response.failure?.code == "request-bytes-exceeded")
            #expect(full.response.failure?.canRetry == true)
        }
        #expect(reported == ["carry out", "status 2", "carry out", "carry out", "wait for it"])
        #expect(memory.runningBytes == 1_300)
        memory.executed(try Self.name("1"), Self.response(1), bytes: 10, now: Self.start)
        #expect(memory.runningBytes == 700)
        let next = try memory.received(
            Self.name("2"),
            of: Self.holder(),
            fingerprint: 1,
            requestBytes: 600,
            work: "",
            now: Self.start
        )
        #expect(Self.reported(next) == "carry out")
        for (key, system) in [("2", 1), ("3", 1), ("1", 2)] as [(String, UInt8)] {
            memory.executed(try Self.name(key, system: system), Self.response(1), bytes: 10, now: Self.start)
        }
        #expect(memory.runningBytes == 0)
        #expect(memory.count == 4)
    }

    @Test func `one holder may have two messages of any length that is configured`() {
        var limits = Memory.Limits()
        limits.raise(forMessagesOf: 1 << 10)
        #expect(limits.requestBytes == 64 << 20 && limits.requestBytesEach == 16 << 20)
        limits.raise(forMessagesOf: 16 << 20)
        #expect(limits.requestBytes == 128 << 20 && limits.requestBytesEach == 32 << 20)
    }

    @Test func `a response beyond the quota of bytes is not kept, and its request is not executed twice`() throws {
        var memory = Memory(limits: Memory.Limits(bytes: 100_000, bytesEach: 10_000))
        let executed = try Self.fill(&memory, system: 1, requests: 100, bytes: 1_500)
        #expect(executed == 100)
        #expect(memory.bytes == 9_000)
        let kept = try memory.received(Self.name("5"))
        #expect(Self.reported(kept) == "answer 5")
        let lost = try memory.received(Self.name("6"))
        #expect(Self.reported(lost) == "status 5")
    }

    @Test func `a response too large for the cache is not executed twice`() throws {
        var memory = Memory(limits: Memory.Limits(responseBytes: 2_000))
        let name = try Self.name()
        _ = memory.received(name)
        memory.executed(name, Self.response(1), bytes: 2_001, now: Self.start)
        let again = memory.received(name)
        #expect(Self.reported(again) == "status 5")
    }

    @Test func `failures that are forgotten again and again use no memory`() throws {
        var memory = Memory()
        let name = try Self.name()
        for _ in 0..<10_000 {
            guard case .execute(let execution) = memory.received(name) else {
                Issue.record("It was forgotten.")
                return
            }
            memory.executed(name, HandlerOutcome(Response(status: .failure)), bytes: 10, now: Self.start)
            memory.forgetFailure(name, execution)
        }
        #expect(memory.count == 0)
        #expect(memory.endCount < 200)
    }
}

extension IdempotencyCacheStateMachine<String> {
    /// Receives a request that counts for its own system.
    fileprivate mutating func received(
        _ name: Name,
        fingerprint: Int = 1,
        work: String = "",
        now: ContinuousClock.Instant = IdempotencyCacheTests.start
    ) -> OnRequest {
        self.received(name, of: .system(name.system), fingerprint: fingerprint, work: work, now: now)
    }
}
