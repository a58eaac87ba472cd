// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

/// Which of many similar events are logged.
@Suite struct LogLimiterTests {
    private var limiter = LogLimiter<Int>(period: .seconds(60), total: 10, perKey: 3)

    @Test mutating func `the first events are logged, and the others counted for one summary`() {
        for _ in 0..<3 { #expect(self.limiter.occurred(for: 1, now: .at(0)) == .log) }
        #expect(self.limiter.occurred(for: 1, now: .at(20_000)) == .countAndSummarize(after: .seconds(40)))
        for _ in 0..<1_000 { #expect(self.limiter.occurred(for: 1, now: .at(30_000)) == .count) }
        #expect(self.limiter.summarize() == 1_001)
        #expect(self.limiter.summarize() == 0)
        #expect(self.limiter.occurred(for: 1, now: .at(60_000)) == .log)
    }

    @Test mutating func `a flood of one peer leaves space for the events of others`() {
        for _ in 0..<1_000 { _ = self.limiter.occurred(for: 1, now: .at(0)) }
        for key in 2...4 { #expect(self.limiter.occurred(for: key, now: .at(1_000)) == .log) }
        var logged = 0
        for key in 5...1_000 where self.limiter.occurred(for: key, now: .at(1_000)) == .log { logged += 1 }
        #expect(logged == 4)
    }

    @Test func `reserved places are for peers of which no event is logged yet`() {
        var limiter = LogLimiter<Int>(total: 10, perKey: 6, reserved: 3)
        func logged(_ key: Int) -> Int { (0..<20).count { _ in limiter.occurred(for: key, now: .at(0)) == .log } }
        let counts = (1...6).map(logged)
        #expect(counts == [6, 1, 1, 1, 1, 0])
    }

    @Test mutating func `the key with the most counted events is known, also among very many others`() {
        #expect(self.limiter.most == nil)
        for _ in 0..<3 { _ = self.limiter.occurred(for: 1, now: .at(0)) }
        #expect(self.limiter.most == nil)
        for round in 0..<1_000 {
            for key in [1_000 + 3 * round, 1, 1_001 + 3 * round, 1_002 + 3 * round] {
                _ = self.limiter.occurred(for: key, now: .at(1_000))
            }
        }
        #expect(self.limiter.most == 1)
        _ = self.limiter.summarize()
        #expect(self.limiter.most == nil)
    }

    @Test mutating func `after a quiet period events are logged again without a summary`() {
        for _ in 0..<3 { #expect(self.limiter.occurred(for: 1, now: .at(0)) == .log) }
        #expect(self.limiter.occurred(for: 1, now: .at(60_000)) == .log)
        #expect(self.limiter.summarize() == 0)
    }

    @Test mutating func `a late summary contains all events since the last one`() {
        for _ in 0..<4 { _ = self.limiter.occurred(for: 1, now: .at(0)) }
        #expect(self.limiter.occurred(for: 1, now: .at(70_000)) == .count)
        #expect(self.limiter.summarize() == 2)
    }

    @Test func `the names of incidents are stable`() {
        #expect(
            Incident.allCases.map(\.rawValue) == [
                "certificate-refused", "handshake-failed", "unauthenticated-limit", "connection-limit",
                "protocol-broken", "receive-limit", "request-limit", "response-limit", "key-limit",
                "continuation-limit", "renewal-refused", "renewal-failed", "trust-rejected", "closed-by-peer",
                "response-not-sent", "access.refused", "activity.refused", "handler-failed", "launch-failed",
                "launch-limit", "start-limit", "application-not-started",
            ]
        )
    }
}
