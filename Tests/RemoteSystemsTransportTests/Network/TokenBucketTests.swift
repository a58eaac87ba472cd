// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsTransport
import Testing

@Suite struct TokenBucketTests {
    static let start = ContinuousClock.now

    @Test func `a full bucket permits a burst, then its rate`() {
        var bucket = TokenBucket(capacity: 10, rate: 5, now: Self.start)
        for _ in 0..<10 {
            #expect(bucket.permits(at: Self.start))
            bucket.take(at: Self.start)
        }
        #expect(!bucket.permits(at: Self.start))
        let next = bucket.nextTime(after: Self.start)
        #expect(next - Self.start >= .milliseconds(200) && next - Self.start < .milliseconds(201))
        #expect(bucket.permits(at: next))
        #expect(!bucket.permits(at: next - .milliseconds(1)))
        #expect(bucket.balance(at: Self.start + .seconds(100)) == 10)
    }

    @Test func `a use may take more than there is, and the next one waits longer`() {
        var bucket = TokenBucket(capacity: 10, rate: 5, now: Self.start)
        bucket.take(29, at: Self.start)
        #expect(bucket.nextTime(after: Self.start) - Self.start >= .seconds(4))
        bucket.putBack(29, at: Self.start)
        #expect(bucket.isFull(at: Self.start))
        bucket.putBack(29, at: Self.start)
        #expect(bucket.balance(at: Self.start) == 10)
    }

    @Test func `times that go backwards return nothing`() {
        var bucket = TokenBucket(capacity: 2, rate: 1, now: Self.start)
        bucket.take(2, at: Self.start + .seconds(10))
        bucket.take(0, at: Self.start)
        #expect(!bucket.permits(at: Self.start + .seconds(10)))
        #expect(bucket.permits(at: Self.start + .seconds(11)))
    }

    @Test func `each key has its own bucket, and full ones are forgotten`() {
        var buckets = KeyedTokenBuckets<Int>(capacity: 2, rate: 1)
        let taken = [1, 1, 1, 2].map { key in
            let isTaken = buckets.permits(key, at: Self.start)
            if isTaken { buckets.take(of: key, at: Self.start) }
            return isTaken
        }
        #expect(taken == [true, true, false, true])
        for key in 0..<100_000 { buckets.take(of: key, at: Self.start + .milliseconds(key)) }
        #expect(buckets.count < 5000)
    }
}
