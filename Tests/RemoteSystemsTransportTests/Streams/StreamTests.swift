// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import NIOCore
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Streams over TLS on the loopback interface.
@Suite(.timeLimit(.minutes(2))) struct StreamTests {
    @Test(arguments: [true, false])
    func `each side reads to the other's end and can write after it`(hostFinishesFirst: Bool) async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let (first, second) = hostFinishesFirst ? (pair.host, pair.caller) : (pair.caller, pair.host)
            try await first.write("one ")
            try await first.write("two")
            try await first.finish()
            #expect(try await second.collect() == Array("one two".utf8))
            // Every further read returns the end.
            #expect(try await second.read() == nil)
            try await second.write("three")
            try await second.finish()
            #expect(try await first.collect() == Array("three".utf8))
            try await first.waitUntilFinished()
            try await second.waitUntilFinished()
            let error1 = await streamError { try await first.write("four") }
            #expect(error1?.code == .misuse)
        }
    }

    /// How bytes are passed to a stream and received from it.
    enum Form: CaseIterable { case buffers, arrays }

    @Test(arguments: Form.allCases, Form.allCases)
    func `32 MiB arrive as they were sent, while data flows in the other direction`(
        written: Form,
        read: Form
    ) async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            async let sentByHost = Self.send(32, over: pair.host, seed: 1, as: written)
            async let sentByCaller = Self.send(4, over: pair.caller, seed: 101, as: written)
            async let receivedByHost = Self.receive(pair.host, as: read)
            async let receivedByCaller = Self.receive(pair.caller, as: read)
            #expect(try await sentByHost == receivedByCaller)
            #expect(try await sentByCaller == receivedByHost)
            try await pair.caller.waitUntilFinished()
        }
    }

    /// Sends about this many MiB, in sizes that fit into neither frames nor records.
    private static func send(
        _ count: Int,
        over stream: ByteStream,
        seed: UInt8,
        as form: Form
    ) async throws -> SHA256Digest {
        var hash = SHA256()
        for index in 0..<count {
            let pattern = (0..<(1 << 20) + index % 3 - 1).map { seed &+ UInt8(truncatingIfNeeded: $0 >> 8 &+ index) }
            hash.update(data: pattern)
            switch form {
            case .buffers: try await stream.write(ByteBuffer(bytes: pattern))
            case .arrays: try await stream.write(pattern)
            }
        }
        try await stream.finish()
        return hash.finalize()
    }

    private static func receive(_ stream: ByteStream, as form: Form) async throws -> SHA256Digest {
        var hash = SHA256()
        switch form {
        case .buffers:
            while let chunk = try await stream.read() {
                unsafe chunk.withUnsafeReadableBytes { unsafe hash.update(bufferPointer: $0) }
            }
        case .arrays:
            while let bytes = try await stream.readBytes() {
                #expect((1...(256 << 10)).contains(bytes.count))
                hash.update(data: bytes)
            }
        }
        return hash.finalize()
    }

    @Test(arguments: [true, false])
    func `an abort ends both sides with its reason`(hostAborts: Bool) async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let (aborting, other) = hostAborts ? (pair.host, pair.caller) : (pair.caller, pair.host)
            try await aborting.write("a little")
            // The reading side holds unread data, which the abort drops.
            try await eventually("the bytes") { other.bufferedBytes == 8 }
            aborting.abort(WireFailure("Out of paper.", code: .busy, canRetry: true))
            try await eventually("the abort") { other.bufferedBytes == 0 }
            for operation in [
                { _ = try await other.read() }, { try await other.write("x") }, { try await other.waitUntilFinished() },
            ]
                as [() async throws -> Void]
            {
                let error = await streamError(operation)
                #expect(error?.code == .abortedByPeer)
                #expect(error?.message == "Out of paper.")
                #expect(error?.failureCode == "busy")
                #expect(error?.canRetry == true)
                #expect(error?.side == .remote)
            }
            for operation in [{ _ = try await aborting.read() }, { try await aborting.write("x") }]
                as [() async throws -> Void]
            {
                let error = await streamError(operation)
                #expect(error?.code == .aborted)
                #expect(error?.message == "Out of paper.")
            }
        }
    }

    @Test func `a released stream is aborted, and its peer is notified`() async throws {
        try await LoopbackHost.with { host in
            let caller: ByteStream
            do {
                let pair = try await host.streams()
                caller = pair.caller
            }
            let error = await streamError { _ = try await caller.read() }
            #expect(error?.code == .abortedByPeer)
            #expect(error?.failureCode == "stream-cancelled", "\(String(describing: error))")
        }
    }

    @Test func `what a finished stream has written is delivered after its release`() async throws {
        try await LoopbackHost.with { host in
            let caller: ByteStream
            do {
                let pair = try await host.streams()
                caller = pair.caller
                try await caller.finish()
                #expect(try await pair.host.read() == nil)
                try await pair.host.write("the last words")
                try await pair.host.finish()
            }
            #expect(try await caller.read() == ByteBuffer(string: "the last words"))
            #expect(try await caller.read() == nil)
            try await caller.waitUntilFinished()
        }
    }

    // MARK: Ends that are errors

    @Test func `close_notify without the end of the stream is an error and no end`() async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            try peer.send(.data(ByteBuffer(string: "half of")))
            peer.close()
            #expect(try await stream.read() == ByteBuffer(string: "half of"))
            let error = await streamError { _ = try await stream.read() }
            #expect(error?.code == .truncated)
            #expect(error?.canRetry == true)
        }
    }

    @Test func `a connection that is cut is an error and no end, for both sides`() async throws {
        try await LoopbackHost.with { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let pair = try await host.streams(through: tunnel.port)
            try await pair.host.write("half of")
            #expect(try await pair.caller.read() == ByteBuffer(string: "half of"))
            tunnel.cut()
            let error2 = await streamError { _ = try await pair.caller.read() }
            #expect(error2?.code == .truncated)
            let error3 = await streamError { _ = try await pair.host.read() }
            #expect(error3?.code == .truncated)
            await tunnel.stop()
        }
    }

    @Test func `a connection cut after the end leaves the input complete and the output unconfirmed`()
        async throws
    {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            try peer.send(.data(ByteBuffer(string: "all")), .fin)
            try await stream.write("answer")
            try await stream.finish()
            #expect(try await peer.nextFrame() == .data(ByteBuffer(string: "answer")))
            #expect(try await peer.nextFrame() == .fin)
            // The peer does not confirm it.
            peer.close()
            let error4 = await streamError { try await stream.waitUntilFinished() }
            #expect(error4?.code == .connectionLost)
            #expect(try await stream.collect() == Array("all".utf8))
        }
    }

    @Test func `nothing follows an abort, not even a response to a ping`() async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            stream.abort()
            guard case .abort? = try await peer.nextFrame() else {
                Issue.record("the stream was not aborted")
                return
            }
            // The peer's own abort makes the host close at once.
            try peer.send(.ping(token: 1), .ping(token: 2), .abort(WireFailure("Enough.")))
            #expect(try await peer.remainingFrames() == [])
        }
    }

    @Test func `a silent peer is detected within the dead-peer timeout`() async throws {
        var limits = StreamLimits()
        limits.deadPeerTime = .milliseconds(600)
        try await LoopbackHost.with(streams: limits) { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let pair = try await host.streams(through: tunnel.port)
            tunnel.goSilent()
            let error5 = await streamError { _ = try await pair.host.read() }
            #expect(error5?.code == .truncated)
            #expect(error5?.message.contains("silent") == true)
            await tunnel.stop()
        }
    }

    // MARK: Back-pressure

    @Test func `streams of one system that are not read hold little memory, and those of another one as usual`()
        async throws
    {
        let budget = MemoryBudget(messageBytes: 64 << 10, streams: 8, streamsEach: 2)
        try await LoopbackHost.with(memoryBudget: budget) { host in
            let (attacker, honest) = (try host.account.system(), try host.account.system())
            var pairs: [StreamPair] = []
            for _ in 0..<6 { pairs.append(try await host.streams(as: attacker)) }
            let (first, further) = (Array(pairs.prefix(2)), Array(pairs.dropFirst(2)))
            let other = try await host.streams(as: honest)
            #expect(budget.streams == 3)
            let writers = (pairs + [other]).map { pair in
                Task { try await pair.caller.write(ByteBuffer(repeating: 7, count: 2 << 20)) }
            }
            let (full, little) = (StreamLimits().bufferedBytes, MemoryBudget.streamBytesOfFurther)
            try await eventually("the buffers are full") {
                (first + [other]).allSatisfy { $0.host.bufferedBytes >= full }
                    && further.allSatisfy { $0.host.bufferedBytes >= little }
            }
            // One read of the network, and what TLS held of the one before.
            for pair in further { #expect(pair.host.bufferedBytes <= 4 * little) }
            for pair in further + [other] {
                var count = 0
                while count < 2 << 20, let bytes = try await pair.host.read() { count += bytes.readableBytes }
                #expect(count == 2 << 20)
            }
            for pair in pairs + [other] { pair.host.abort() }
            for writer in writers { _ = await writer.result }
            try await eventually("the places are free again") { budget.streams == 0 }
        }
    }

    /// Also H-76: continuation streams are these streams.
    @Test func `a reader that does not read blocks its peer, in bounded memory`() async throws {
        let limits = StreamLimits()
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let sent = Mutex(0)
            let writer = Task {
                for _ in 0..<24 {
                    try await pair.host.write(ByteBuffer(repeating: 7, count: 1 << 20))
                    sent.withLock { $0 += 1 }
                }
                try await pair.host.finish()
            }
            let end = ContinuousClock.now + .seconds(1)
            var most = 0
            while ContinuousClock.now < end {
                most = max(most, pair.caller.bufferedBytes)
                // Polls, since a blocked writer reports nothing.
                try await Task.sleep(for: .milliseconds(10))
            }
            #expect(sent.withLock { $0 } < 24)
            // One pass of the event loop can add four reads of at most 64 KiB.
            try await eventually("as much as may be held") {
                most = max(most, pair.caller.bufferedBytes)
                return most >= limits.bufferedBytes
            }
            #expect(most >= limits.bufferedBytes && most <= limits.bufferedBytes + (256 << 10))
            var count = 0
            for try await chunk in pair.caller { count += chunk.readableBytes }
            #expect(count == 24 << 20)
            try await writer.value
        }
    }

    @Test func `a live peer that never reads is disconnected`() async throws {
        var limits = StreamLimits()
        limits.stallTimeout = .milliseconds(700)
        try await LoopbackHost.with(streams: limits) { host in
            let pair = try await host.streams()
            let error = await streamError {
                while true { try await pair.host.write(ByteBuffer(repeating: 7, count: 1 << 20)) }
            }
            #expect(error?.code == .stalled)
            #expect(error?.failureCode == "stream-stalled")
            _ = pair.caller
        }
    }

    @Test func `many small pieces take no more memory than their bytes`() async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            for _ in 0..<100 {
                try peer.send(.data(ByteBuffer(string: "a")), .data(ByteBuffer(string: "b")))
            }
            try await eventually("the bytes") { stream.bufferedBytes == 200 }
            let chunk = try #require(try await stream.read())
            #expect(chunk.readableBytes == 200)
            #expect(chunk.storageCapacity <= 16 << 10)
            peer.close()
        }
    }

    // MARK: Cancelling

    @Test func `a cancelled reader loses nothing`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let reader = Task { try await pair.caller.read() }
            // Lets the read start in real time; either order must pass.
            try await Task.sleep(for: .milliseconds(20))
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            try await pair.host.write("still here")
            #expect(try await pair.caller.read() == ByteBuffer(string: "still here"))
        }
    }

    @Test func `two concurrent readers are an error, and the first one continues`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let reader = Task { try await pair.caller.read() }
            try await eventually("the reader") { pair.caller.streamConnection.inbox.hasReader }
            let error6 = await streamError { _ = try await pair.caller.read() }
            #expect(error6?.code == .misuse)
            try await pair.host.write("for the first")
            #expect(try await reader.value == ByteBuffer(string: "for the first"))
        }
    }

    @Test func `a writer cancelled halfway ends the stream, one that has sent nothing does not`() async throws {
        try await LoopbackHost.with { host in
            let pair = try await host.streams()
            let first = Task { try await pair.host.write(ByteBuffer(repeating: 1, count: 64 << 20)) }
            try await eventually("bytes that are held") { pair.caller.bufferedBytes > 0 }
            let second = Task { try await pair.host.write(ByteBuffer(repeating: 2, count: 5)) }
            // Lets the write start in real time; either order must pass.
            try await Task.sleep(for: .milliseconds(20))
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            #expect(try await pair.caller.read() != nil)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            let error = await streamError { while try await pair.caller.read() != nil {} }
            #expect(error?.failureCode == "stream-cancelled", "\(String(describing: error))")
        }
    }

    @Test func `a cancelled wait for the end returns, and the stream continues`() async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            try await stream.finish()
            let wait = Task { try await stream.waitUntilFinished() }
            // Lets the wait start in real time; either order must pass.
            try await Task.sleep(for: .milliseconds(20))
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
            try peer.send(.data(ByteBuffer(string: "still here")), .fin)
            let bytes = try await stream.collect()
            #expect(bytes == Array("still here".utf8))
            peer.close()
        }
    }

    // MARK: Broken rules

    @Test(
        arguments: [
            ([.fin, .data(ByteBuffer(string: "x"))], "frame-unexpected"), ([.fin, .fin], "frame-unexpected"),
            ([.close(.completed, nil)], "frame-unexpected"), ([.cancel(id: 1)], "frame-unexpected"),
            ([.request(id: 1, timeoutMilliseconds: 1, message: [:])], "frame-unexpected"),
        ] as [([Frame], String)]
    )
    func `a broken rule ends the stream with its code`(frames: [Frame], code: String) async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            for frame in frames { try peer.send(frame) }
            guard case .abort(let failure)? = try await peer.nextFrame() else {
                Issue.record("no abort")
                return
            }
            #expect(failure.code == code)
            peer.close()
            let error = await streamError {
                while try await stream.read() != nil {}; try await stream.waitUntilFinished()
            }
            #expect(error?.code == .protocolViolation)
        }
    }

    @Test func `an unknown frame is ignored, and a ping gets its response`() async throws {
        try await LoopbackHost.with { host in
            let (peer, stream) = try await host.openRawStream()
            // Kind 99, then a ping.
            peer.send([0, 0, 0, 3, 0x81, 0x18, 0x63, 0, 0, 0, 3, 0x82, 6, 5])
            #expect(try await peer.nextFrame() == .pong(token: 5))
            try peer.send(.data(ByteBuffer(string: "x")))
            #expect(try await stream.read() == ByteBuffer(string: "x"))
            peer.close()
        }
    }

    @Test func `stream frames are not allowed on a connection for messages`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.data(ByteBuffer(string: "x")))
            guard case .close(.unknown, let failure)? = try await peer.nextFrame() else {
                Issue.record("no close")
                return
            }
            #expect(failure?.code == "frame-unexpected")
        }
    }
}
