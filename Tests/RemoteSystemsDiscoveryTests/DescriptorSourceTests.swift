// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import RemoteSystemsDiscovery
import Testing

/// Readiness of descriptors.
@Suite(.timeLimit(.minutes(5))) struct DescriptorSourceTests {
    private struct Failure: Error {}

    private static func pipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        let result = unsafe Glibc.pipe(&ends)
        guard result == 0 else { throw Failure() }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            // Programs that other tests start must not hold the pipe open.
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        return (ends[0], ends[1])
    }

    private static func read(_ descriptor: Int32) -> UInt8? {
        var byte: UInt8 = 0
        let count = unsafe Glibc.read(descriptor, &byte, 1)
        return count == 1 ? byte : nil
    }

    private static func write(_ byte: UInt8, to descriptor: Int32) -> Bool {
        var byte = byte
        let count = unsafe Glibc.write(descriptor, &byte, 1)
        return count == 1
    }

    @Test func `a handler is called again while there is something to read, and at the end`() async throws {
        let pipe = try Self.pipe()
        for byte in UInt8(1)...3 { #expect(Self.write(byte, to: pipe.writing)) }
        close(pipe.writing)
        let (bytes, feed) = AsyncStream.makeStream(of: UInt8.self)
        let source = DescriptorSource(pipe.reading, queue: DispatchQueue(label: "reading")) { source in
            if let byte = Self.read(source.descriptor) {
                feed.yield(byte)
            } else {
                source.cancel()
                feed.finish()
            }
        }
        var received: [UInt8] = []
        for await byte in bytes { received.append(byte) }
        #expect(received == [1, 2, 3])
        #expect(source?.isCancelled == true)
    }

    @Test func `the events can be changed, and a cancelled source closes its descriptor`() async throws {
        let pipe = try Self.pipe()
        defer { close(pipe.reading) }
        let (turns, feed) = AsyncStream.makeStream(of: Void.self)
        let queue = DispatchQueue(label: "writing")
        let made = DescriptorSource(pipe.writing, events: [], queue: queue) { source in
            source.watch([])
            feed.yield()
        }
        let source = try #require(made)
        var iterator = turns.makeAsyncIterator()
        for byte in UInt8(1)...3 {
            #expect(Self.read(pipe.reading) == nil)
            source.watch(.writing)
            _ = await iterator.next()
            #expect(Self.write(byte, to: source.descriptor))
            #expect(Self.read(pipe.reading) == byte)
        }
        source.cancel()
        source.cancel()
        // It is closed on the queue. A program that another test is about to start holds a copy until its exec.
        var ending = pollfd(fd: pipe.reading, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&ending, 1, 10_000)
        var end: UInt8 = 0
        let count = unsafe Glibc.read(pipe.reading, &end, 1)
        #expect(count == 0)
    }

    @Test func `a regular file has no events`() {
        let file = unsafe open("/proc/self/exe", O_RDONLY)
        #expect(file >= 0)
        let source = DescriptorSource(file, queue: DispatchQueue(label: "file")) { _ in }
        let isRefused = source == nil
        #expect(isRefused)
    }

    /// The use in which Dispatch's sources can crash: swift-corelibs-libdispatch issue 949.
    @Test func `descriptors whose numbers are used again by several threads report their own events`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<8 {
                group.addTask {
                    let queue = DispatchQueue(label: "queue \(number)")
                    for turn in UInt8(0)..<200 {
                        let pipe = try Self.pipe()
                        let (bytes, feed) = AsyncStream.makeStream(of: UInt8?.self)
                        let source = DescriptorSource(pipe.reading, queue: queue) { source in
                            feed.yield(Self.read(source.descriptor))
                            feed.finish()
                            source.cancel()
                        }
                        guard source != nil else { throw Failure() }
                        #expect(Self.write(number ^ turn, to: pipe.writing))
                        for await byte in bytes { #expect(byte == number ^ turn) }
                        close(pipe.writing)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
