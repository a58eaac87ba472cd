// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// What the vectors do not show: limits, and what cannot be sent.
@Suite struct FrameTests {
    private static let hello = Hello(
        service: "s",
        package: nil,
        application: "a",
        limits: PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
    )

    @Test(
        arguments: [
            .hello(hello),
            .accept(Acceptance(application: "a", limits: hello.limits, schema: ["a": 1])),
            .refuse(.notAuthorized, WireFailure("No.", canRetry: true)),
            .request(id: 1, timeoutMilliseconds: 30_000, message: ["a": ["b": 1.5]]),
            .response(id: .max, status: ResponseStatus(rawValue: 99), message: [:], failure: nil),
            .response(id: 1, status: .failure, message: [:], failure: WireFailure("No.")),
            .cancel(id: 24),
            .ping(token: 0),
            .pong(token: .max),
            .close(.completed, nil),
            .close(CloseStatus(rawValue: 77), WireFailure("Because.")),
        ] as [Frame]
    )
    func `a frame is read back as it was written`(frame: Frame) throws {
        var buffer = ByteBuffer()
        try buffer.writeFrame(frame, limit: 8192)
        #expect(buffer.readInteger(as: UInt32.self) == UInt32(buffer.readableBytes))
        #expect(try Frame(buffer) == frame)
    }

    @Test func `a request that is longer than the limit is not written, and leaves no trace`() throws {
        var buffer = ByteBuffer(bytes: [7])
        let message: ValueSet = ["a": .string(String(repeating: "x", count: 100))]
        let error = #expect(throws: TransportError.self) {
            try buffer.writeRequest(id: 1, timeoutMilliseconds: 1, message: message, limit: 100)
        }
        #expect(error?.code == .messageTooLarge)
        #expect(error?.side == .local)
        #expect(buffer == ByteBuffer(bytes: [7]))
    }

    @Test func `the limit counts the frame without its length field`() throws {
        var buffer = ByteBuffer()
        try buffer.writeRequest(id: 1, timeoutMilliseconds: 1, message: [:], limit: 5)
        #expect(buffer.readableBytes == 9)
        #expect(throws: TransportError.self) {
            try buffer.writeRequest(id: 1, timeoutMilliseconds: 1, message: [:], limit: 4)
        }
    }

    @Test func `a message that the format cannot say is not written, and leaves no trace`() throws {
        var buffer = ByteBuffer(bytes: [7])
        let error = #expect(throws: TransportError.self) {
            try buffer.writeRequest(
                id: 1,
                timeoutMilliseconds: 1,
                message: ["when": .date(secondsSince1970: .infinity)],
                limit: 1024
            )
        }
        #expect(error?.code == .invalidMessage)
        #expect(error?.message.contains("when") == true)
        #expect(buffer == ByteBuffer(bytes: [7]))
    }

    @Test(arguments: ["x", "é", "👨‍👩‍👧‍👦", "e\u{301}\u{302}\u{303}"])
    func `the text of a failure is cut to what fits everywhere, whatever its characters`(unit: String) throws {
        let oneHugeCharacter = "e" + String(repeating: "\u{301}", count: 5_000)
        for text in [String(repeating: unit, count: 3_000), oneHugeCharacter] {
            let failure = WireFailure(text)
            #expect(failure.text.utf8.count <= WireFailure.mostTextBytes)
            #expect(failure.text.utf8.count > WireFailure.mostTextBytes - 8)
            #expect(failure.text.hasSuffix("…"))
            var buffer = ByteBuffer()
            let reply = Reply(status: .init(rawValue: .max), failure: failure)
            try buffer.writeResponse(id: .max, reply, limit: ConnectionLimits.leastMessageBytes)
        }
        #expect(WireFailure("short").text == "short")
    }

    @Test func `a failure from a peer is cut too, and may lack its keys`() {
        #expect(WireFailure(["text": .string(String(repeating: "x", count: 2_000))]).text.utf8.count <= 512)
        #expect(WireFailure([:]) == WireFailure(""))
    }
}
