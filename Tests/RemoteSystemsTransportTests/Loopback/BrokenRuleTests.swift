// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// The table of broken rules in `Docs/wire-protocol.md`: each row is tested against a host, which must react as the row
/// says.
@Suite(.timeLimit(.minutes(1))) struct BrokenRuleTests {
    private static func frame(_ elements: Value...) throws -> [UInt8] {
        var buffer = ByteBuffer()
        try buffer.writeTestFrame(elements)
        return Array(buffer.readableBytesView)
    }

    private static func hello(_ changes: ValueSet, without key: String? = nil) throws -> [UInt8] {
        var map = Hello.test.valueSet
        for (key, value) in changes { map[key] = value }
        if let key { map[key] = nil }
        return try Self.frame(0, .dictionary(map))
    }

    // MARK: Before the connection is open

    struct Handshake: Sendable, CustomTestStringConvertible {
        var code: FailureCode
        var bytes: [UInt8]
        var status = OpenStatus.unknown

        init(_ code: FailureCode, _ bytes: [UInt8], _ status: OpenStatus = .unknown) {
            self.code = code
            self.bytes = bytes
            self.status = status
        }

        var testDescription: String { self.code.rawValue }
    }

    @Test(
        arguments: try [
            Handshake(.frameTooLong, [0, 0, 0x20, 1]), Handshake(.frameEmpty, [0, 0, 0, 0]),
            Handshake(.frameMalformed, [0, 0, 0, 1, 0xFF]), Handshake(.frameMalformed, [0, 0, 0, 2, 0x82, 0]),
            // A duplicate key; an integer that is not in its shortest form.
            Handshake(.frameMalformed, [0, 0, 0, 9, 0x82, 0, 0xA2, 0x61, 0x61, 1, 0x61, 0x61, 1]),
            Handshake(.frameMalformed, [0, 0, 0, 4, 0x82, 0x18, 0, 0xA0]),
            Handshake(.frameUnexpected, Self.frame(3, 1, 1_000, [:])), Handshake(.frameUnexpected, Self.frame(6, 1)),
            Handshake(.frameUnexpected, Self.frame(99)),
            Handshake(.helloMalformed, Self.frame(0, [:])),
            Handshake(.helloMalformed, Self.hello([:], without: "limit")),
            Handshake(.helloMalformed, Self.hello([:], without: "service")),
            Handshake(.helloMalformed, Self.hello(["service": ""])),
            Handshake(.helloMalformed, Self.hello(["target": "a\nb"])),
            Handshake(.helloMalformed, Self.hello(["limit": 1_023])),
            Handshake(.helloMalformed, Self.hello(["window": 0])),
            Handshake(.helloMalformed, Self.hello(["window-bytes": 1_024])),
            Handshake(.helloMalformed, Self.hello(["features": "a"])),
            Handshake(.helloMalformed, Self.hello(["requires": 1])),
            Handshake(.featureUnknown, Self.hello(["requires": ["unheard-of"]])),
            Handshake(.featureUnknown, Self.hello(["requires": [1]])),
            Handshake(.versionUnsupported, Self.frame(0, ["version": [2, 0]])),
            Handshake(.frameUnexpected, Self.hello([:]) + Self.frame(3, 1, 1_000, [:])),
            Handshake(.frameUnexpected, Self.hello([:]) + [0]),
        ]
    )
    func `a broken rule of the handshake is refused with its code`(broken: Handshake) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw()
            peer.send(broken.bytes)
            guard case .refuse(let status, let failure)? = try await peer.nextFrame() else {
                Issue.record("it is not refused")
                return
            }
            #expect(failure.code == broken.code.rawValue)
            #expect(status == broken.status)
            #expect(!failure.canRetry)
            #expect(try await peer.remainingFrames().isEmpty)
        }
    }

    @Test func `a caller that did not offer the protocol by ALPN is refused with its code`() async throws {
        try await LoopbackHost.with { host in
            var tls = try TLSConfiguration.raw(as: host.account.system())
            tls.applicationProtocols = []
            let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
            guard case .refuse(.unknown, let failure)? = try await peer.nextFrame() else {
                Issue.record("it is not refused")
                return
            }
            #expect(failure.code == FailureCode.protocolNotNegotiated.rawValue)
        }
    }

    @Test func `a caller of another account is refused with its code`() async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.connectRaw(as: TestAccount().system())
            guard case .refuse(.notAuthorized, let failure)? = try await peer.nextFrame() else {
                Issue.record("it is not refused")
                return
            }
            #expect(failure.code == FailureCode.otherAccount.rawValue)
            #expect(!failure.canRetry)
        }
    }

    // MARK: On an open connection

    struct Broken: Sendable, CustomTestStringConvertible {
        var code: FailureCode
        var bytes: [UInt8]
        var status: CloseStatus

        init(_ code: FailureCode, _ bytes: [UInt8], _ status: CloseStatus = .unknown) {
            self.code = code
            self.bytes = bytes
            self.status = status
        }

        var testDescription: String { self.code.rawValue }
    }

    @Test(
        arguments: try [
            Broken(.frameEmpty, [0, 0, 0, 0], .resourceLimitsExceeded),
            Broken(.frameTooLong, [0, 0x10, 0, 1], .resourceLimitsExceeded),
            Broken(.frameMalformed, [0, 0, 0, 1, 0x80]), Broken(.frameMalformed, [0, 0, 0, 3, 0x82, 5, 0x20]),
            Broken(.frameMalformed, [0, 0, 0, 4, 0x82, 5, 1, 0]),
            // An ignored element that is not well-formed CBOR.
            Broken(.frameMalformed, [0, 0, 0, 5, 0x83, 5, 1, 0xF8, 0x18]),
            Broken(.frameUnexpected, Self.hello([:])), Broken(.frameUnexpected, Self.frame(2, 4, [:])),
            Broken(.requestOutOfOrder, Self.frame(3, 0, 0, [:])),
            Broken(.requestOutOfOrder, Self.frame(3, 7, 0, [:]) + Self.frame(3, 7, 0, [:])),
            Broken(.requestOutOfOrder, Self.frame(3, 7, 0, [:]) + Self.frame(3, 6, 0, [:])),
            Broken(.responseUnexpected, Self.frame(4, 1, 0, [:])),
        ]
    )
    func `a broken rule on an open connection closes it with its code`(broken: Broken) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            peer.send(broken.bytes)
            guard case .close(let status, let failure?)? = try await peer.remainingFrames().last else {
                Issue.record("it is not closed with a failure")
                return
            }
            #expect(failure.code == broken.code.rawValue)
            #expect(status == broken.status)
            #expect(!failure.canRetry)
        }
    }

    @Test(arguments: [FailureCode.windowExceeded, .windowBytesExceeded, .requestAfterClose])
    func `exceeding a window or violating a close ends the connection with its code`(code: FailureCode) async throws {
        let endOfTest = Gate()
        defer { endOfTest.open() }
        let limits = ConnectionLimits.patient {
            $0.messageBytes = 1_024
            $0.window = code == .windowExceeded ? 2 : 100
            $0.windowBytes = 1_024
        }
        try await LoopbackHost.with(limits: limits) { _, _ in
            await endOfTest.wait()
            return Response()
        } _: { host in
            let peer = try await host.openRaw()
            let text = String(repeating: "x", count: code == .windowBytesExceeded ? 600 : 1)
            for id in 1...3 as ClosedRange<UInt64> {
                if code == .requestAfterClose, id == 2 { try peer.send(.close(.completed, nil)) }
                try peer.send(.request(id: id, timeoutMilliseconds: 10_000, message: ["a": .string(text)]))
            }
            guard case .close(let status, let failure?)? = try await peer.remainingFrames().last else {
                Issue.record("it is not closed with a failure")
                return
            }
            #expect(failure.code == code.rawValue)
            #expect(status == (code == .requestAfterClose ? .unknown : .resourceLimitsExceeded))
            endOfTest.open()
        }
    }

    @Test(
        arguments: try [
            Broken(.messageMalformed, [0, 0, 0, 8, 0x84, 3, 1, 0, 0xA1, 0x61, 0x61, 0xF7]),
            Broken(.messageMalformed, Self.frame(3, 1, 0, [:], "no data")),
            Broken(.messageMalformed, Self.frame(3, 1, 0, 7)),
        ]
    )
    func `a message that cannot be read fails only its request, with its code`(broken: Broken) async throws {
        try await LoopbackHost.with { host in
            let peer = try await host.openRaw()
            peer.send(broken.bytes)
            guard case .response(1, .failure, [:], let failure?)? = try await peer.nextFrame() else {
                Issue.record("it is not answered")
                return
            }
            #expect(failure.code == broken.code.rawValue)
            try peer.send(.request(id: 2, timeoutMilliseconds: 10_000, message: ["a": 1]))
            #expect(try await peer.nextFrame() == .response(id: 2, status: .success, message: ["a": 1], failure: nil))
        }
    }

    @Test func `a response that is too large is replaced by a failure that says so`() async throws {
        try await LoopbackHost.with { _, _ in
            Response(message: ["a": .string(String(repeating: "x", count: 2_000_000))])
        } _: { host in
            let peer = try await host.openRaw()
            try peer.send(.request(id: 1, timeoutMilliseconds: 10_000, message: [:]))
            guard case .response(1, .messageTooLarge, [:], let failure?)? = try await peer.nextFrame() else {
                Issue.record("it is not replaced")
                return
            }
            #expect(failure.code == FailureCode.responseTooLarge.rawValue)
        }
    }
}
