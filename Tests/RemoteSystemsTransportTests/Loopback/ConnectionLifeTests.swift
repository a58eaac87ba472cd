// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import NIOCore
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// How connections open and end.
@Suite(.timeLimit(.minutes(1))) struct ConnectionLifeTests {
    // MARK: Opening

    @Test func `an unknown service is refused with its status`() async throws {
        try await LoopbackHost.with { host in
            let error = await #expect(throws: TransportError.self) { _ = try await host.connect(service: "missing") }
            #expect(error?.code == .refused)
            #expect(error?.openStatus == .appServiceUnavailable)
            #expect(error?.message.contains("missing") == true)
        }
    }

    @Test func `both sides know each other's limits`() async throws {
        let limits = ConnectionLimits.patient {
            $0.messageBytes = 4096
            $0.window = 7
            $0.windowBytes = 9000
        }
        try await LoopbackHost.with(limits: limits) { host in
            let connection = try await host.connect()
            #expect(connection.remote.limits == PeerLimits(messageBytes: 4096, window: 7, windowBytes: 9000))
            #expect(connection.remote.application == "test.host")
            let hosts = try await host.connections.first()
            #expect(hosts.remote.limits == ConnectionLimits().peerLimits)
            #expect(hosts.remote.application == "test.caller")
            #expect(connection.peer.systemID == host.security.identity.systemID)
            await connection.close()
        }
    }

    @Test func `sixty-four connections can be open, opened a few at a time`() async throws {
        try await LoopbackHost.with { host in
            let identity = try host.account.system()
            var connections: [Connection] = []
            for _ in 0..<4 {
                try await withThrowingTaskGroup(of: Connection.self) { group in
                    for _ in 0..<16 { group.addTask { try await host.connect(as: identity) } }
                    for try await connection in group { connections.append(connection) }
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, connection) in connections.enumerated() {
                    group.addTask {
                        let message: ValueSet = ["number": .integer(Int64(number))]
                        let response = try await connection.send(message, timeout: .seconds(30))
                        #expect(response.message == message)
                    }
                }
                try await group.waitForAll()
            }
            #expect(host.connections.all.count == 64)
            for connection in connections { connection.abort() }
        }
    }

    @Test func `a port without a listener is an error that says so`() async throws {
        try await LoopbackHost.with { host in
            await host.listener.stop()
            let error = await #expect(throws: TransportError.self) { _ = try await host.connect() }
            #expect(error?.code == .unreachable)
            #expect(error?.canRetry == true)
        }
    }

    @Test func `a port in use is an error with advice`() async throws {
        try await LoopbackHost.with { host in
            let error = await #expect(throws: TransportError.self) {
                _ = try await Listener.start(
                    host: "127.0.0.1",
                    port: host.listener.port,
                    security: host.security,
                    limits: .patient,
                    logger: host.log.logger,
                    admit: { _, _ in .refuse(Refusal(.unknown, "")) }
                )
            }
            #expect(error?.code == .cannotListen)
            #expect(error?.message.contains("\(host.listener.port)") == true)
        }
    }

    @Test func `cancelling a handshake closes the connection`() async throws {
        let gone = Mutex(false)
        let hellos = Counter()
        let mayAnswer = Gate()
        defer { mayAnswer.open() }
        let account = try TestAccount()
        let security = try TransportSecurity(identity: account.system())
        let listener = try await Listener.start(
            host: "127.0.0.1",
            port: 0,
            security: security,
            limits: .patient,
            logger: TestLog().logger
        ) { _, _ in
            hellos.increase()
            await mayAnswer.wait()
            gone.withLock { $0 = true }
            return .refuse(Refusal(.unknown, "Too late."))
        }
        let connector = Connector(
            security: try TransportSecurity(identity: account.system()),
            limits: .patient,
            timeout: .seconds(20),
            logger: TestLog().logger
        )
        let handshake = Task {
            try await connector.connect(
                to: [Endpoint(host: "127.0.0.1", port: listener.port)],
                expecting: nil,
                hello: .test,
                handler: { _, _ in Response() }
            )
        }
        try await eventually("the hello") { hellos.value == 1 }
        handshake.cancel()
        await #expect(throws: CancellationError.self) { _ = try await handshake.value }
        #expect(gone.withLock { !$0 })
        await listener.stop()
    }

    // MARK: Graceful close

    @Test func `a graceful close lets work in progress finish, on both sides`() async throws {
        let mayFinish = Gate()
        try await LoopbackHost.with { request, _ in
            await mayFinish.wait()
            return Response(message: request.message)
        } _: { host in
            let connection = try await host.connect()
            let call = Task { try await connection.send(["a": 1], timeout: .seconds(30)) }
            let hosts = try await host.connections.first()
            try await eventually("the request") { try await hosts.hasRequestsIn }

            let closing = Task { await hosts.close() }
            try await eventually("the word of the close") {
                do {
                    _ = try await connection.send([:], timeout: .milliseconds(1))
                    return false
                } catch let error as TransportError {
                    return error.code == .connectionClosed
                }
            }
            mayFinish.open()
            #expect(try await call.value.message == ["a": 1])
            await closing.value
            #expect(await connection.waitUntilClosed() == .completed)
            #expect(await hosts.waitUntilClosed() == .completed)
        }
    }

    @Test func `a graceful close is cut off at its timeout, and is then not completed`() async throws {
        try await LoopbackHost.with { _, _ in
            // Outlasts the drain timeout. Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            return Response()
        } _: { host in
            let connection = try await host.connect(limits: .patient { $0.drainTime = .milliseconds(50) })
            let call = Task { try await connection.send([:], timeout: .seconds(30)) }
            try await eventually("the request") { try await connection.hasCallsOut }
            await connection.close()
            #expect(await connection.waitUntilClosed() == .cancelled)
            await #expect(throws: TransportError.self) { try await call.value }
        }
    }

    @Test func `after a close nothing is sent, and the error asks for a new connection`() async throws {
        try await LoopbackHost.with { host in
            let connection = try await host.connect()
            await connection.close()
            let error = await #expect(throws: TransportError.self) {
                try await connection.send([:], timeout: .seconds(20))
            }
            #expect(error?.code == .connectionClosed)
            #expect(error?.wasSent == false)
        }
    }

    // MARK: Abrupt ends

    @Test func `an abort sends the reason to the peer, and fails work in progress on both sides`() async throws {
        let wasCancelled = Mutex(false)
        try await LoopbackHost.with { _, _ in
            // Ended by cancellation.
            do { try await Task.sleep(for: .seconds(60)) } catch { wasCancelled.withLock { $0 = true } }
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let call = Task { try await connection.send([:], timeout: .seconds(30)) }
            let hosts = try await host.connections.first()
            try await eventually("the request") { try await hosts.hasRequestsIn }
            let reason = TransportError(.localResources, "Out of patience.", side: .local)
            hosts.abort(.resourceLimitsExceeded, reason: reason)
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .connectionLost)
            #expect(error?.wasSent == true)
            #expect((error?.cause as? TransportError)?.message.contains("Out of patience.") == true)
            #expect(await connection.waitUntilClosed() == .resourceLimitsExceeded)
            #expect(await hosts.waitUntilClosed() == .resourceLimitsExceeded)
            try await eventually("cancellation of the handler") { wasCancelled.withLock { $0 } }
        }
    }

    @Test func `a peer's reason is reported even if it then resets the connection`() async throws {
        try await LoopbackHost.with { _, _ in
            // Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            return Response()
        } _: { host in
            let connection = try await host.connect()
            let call = Task { try await connection.send([:], timeout: .seconds(30)) }
            try await eventually("the request") { try await connection.hasCallsOut }
            try await connection.ask { driver in
                driver.peerReason = TransportError(.localResources, "Out of patience.", side: .remote)
                driver.channelFailed(IOError(errnoCode: ECONNRESET, reason: "read"))
            }
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .connectionLost)
            #expect((error?.cause as? TransportError)?.message.contains("Out of patience.") == true)
        }
    }

    @Test func `a handler may abort its own connection`() async throws {
        try await LoopbackHost.with { _, connection in
            connection.abort()
            return Response()
        } _: { host in
            let connection = try await host.connect()
            await #expect(throws: TransportError.self) { try await connection.send([:], timeout: .seconds(20)) }
            #expect(await connection.waitUntilClosed() == .cancelled)
        }
    }

    @Test func `a lost connection fails each pending call once, with its outcome unknown`() async throws {
        try await LoopbackHost.with { _, _ in
            // Ended by cancellation.
            try? await Task.sleep(for: .seconds(60))
            return Response()
        } _: { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let connection = try await host.connect(through: tunnel.port)
            let calls = (0..<10).map { _ in Task { try await connection.send([:], timeout: .seconds(30)) } }
            let hosts = try await host.connections.first()
            try await eventually("ten requests") { try await hosts.handlers == 10 }
            tunnel.cut()
            for call in calls {
                let error = await #expect(throws: TransportError.self) { try await call.value }
                #expect(error?.code == .connectionLost)
                #expect(error?.wasSent == true)
                #expect(error?.canRetry == true)
            }
            #expect(await connection.waitUntilClosed() == .unknown)
            #expect(await hosts.waitUntilClosed() == .unknown)
            #expect(try await hosts.handlers == 0)
            await tunnel.stop()
        }
    }

    @Test func `both sides detect a silent peer after the dead-peer timeout`() async throws {
        let limits = ConnectionLimits.patient { $0.deadPeerTime = .seconds(4) }
        try await LoopbackHost.with(limits: limits) { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let connection = try await host.connect(limits: limits, through: tunnel.port)
            _ = try await connection.send([:], timeout: .seconds(20))
            tunnel.goSilent()
            let call = Task { try await connection.send([:], timeout: .seconds(30)) }
            let error = await #expect(throws: TransportError.self) { try await call.value }
            #expect(error?.code == .connectionLost)
            #expect((error?.cause as? TransportError)?.message.contains("silent") == true)
            #expect(await connection.waitUntilClosed() == .unknown)
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .unknown)
            await tunnel.stop()
        }
    }

    @Test func `an idle connection is kept alive`() async throws {
        let limits = ConnectionLimits.patient { $0.deadPeerTime = .seconds(8) }
        try await LoopbackHost.with(limits: limits) { host in
            let connection = try await host.connect(limits: limits)
            // More than twice the dead-peer timeout without a request, in real time, since the kernel's sockets are
            // real.
            try await Task.sleep(for: .seconds(17))
            #expect(try await connection.send([:], timeout: .seconds(20)).status == .success)
            await connection.close()
        }
    }

    // MARK: Memory

    @Test(arguments: ["close", "abort", "loss"]) func `an ended connection is released, with its peer`(end: String)
        async throws
    {
        try await LoopbackHost.with { host in
            let tunnel = try await Tunnel.start(to: host.listener.port)
            let weak = Weak()
            do {
                let connection = try await host.connect(through: tunnel.port)
                _ = try await connection.send(["a": 1], timeout: .seconds(20))
                let hosts = try await host.connections.first()
                weak.set(connection, hosts)
                switch end {
                case "close": await connection.close()
                case "abort": connection.abort()
                default: tunnel.cut()
                }
                _ = await connection.waitUntilClosed()
                _ = await hosts.waitUntilClosed()
                host.connections.removeAll()
            }
            try await eventually("the end of both connections") { weak.areGone }
            await tunnel.stop()
        }
    }
}

/// A condition to wait for until a test opens it.
final class Gate: Sendable {
    private let state = Mutex((isOpen: false, waiting: [CheckedContinuation<Void, Never>]()))

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = self.state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = self.state.withLock { state in
            state.isOpen = true
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}

private final class Weak: Sendable {
    private struct Pair: Sendable {
        weak var one: Connection?
        weak var other: Connection?
    }

    private let pair = Mutex(Pair())

    func set(_ one: Connection, _ other: Connection) { self.pair.withLock { $0 = Pair(one: one, other: other) } }
    var areGone: Bool { self.pair.withLock { $0.one == nil && $0.other == nil } }
}
