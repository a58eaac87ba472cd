// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import RemoteSystems

@Suite struct StreamReadersTests {
    @Test func `each reader receives its first value, then the newest one`() async {
        var readers = StreamReaders<Int>()
        var first = readers.add(1).stream.makeAsyncIterator()
        #expect(await first.next() == 1)
        var second = readers.add(2).stream.makeAsyncIterator()
        readers.yield(3)
        readers.yield(4)
        readers.finish()
        #expect(await first.next() == 4)
        #expect(await first.next() == nil)
        #expect(await second.next() == 4)
        #expect(await second.next() == nil)
        #expect(readers.isEmpty)
    }

    @Test func `a reader without a first value receives every later one if they are buffered`() async {
        var readers = StreamReaders<Int>(buffering: .unbounded)
        let stream = readers.add().stream
        #expect(readers.count == 1)
        readers.yield(1)
        readers.yield(2)
        readers.finish()
        var values: [Int] = []
        for await value in stream { values.append(value) }
        #expect(values == [1, 2])
    }

    @Test func `a reader can be cancelled while its owner holds its lock, and is removed by the owner's next call`()
        async
    {
        let owner = Mutex(StreamReaders<Int>())
        let stream = owner.withLock { $0.add(1).stream }
        let (begun, feed) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            for await _ in stream { feed.yield() }
        }
        for await _ in begun { break }
        owner.withLock { _ in reader.cancel() }
        await reader.value
        owner.withLock { $0.yield(2) }
        #expect(owner.withLock { $0.isEmpty })
    }

    @Test func `a reader whose sequence is finished ends alone`() async {
        var readers = StreamReaders<Int>()
        let (ended, id) = readers.add(1)
        let kept = readers.add(1).stream
        readers.finish(id)
        readers.yield(2)
        var iterator = kept.makeAsyncIterator()
        #expect(await iterator.next() == 2)
        var values: [Int] = []
        for await value in ended { values.append(value) }
        #expect(values == [1])
    }
}
