// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import RemoteSystemsIdentity
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// A client that breaks the rules of `Docs/wire-protocol.md`: the host reacts to each as documented, and continues to
/// run.
@Suite(.timeLimit(.minutes(1))) struct HostileClientTests {
    private static let request = Frame.request(id: 1, timeoutMilliseconds: 10_000, message: ["a": 1])

    // MARK: Before the connection is open

    @Test func `a client that keeps the rules is served`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request)
            #expect(try await peer.nextFrame() == .response(id: 1, status: .success, message: ["a": 1], failure: nil))
            try peer.send(.close(.completed, nil))
            #expect(try await peer.remainingFrames() == [.close(.completed, nil)])
        }
    }

    @Test func `garbage in place of TLS is closed, and affects no other connection`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await RawPeer.connect(port: host.listener.port, tls: nil)
            peer.send(Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
            try await peer.waitUntilClosed()
            #expect(try await host.isServing())
        }
    }

    @Test func `older TLS versions are refused`() async throws {
        try await LoopbackHost.with { host in
            var tls = try TLSConfiguration.raw(as: host.account.system())
            tls.minimumTLSVersion = .tlsv12
            tls.maximumTLSVersion = .tlsv12
            let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
            try await peer.waitUntilClosed()
            #expect("\(peer.error as Any)".contains("PROTOCOL_VERSION"))
        }
    }

    @Test(arguments: [[], ["h2"]]) func `a client with another ALPN protocol is informed of the supported one`(
        alpn: [String]
    )
        async throws
    {
        try await LoopbackHost.with { host in
            var tls = try TLSConfiguration.raw(as: host.account.system())
            tls.applicationProtocols = alpn
            let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
            let refusal = try await peer.refusal()
            #expect(refusal?.status == .unknown)
            #expect(refusal?.failure.text.contains("remote-systems/1") == true)
        }
    }

    @Test func `a missing hello ends the connection at the handshake timeout`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.helloTimeout = .milliseconds(700) }) { host in
            let silent = try await RawPeer.connect(port: host.listener.port, tls: nil)
            let start = ContinuousClock.now
            try await silent.waitUntilClosed()
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(host.connections.all.isEmpty)
        }
    }

    @Test func `a slow hello ends the connection at the handshake timeout`() async throws {
        try await LoopbackHost.with(limits: .patient { $0.helloTimeout = .seconds(2) }) { host in
            let peer = try await host.connectRaw()
            peer.send([0, 0])
            let start = ContinuousClock.now
            try await peer.waitUntilClosed()
            #expect(ContinuousClock.now - start < .seconds(10))
            #expect(host.connections.all.isEmpty)
        }
    }

    @Test func `a slow hello before the timeout is accepted`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            var hello = ByteBuffer()
            try hello.writeFrame(.hello(.test), limit: 8192)
            for byte in hello.readableBytesView {
                peer.send([byte])
                await Task.yield()
            }
            guard case .accept? = try await peer.nextFrame() else {
                Issue.record("it was not accepted")
                return
            }
        }
    }

    @Test func `a hello longer than 8 KiB is refused by its length alone`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            peer.send([0, 0, 0x20, 0x01])
            #expect(try await peer.refusal()?.failure.text.contains("8193") == true)
        }
    }

    @Test(
        arguments: [
            [0, 0, 0, 0], [0, 0, 0, 1, 0xFF], [0, 0, 0, 2, 0x82, 0x00], [0, 0, 0, 3, 0x82, 0x00, 0xA0],
        ] as [[UInt8]]
    )
    func `a hello that cannot be read is refused`(bytes: [UInt8]) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            peer.send(bytes)
            #expect(try await peer.refusal()?.status == .unknown)
        }
    }

    @Test func `a request before the hello is refused`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            try peer.send(Self.request)
            #expect(try await peer.refusal()?.status == .unknown)
        }
    }

    @Test(arguments: [true, false])
    func `data before the response to the hello is refused, sent together with it or after it`(together: Bool)
        async throws
    {
        let mayDecide = Gate()
        defer { mayDecide.open() }
        try await LoopbackHost.with(admitting: together ? nil : mayDecide) { host in
            let peer = try await host.connectRaw()
            if together {
                try peer.send(.hello(.test), Self.request)
            } else {
                try peer.send(.hello(.test))
                try await eventually("the hello's arrival") { host.hellos.value == 1 }
                try peer.send(Self.request)
                // The host does not report when it has read the data. This is many times longer than it takes.
                try await Task.sleep(for: .seconds(2))
                mayDecide.open()
            }
            #expect(try await peer.refusal()?.status == .unknown)
            #expect(host.connections.all.isEmpty)
        }
    }

    @Test func `a second hello closes the connection`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.hello(.test))
            #expect(try await peer.closeStatus() == .unknown)
        }
    }

    @Test func `another major version is refused with both versions named`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            // Nothing is known about version 2 but its version field.
            let hello: ValueSet = ["version": [2, 5], "nothing": "we know"]
            var buffer = ByteBuffer()
            try buffer.writeTestFrame([0, .dictionary(hello)])
            peer.send(Array(buffer.readableBytesView))
            let refusal = try await peer.refusal()
            #expect(refusal?.failure.text.contains("2.5") == true && refusal?.failure.text.contains("1.0") == true)

            let error = await #expect(throws: TransportError.self) {
                _ = try await host.connect(version: ProtocolVersion(major: 2, minor: 0))
            }
            #expect(error?.message.contains("1.0") == true)
        }
    }

    @Test(arguments: [[0, 0], [0, 9], [2, 0]] as [[UInt64]])
    func `no other major version is accepted, whatever the system has used before`(version: [UInt64]) async throws {
        try await LoopbackHost.with { host in
            let system = try host.account.system()
            func refusal() async throws -> String? {
                let peer = try await host.connectRaw(as: system)
                var buffer = ByteBuffer()
                let hello: ValueSet = ["version": .array(version.map { .unsigned($0) })]
                try buffer.writeTestFrame([0, .dictionary(hello)])
                peer.send(Array(buffer.readableBytesView))
                guard case .refuse(_, let failure)? = try await peer.nextFrame() else { return nil }
                return failure.code
            }
            // A host remembers no version of a peer: the first connection and a later one are decided alike.
            let first = try await refusal()
            #expect(first == FailureCode.versionUnsupported.rawValue)
            let peer = try await host.openRaw(as: system)
            try peer.send(Self.request)
            #expect(try await peer.nextFrame() == .response(id: 1, status: .success, message: ["a": 1], failure: nil))
            let later = try await refusal()
            #expect(later == FailureCode.versionUnsupported.rawValue)
            // The open connection goes on.
            try peer.send(.request(id: 2, timeoutMilliseconds: 10_000, message: ["a": 2]))
            #expect(try await peer.nextFrame() == .response(id: 2, status: .success, message: ["a": 2], failure: nil))
        }
    }

    @Test func `a newer minor version with keys, elements and frames of its own works`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            var hello = Hello.test
            hello.version.minor = 9
            var map = hello.valueSet
            map["colour"] = ["red": 1]
            var buffer = ByteBuffer()
            try buffer.writeTestFrame([0, .dictionary(map), "more"])
            peer.send(Array(buffer.readableBytesView))
            guard case .accept(let acceptance)? = try await peer.nextFrame() else {
                Issue.record("it was not accepted")
                return
            }
            #expect(acceptance.version == .current)
            buffer.clear()
            try buffer.writeTestFrame([99, "what", ["is": "this"]])
            try buffer.writeTestFrame([3, 1, 10_000, ["a": 1], .null, .null, "more"])
            peer.send(Array(buffer.readableBytesView))
            #expect(try await peer.nextFrame() == .response(id: 1, status: .success, message: ["a": 1], failure: nil))
        }
    }

    // MARK: On an open connection

    @Test(
        arguments: [
            ("a frame of no bytes", [0, 0, 0, 0], .resourceLimitsExceeded),
            ("a frame over the limit", [0, 0x10, 0, 1], .resourceLimitsExceeded),
            ("a frame of 4 GiB", [0xFF, 0xFF, 0xFF, 0xFF], .resourceLimitsExceeded),
            ("no array", [0, 0, 0, 1, 0x01], .unknown),
            ("an empty array", [0, 0, 0, 1, 0x80], .unknown),
            ("a request without a number", [0, 0, 0, 2, 0x81, 0x03], .unknown),
            ("bytes behind the array", [0, 0, 0, 4, 0x82, 0x05, 0x01, 0x00], .unknown),
            ("a negative number", [0, 0, 0, 3, 0x82, 0x05, 0x20], .unknown),
            ("a number that is not in its shortest form", [0, 0, 0, 4, 0x82, 0x05, 0x18, 0x01], .unknown),
            ("an answer to nothing", [0, 0, 0, 5, 0x84, 0x04, 0x01, 0x00, 0xA0], .unknown),
            ("an unreadable answer to nothing", [0, 0, 0, 5, 0x84, 0x04, 0x01, 0x00, 0xFF], .unknown),
            ("request 0", [0, 0, 0, 5, 0x84, 0x03, 0x00, 0x00, 0xA0], .unknown),
        ] as [(String, [UInt8], CloseStatus)]
    )
    func `a frame that breaks the protocol closes the connection with its status`(
        what: String,
        bytes: [UInt8],
        status: CloseStatus
    ) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            peer.send(bytes)
            #expect(try await peer.closeStatus() == status, "\(what)")
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == status)
            #expect(try await host.isServing())
        }
    }

    /// A second payload with the number of an accepted one was not checked (CVE-2024-10668).
    @Test func `a repeated request number closes the connection (CVE-2024-10668)`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request, Self.request)
            #expect(try await peer.closeStatus() == .unknown)
        }
    }

    @Test func `an unreadable message gets a response with its position, and the connection continues`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            // [3, 1, 0, {"a": undefined}], then [3, 2, 0, {"b": 1, "a": 1}]
            peer.send([0, 0, 0, 8, 0x84, 0x03, 0x01, 0x00, 0xA1, 0x61, 0x61, 0xF7])
            peer.send([0, 0, 0, 11, 0x84, 0x03, 0x02, 0x00, 0xA2, 0x61, 0x62, 0x01, 0x61, 0x61, 0x01])
            for id in [1, 2] as [UInt64] {
                guard case .response(id, .failure, [:], let failure?)? = try await peer.nextFrame() else {
                    Issue.record("no such answer to \(id)")
                    return
                }
                #expect(failure.text.contains("a"))
                #expect(!failure.canRetry)
            }
            try peer.send(.request(id: 3, timeoutMilliseconds: 10_000, message: ["a": 1]))
            #expect(try await peer.nextFrame() == .response(id: 3, status: .success, message: ["a": 1], failure: nil))
        }
    }

    @Test func `an unreadable response fails only its call`() async throws {
        try await LoopbackHost.with { _, connection in
            do {
                _ = try await connection.send([:], timeout: .seconds(20))
                return Response()
            } catch {
                return Response(message: ["error": .string("\((error as? TransportError)?.code as Any)")])
            }
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request)
            guard case .request(let id, _, _, _, _)? = try await peer.nextFrame() else {
                Issue.record("the host asked nothing")
                return
            }
            peer.send([0, 0, 0, 8, 0x84, 0x04, UInt8(id), 0x00, 0xA1, 0x61, 0x61, 0xF7])
            guard case .response(1, .success, let message, nil)? = try await peer.nextFrame() else {
                Issue.record("no answer")
                return
            }
            #expect(message["error"]?.string?.contains("protocolViolation") == true)
        }
    }

    @Test func `more requests than the window close the connection with status 2`() async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with(limits: .patient { $0.window = 3 }) { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            for id in 1...4 as ClosedRange<UInt64> {
                try peer.send(.request(id: id, timeoutMilliseconds: 10_000, message: [:]))
            }
            #expect(try await peer.closeStatus() == .resourceLimitsExceeded)
            endOfTest.open()
        }
    }

    @Test func `unreadable requests count in the window like others`() async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with(
            limits: .patient {
                $0.window = 3
                $0.concurrentRequests = 1
            }
        ) { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request)
            for id in 2...4 as ClosedRange<UInt8> {
                peer.send([0, 0, 0, 5, 0x84, 0x03, id, 0x00, 0xFF])
            }
            #expect(try await peer.closeStatus() == .resourceLimitsExceeded)
            endOfTest.open()
        }
    }

    /// Streams of libp2p used memory without a bound (CVE-2022-23487, CVE-2022-23492).
    @Test func `the memory for a client that does not read is bounded (CVE-2022-23487, CVE-2022-23492)`() async throws {
        let handled = Mutex(0)
        let response = String(repeating: "x", count: 100_000)
        try await LoopbackHost.with { _, _ in
            handled.withLock { $0 += 1 }
            return Response(message: ["a": .string(response)])
        } _: { host in
            let peer = try await host.openRaw()
            try await peer.stopReading()
            // All requests arrive in one piece, for handlers that respond at once: 100 MB of responses if all of them
            // ran.
            var requests = ByteBuffer()
            for id in 1...1_000 as ClosedRange<UInt64> {
                try requests.writeRequest(id: id, timeoutMilliseconds: 10_000, message: [:], limit: 1024)
            }
            peer.send(Array(requests.readableBytesView))
            let hosts = try await host.connections.first()
            #expect(await hosts.waitUntilClosed() == .resourceLimitsExceeded)
            #expect(handled.withLock { $0 } < 100)
            peer.close()
        }
    }

    @Test func `requests that wait while the client does not read get responses once it reads again`() async throws {
        let response = String(repeating: "x", count: 100_000)
        try await LoopbackHost.with { _, _ in
            Response(message: ["a": .string(response)])
        } _: { host in
            let peer = try await host.openRaw()
            try await peer.stopReading()
            var requests = ByteBuffer()
            for id in 1...100 as ClosedRange<UInt64> {
                try requests.writeRequest(id: id, timeoutMilliseconds: 10_000, message: [:], limit: 1024)
            }
            peer.send(Array(requests.readableBytesView))
            try peer.send(.ping(token: 7))
            let hosts = try await host.connections.first()
            try await eventually("a full socket") { try await hosts.hasRequestsIn }
            try await peer.channel.setOption(.autoRead, value: true).get()
            var answered: [UInt64] = []
            var ponged = false
            while answered.count < 100 || !ponged {
                switch try await peer.nextFrame() {
                case .response(let id, .success, let message, nil):
                    #expect(message["a"]?.string == response)
                    answered.append(id)
                case .pong(token: 7): ponged = true
                case let other:
                    Issue.record("\(String(describing: other)) came instead of an answer")
                    return
                }
            }
            #expect(answered == Array(1...100))
        }
    }

    @Test func `pings get responses, and a flood of them is harmless`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            for token in 0..<5_000 as Range<UInt64> { try peer.send(.ping(token: token)) }
            try peer.send(.ping(token: .max))
            var last: Frame?
            repeat { last = try await peer.nextFrame() } while last != nil && last != .pong(token: .max)
            #expect(last == .pong(token: .max))
        }
    }

    @Test func `cancelling an unknown or completed request is ignored`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            try peer.send(.cancel(id: 77), Self.request)
            #expect(try await peer.nextFrame() == .response(id: 1, status: .success, message: ["a": 1], failure: nil))
            try peer.send(.cancel(id: 1), .pong(token: 5), .request(id: 2, timeoutMilliseconds: 1, message: [:]))
            guard case .response(2, _, _, _)? = try await peer.nextFrame() else {
                Issue.record("no answer")
                return
            }
        }
    }

    @Test func `a cancelled request that has not started gets a failure that says so`() async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with(limits: .patient { $0.concurrentRequests = 1 }) { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request, .request(id: 2, timeoutMilliseconds: 10_000, message: [:]), .cancel(id: 2))
            guard case .response(2, .failure, [:], let failure?)? = try await peer.nextFrame() else {
                Issue.record("no answer")
                return
            }
            #expect(failure.text.contains("cancelled"))
            endOfTest.open()
        }
    }

    @Test func `a request after the peer's own close breaks the protocol`() async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        try await LoopbackHost.with { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(Self.request, .close(.completed, nil))
            try peer.send(.request(id: 2, timeoutMilliseconds: 10_000, message: [:]))
            guard case .close(.unknown, let failure?)? = try await peer.remainingFrames().last else {
                Issue.record("it is not reported")
                return
            }
            #expect(failure.text.contains("after the peer's close"))
            endOfTest.open()
        }
    }

    // MARK: Floods

    /// CVE-2020-26164: such a flood used up the processor and memory of KDE Connect.
    @Test func `a flood of unauthenticated connections is bounded, and open ones continue (CVE-2020-26164)`()
        async throws
    {
        // Nothing but the limit of places closes a silent connection during the test.
        try await LoopbackHost.with(limits: .patient { $0.helloTimeout = .minutes(10) }) { host in
            let connection = try await host.connect()
            var flood: [RawPeer] = []
            // The address is known, because a connection from it is open.
            let places = UnauthenticatedSlots.maxConnections + UnauthenticatedSlots.maxKnownConnections
            for _ in 0..<places { flood.append(try await RawPeer.connect(port: host.listener.port, tls: nil)) }
            #expect(flood.filter(\.isClosed).count == 0)
            for _ in 0..<30 { flood.append(try await RawPeer.connect(port: host.listener.port, tls: nil)) }
            // Of more connections than there are places, as many are closed: the new ones, or older ones for them.
            try await eventually("the bound") { flood.filter(\.isClosed).count == 30 }
            #expect(host.log.all.contains { $0.contains("Too many at the same time") })
            #expect(try await connection.send(["a": 1], timeout: .seconds(20)).message == ["a": 1])
            try await eventually("a place for an honest system") { try await host.isServing() }
            // All places were taken: it has got that of another one.
            try await eventually("a replaced connection") { flood.filter(\.isClosed).count > 30 }
            for peer in flood { peer.close() }
            await connection.close()
        }
    }
}
