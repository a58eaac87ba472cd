// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsTransport

@Suite struct KeyedLimiterTests {
    private var limiter = KeyedLimiter<String>(total: 10, perKey: 4)

    @Test mutating func `an amount fits if it exceeds neither limit`() {
        self.limiter.add(3, for: "a")
        #expect(self.limiter.capacity(for: "a") == .free)
        #expect(self.limiter.capacity(for: "a", adding: 2) == .fullForKey)
        self.limiter.add(4, for: "b")
        #expect(self.limiter.capacity(for: "c", adding: 3) == .free)
        #expect(self.limiter.capacity(for: "c", adding: 4) == .full)
    }

    @Test mutating func `amounts beyond the limits are counted and removed`() {
        self.limiter.add(20, for: "a")
        #expect(self.limiter.count == 20)
        #expect(self.limiter.capacity(for: "b", adding: 0) == .full)
        self.limiter.add(-20, for: "a")
        #expect(self.limiter.count == 0)
        #expect(self.limiter.keys == 0)
        #expect(self.limiter.capacity(for: "a", adding: 4) == .free)
    }

    @Test mutating func `leaving a key that is not in use changes nothing`() {
        #expect(self.limiter.enter("a") == true)
        self.limiter.leave("b")
        #expect(self.limiter.count == 1)
        self.limiter.leave("a")
        self.limiter.leave("a")
        #expect(self.limiter.count == 0)
    }

    @Test func `keys that share what is free leave some for the next one`() {
        var limiter = KeyedLimiter<Int>(total: 1_000, perKey: 100, sharesOfFree: 4)
        for key in 0..<20 { while limiter.enter(key) {} }
        #expect(limiter.count(of: 0) == 100)
        #expect(limiter.count(of: 19) > 0)
        #expect(limiter.enter(20) == true)
        #expect(limiter.count < 1_000)
    }
}
