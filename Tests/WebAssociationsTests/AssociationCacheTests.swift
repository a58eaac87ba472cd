// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import WebAssociations

/// What sites have said is used until it expires, and no longer (H-83).
@Suite struct AssociationCacheTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func entry(
        _ host: String = "a.example",
        _ code: AssociationFailure.Code? = nil,
        maxAge: Duration? = nil
    ) -> AssociationCache.Entry {
        AssociationCache.Entry(
            host: host,
            application: "KEY.a",
            failure: code.map { AssociationFailure($0, "No.") },
            maxAge: maxAge,
            now: self.now
        )
    }

    @Test(
        arguments: [
            (nil, nil, 86_400.0), (nil, Duration.seconds(600), 600), (nil, .seconds(1), 300),
            (nil, .seconds(1 << 31), 86_400), (.notListed, .seconds(86_400), 300), (.unreachable, nil, 300),
        ] as [(AssociationFailure.Code?, Duration?, Double)]
    )
    func `an approval lasts a day at most, a refusal five minutes`(
        code: AssociationFailure.Code?,
        maxAge: Duration?,
        seconds: Double
    ) {
        var cache = AssociationCache()
        cache.add(self.entry(code, maxAge: maxAge), now: self.now)
        #expect(cache.entry("KEY.a", on: "a.example", now: self.now + seconds - 1)?.failure?.code == code)
        #expect(cache.entry("KEY.a", on: "a.example", now: self.now + seconds) == nil)
        #expect(cache.entry("KEY.b", on: "a.example", now: self.now) == nil)
        #expect(cache.entry("KEY.a", on: "b.a.example", now: self.now) == nil)
    }

    private func entry(_ code: AssociationFailure.Code?, maxAge: Duration?) -> AssociationCache.Entry {
        self.entry("a.example", code, maxAge: maxAge)
    }

    @Test func `an entry of another clock, or that lasts too long, is not used`() {
        var cache = AssociationCache()
        var entry = self.entry()
        cache.add(entry, now: self.now)
        #expect(cache.entry("KEY.a", on: "a.example", now: self.now - 1) == nil)
        entry.expires = self.now + 1_000_000
        cache.add(entry, now: self.now)
        #expect(cache.entry("KEY.a", on: "a.example", now: self.now) == nil)
    }

    @Test func `the cache is bounded, and survives being written and read`() {
        var cache = AssociationCache()
        for number in 0..<(AssociationCache.maxEntries + 10) {
            cache.add(self.entry("\(number).example", number == 0 ? .notListed : nil), now: self.now)
        }
        #expect(cache.entries.count == AssociationCache.maxEntries)
        #expect(AssociationCache(cache.encoded()) == cache)
        #expect(AssociationCache(nil).entries.isEmpty && AssociationCache(Array("{".utf8)).entries.isEmpty)
    }

    @Test func `a newer entry replaces the older one`() {
        var cache = AssociationCache()
        cache.add(self.entry(), now: self.now)
        cache.add(self.entry(.notListed, maxAge: nil), now: self.now)
        #expect(cache.entries.count == 1)
        #expect(cache.entry("KEY.a", on: "a.example", now: self.now)?.failure?.code == .notListed)
    }
}
