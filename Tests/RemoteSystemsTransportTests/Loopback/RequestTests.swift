// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Requests and responses between two systems, over TLS (R-39 … ).
@Suite(.timeLimit(.minutes(1))) struct RequestTests {
    @Test func `a request gets its response over TLS`() async throws {
        try await LoopbackHost.with { request, _ in
            Response(message: ["echo": .dictionary(request.message)])
        } _: { host in
            let connection = try await host.connect()
            let response = try await connection.send(["Type": "ping"], timeout: .seconds(20))
            #expect(response.status == .success)
            #expect(response.message == ["echo": ["Type": "ping"]])
            await connection.close()
            #expect(await connection.waitUntilClosed() == .completed)
        }
    }

    @Test func `requests start in the order they were sent (R-39)`() async throws {
        let seen = Mutex<[Int64]>([])
        try await LoopbackHost.with(limits: .patient { $0.concurrentRequests = 1 }) { request, _ in
            seen.withLock { $0.append(request.message["number"]?.int64 ?? -1) }
            await Task.yield()
            return Response()
        } _: { host in
            let connection = try await host.connect()
            for call in connection.submit(300) { try await call.value }
            await connection.close()
        }
        #expect(seen.withLock { $0 } == Array(0..<300))
    }

    @Test func `a thousand concurrent requests all get their own responses (R-39)`() async throws {
        try await LoopbackHost.with { host in
            let connection = try await host.connect()
            try await connection.sendConcurrently(1000)
            await connection.close()
        }
    }

    @Test func `both sides send requests and responses at the same time (R-39)`() async throws {
        try await LoopbackHost.with { request, connection in
            // Sends a request itself before it responds.
            guard let back = try? await connection.send(["back": 1], timeout: .seconds(20)) else {
                return Response(status: .failure)
            }
            return Response(message: ["from caller": .dictionary(back.message)])
        } _: { host in
            let connection = try await host.connect { request, _ in
                Response(message: ["you said": request.message["back"] ?? .null])
            }
            let response = try await connection.send([:], timeout: .seconds(20))
            #expect(response.message == ["from caller": ["you said": 1]])
            await connection.close()
        }
    }

    @Test func `an unknown status, and a failure, arrive as they were sent`() async throws {
        try await LoopbackHost.with { _, _ in
            Response(status: ResponseStatus(rawValue: 4711), failure: WireFailure("Out of paper.", canRetry: true))
        } _: { host in
            let connection = try await host.connect()
            let response = try await connection.send([:], timeout: .seconds(20))
            #expect(response.status == ResponseStatus(rawValue: 4711))
            #expect(response.failure == WireFailure("Out of paper.", canRetry: true))
            await connection.close()
        }
    }

    // MARK: Size

    @Test func `a message too large for the peer is refused before sending, and the connection continues`()
        async throws
    {
        let handled = Mutex(0)
        let small = ConnectionLimits.patient { $0.messageBytes = 2048 }
        try await LoopbackHost.with(limits: small) { request, _ in
            handled.withLock { $0 += 1 }
            return Response(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            let large: ValueSet = ["a": .string(String(repeating: "x", count: 2048))]
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(large, timeout: .seconds(20))
            }
            #expect(error?.code == .messageTooLarge)
            #expect(error?.wasSent == false)
            #expect(try await connection.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
            await connection.close()
        }
        #expect(handled.withLock { $0 } == 1)
    }

    @Test func `a response too large for the caller becomes a status, and the connection continues`() async throws {
        try await LoopbackHost.with { request, _ in
            let count = request.message["count"]?.int64 ?? 0
            return Response(message: ["a": .string(String(repeating: "x", count: Int(count)))])
        } _: { host in
            let connection = try await host.connect(limits: .patient { $0.messageBytes = 2048 })
            let response = try await connection.send(["count": 5000], timeout: .seconds(20))
            #expect(response.status == .messageTooLarge)
            #expect(response.message.isEmpty)
            #expect(response.failure?.text.contains("2048") == true)
            #expect(try await connection.send(["count": 1], timeout: .seconds(20)).message == ["a": "x"])
            await connection.close()
        }
    }

    @Test func `a message of 16 MiB makes the round trip`() async throws {
        let large = ConnectionLimits.patient { $0.messageBytes = ConnectionLimits.maxMessageBytes }
        try await LoopbackHost.with(limits: large) { host in
            let connection = try await host.connect(limits: large)
            let message: ValueSet = ["a": .data(.init(repeating: 7, count: (16 << 20) - 64))]
            let response = try await connection.send(message, timeout: .seconds(30))
            #expect(response.message == message)
            await connection.close()
        }
    }

    @Test func `a message that cannot be encoded fails alone`() async throws {
        try await LoopbackHost.with { host in
            let connection = try await host.connect()
            let error = await #expect(throws: TransportError.self) {
                try await connection.send(["when": .date(secondsSince1970: .nan)], timeout: .seconds(20))
            }
            #expect(error?.code == .invalidMessage)
            #expect(try await connection.send([:], timeout: .seconds(20)).status == .success)
            await connection.close()
        }
    }

    // MARK: Windows

    @Test func `a full window makes calls wait, and loses none`() async throws {
        let running = Mutex((now: 0, most: 0))
        try await LoopbackHost.with(limits: .patient { $0.window = 4 }) { request, _ in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            return Response(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            try await connection.sendConcurrently(100)
            await connection.close()
        }
        #expect(running.withLock { $0.most } <= 4)
    }

    @Test func `the window's bytes are limited, too`() async throws {
        let limits = ConnectionLimits.patient {
            $0.messageBytes = 4096
            $0.windowBytes = 8192
        }
        try await LoopbackHost.with(limits: limits) { request, _ in
            await Task.yield()
            return Response(message: ["count": .integer(Int64(request.message["a"]?.string?.utf8.count ?? 0))])
        } _: { host in
            let connection = try await host.connect()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let text = String(repeating: "x", count: 3000 + number)
                        let response = try await connection.send(["a": .string(text)], timeout: .seconds(30))
                        #expect(response.message["count"] == .integer(Int64(text.utf8.count)))
                    }
                }
                try await group.waitForAll()
            }
            await connection.close()
            #expect(await connection.waitUntilClosed() == .completed)
        }
    }

    @Test func `large and small messages beyond the window's bytes arrive completely`() async throws {
        let limits = ConnectionLimits.patient {
            $0.messageBytes = 300_000
            $0.windowBytes = 300_000
        }
        try await LoopbackHost.with(limits: limits) { request, _ in
            await Task.yield()
            return Response(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        let count = number.isMultiple(of: 3) ? 200_000 : number
                        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* number) })
                        let response = try await connection.send(["Data": .data(data)], timeout: .seconds(30))
                        #expect(response.message["Data"] == .data(data), "\(number)")
                    }
                }
                try await group.waitForAll()
            }
            await connection.close()
            #expect(await connection.waitUntilClosed() == .completed)
        }
    }

    // MARK: Deadlines and cancellation

    @Test func `a passed deadline ends the call, and cancels the peer's handler`() async throws {
        let wasCancelled = Mutex(false)
        try await LoopbackHost.with { _, _ in
            // Ended by cancellation.
            do { try await Task.sleep(for: .seconds(60)) } catch { wasCancelled.withLock { $0 = true } }
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let error = await #expect(throws: TransportError.self) {
                try await connection.send([:], timeout: .milliseconds(50))
            }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.wasSent == true)
            try await eventually("cancellation of the handler") { wasCancelled.withLock { $0 } }
            await connection.close()
            #expect(await connection.waitUntilClosed() == .completed)
        }
    }

    @Test func `a response of a handler that the deadline cancelled counts as a passed deadline`() async throws {
        let account = try TestAccount()
        let (port, listener, accepted) = try await RawPeer.listen(with: TransportSecurity(identity: account.system()))
        let connector = Connector(
            security: try TransportSecurity(identity: account.system()),
            limits: .patient,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        // Not the peer's event loop.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connecting = Task {
            try await connector.connect(
                to: [Endpoint(host: "127.0.0.1", port: port)],
                expecting: nil,
                hello: .test,
                on: group.next()
            ) { _, _ in Response() }
        }
        let peer = try await accepted.get()
        _ = try await peer.nextFrame()
        try peer.send(.accept(Acceptance(application: "test", limits: ConnectionLimits.patient.peerLimits)))
        let connection = try await connecting.value
        let call = Task { try await connection.send([:], timeout: .milliseconds(50)) }
        guard case .request(let id, _, _, _, _)? = try await peer.nextFrame() else {
            Issue.record("No request came.")
            return
        }
        // The response waits in the socket while the event loop is busy until after the deadline.
        let isBusy = Mutex(false)
        connection.channel.eventLoop.execute {
            isBusy.withLock { $0 = true }
            usleep(200_000)
        }
        try await eventually("the busy event loop") { isBusy.withLock { $0 } }
        let failure = WireFailure("The request was cancelled.", code: .cancelled)
        try peer.send(.response(id: id, status: .failure, message: [:], failure: failure))
        let error = await #expect(throws: TransportError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        await connection.abortAndWait()
        peer.close()
        try await listener.close().get()
        try await group.shutdownGracefully()
    }

    @Test func `a deadline that passes in the queue reports that nothing was sent`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.window = 1 }) { _, _ in
            // Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let first = Task { try await connection.send([:], timeout: .seconds(30)) }
            try await eventually("the first request") { try await connection.hasCallsOut }
            let error = await #expect(throws: TransportError.self) {
                try await connection.send([:], timeout: .milliseconds(20))
            }
            #expect(error?.code == .deadlineExceeded)
            #expect(error?.wasSent == false)
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            connection.abort()
        }
    }

    @Test func `cancelling the calling task reaches the peer's handler`() async throws {
        let state = Mutex("")
        try await LoopbackHost.with { _, _ in
            state.withLock { $0 = "started" }
            // Ended by cancellation.
            do { try await Task.sleep(for: .seconds(60)) } catch { state.withLock { $0 = "cancelled" } }
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let call = Task { try await connection.send([:], timeout: .seconds(30)) }
            try await eventually("the handler") { state.withLock { $0 } == "started" }
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            try await eventually("cancellation of the handler") { state.withLock { $0 } == "cancelled" }
            // The late response frees the place in the window.
            try await eventually("the late answer") { try await !connection.hasCallsOut }
            await connection.close()
        }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        let handled = Mutex(0)
        try await LoopbackHost.with { _, _ in
            handled.withLock { $0 += 1 }
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let mayStart = Gate()
            let call = Task {
                await mayStart.wait()
                return try await connection.send([:], timeout: .seconds(30))
            }
            call.cancel()
            mayStart.open()
            await #expect(throws: CancellationError.self) { try await call.value }
            _ = try await connection.send([:], timeout: .seconds(20))
            await connection.close()
        }
        #expect(handled.withLock { $0 } == 1)
    }

    @Test func `a handler that never ends does not block other requests`() async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with { request, _ in
            if request.message["forever"] != nil { await endOfTest.wait() }
            return Response(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            await #expect(throws: TransportError.self) {
                try await connection.send(["forever": true], timeout: .milliseconds(50))
            }
            #expect(try await connection.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
            connection.abort()
        }
    }
}

extension Connection {
    /// Sends requests at the same time to a peer that returns them, and checks that each gets its own response.
    fileprivate func sendConcurrently(_ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let response = try await self.send(["number": .integer(Int64(number))], timeout: .seconds(30))
                    #expect(response.message["number"] == .integer(Int64(number)))
                }
            }
            try await group.waitForAll()
        }
    }

    /// Starts this many requests, each before the next. Without isolation, tasks start where they are created.
    fileprivate nonisolated func submit(_ count: Int) -> [Task<Void, any Error>] {
        (0..<count).map { number in
            Task.immediate { _ = try await self.send(["number": .integer(Int64(number))], timeout: .seconds(30)) }
        }
    }
}
