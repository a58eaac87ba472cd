// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// Which advertisements without the present tag are tried (issue 10, section 1, item 3).
@Suite struct UnrecognisedHintsTests {
    private let start = ContinuousClock.now
    private let endpoint = Endpoint(host: "127.0.0.1", port: 1)

    /// The attempts within `duration`, as the driver makes them: at most one in each interval.
    private func attempts(_ hints: inout UnrecognisedHints, includingUnknown: Bool, within duration: Duration)
        -> [String]
    {
        var names: [String] = []
        var now = self.start
        while let time = hints.nextTime(includingUnknown: includingUnknown) {
            now = max(time, now + UnrecognisedHints.interval)
            guard now <= self.start + duration else { break }
            if let candidate = hints.next(now: now, includingUnknown: includingUnknown) { names.append(candidate.name) }
        }
        return names
    }

    @Test func `a former tag is tried a few times, the first time after systems that are recognised`() {
        var hints = UnrecognisedHints()
        let isKept = hints.seen("a", at: [self.endpoint], .former, now: self.start)
        let atOnce = hints.next(now: self.start, includingUnknown: true)
        #expect(isKept && atOnce == nil)
        let attempts = self.attempts(&hints, includingUnknown: false, within: .seconds(3600))
        #expect(attempts == ["a", "a", "a"])
        #expect(hints.nextTime(includingUnknown: true) == nil)
    }

    @Test func `an unknown tag is tried once, and only where unknown tags are wanted`() {
        var hints = UnrecognisedHints()
        _ = hints.seen("a", at: [self.endpoint], .unknown, now: self.start)
        #expect(hints.nextTime(includingUnknown: false) == nil)
        let attempts = self.attempts(&hints, includingUnknown: true, within: .seconds(3600))
        #expect(attempts == ["a"])
    }

    @Test func `a flood of forged tags causes few attempts and takes few places`() {
        var hints = UnrecognisedHints()
        for number in 0..<100_000 {
            _ = hints.seen("\(number)", at: [self.endpoint], number % 2 == 0 ? .former : .unknown, now: self.start)
        }
        // The interval allows 12 a minute. The places and attempts bound the sum.
        let first = self.attempts(&hints, includingUnknown: true, within: .seconds(60))
        #expect(first.count <= 12)
        let all = self.attempts(&hints, includingUnknown: true, within: .seconds(1_000_000))
        #expect(all.count <= 32 * 3 + 16)
        #expect(hints.nextTime(includingUnknown: true) == nil)
    }

    @Test func `an advertisement that vanishes or is recognised is not tried`() {
        var hints = UnrecognisedHints()
        _ = hints.seen("a", at: [self.endpoint], .former, now: self.start)
        _ = hints.seen("b", at: [], .former, now: self.start)
        hints.remove("a")
        #expect(hints.nextTime(includingUnknown: true) == nil)
        _ = hints.seen("a", at: [self.endpoint], .unknown, now: self.start)
        hints.removeAll()
        #expect(hints.nextTime(includingUnknown: true) == nil)
    }

    @Test func `an advertisement that was tried in vain leaves its place to another one`() {
        var hints = UnrecognisedHints()
        for number in 0..<UnrecognisedHints.maxEntries(.unknown) {
            _ = hints.seen("forged-\(number)", at: [self.endpoint], .unknown, now: self.start)
        }
        let isKept = hints.seen("other", at: [self.endpoint], .unknown, now: self.start)
        #expect(!isKept)
        _ = self.attempts(&hints, includingUnknown: true, within: .seconds(3600))
        let isKeptLater = hints.seen("other", at: [self.endpoint], .unknown, now: self.start + .seconds(3600))
        #expect(isKeptLater)
        #expect(hints.nextTime(includingUnknown: true) == self.start + .seconds(3601))
    }

    @Test func `a name does not decide which of several advertisements comes first`() {
        var first: [String: Int] = [:]
        for seed in 0..<200 {
            var hints = UnrecognisedHints()
            for name in ["!neighbour", "a", "b", "zzz"] {
                _ = hints.seen(name, at: [self.endpoint], .former, now: self.start)
            }
            var generator = SeededGenerator(seed: UInt64(seed))
            let candidate = hints.next(now: self.start + .seconds(1), includingUnknown: true, using: &generator)
            first[candidate?.name ?? "", default: 0] += 1
        }
        #expect(first.count == 4)
        #expect(first.values.allSatisfy { $0 > 20 }, "\(first)")
    }

    @Test func `every advertisement is tried once before one is tried again`() {
        var hints = UnrecognisedHints()
        let names = (0..<8).map { "\($0)" }
        for name in names { _ = hints.seen(name, at: [self.endpoint], .former, now: self.start) }
        let attempts = self.attempts(&hints, includingUnknown: false, within: .seconds(3600))
        #expect(attempts.prefix(8).sorted() == names)
        #expect(attempts.count == 24)
    }
}
