// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// Rules that the vectors do not cover: limits, and frames that cannot be sent.
@Suite struct FrameTests {
    private static let hello = Hello(
        service: "s",
        targetApplication: nil,
        application: "a",
        limits: PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
    )

    /// 64 keys, and 8192 bytes in total.
    private static let largestMetadata = ValueSet(
        (0..<64).map { index in
            let key = "key-\(index / 10)\(index % 10)"
            return (key, Value.string(String(repeating: "v", count: 128 - key.utf8.count)))
        }
    )

    @Test(
        arguments: [
            .hello(hello),
            .accept(Acceptance(application: "a", limits: hello.limits, schemas: PublishedSchemas(request: ["a": 1]))),
            .refuse(.notAuthorized, WireFailure("No.", canRetry: true)),
            .request(id: 1, timeoutMilliseconds: 30_000, message: ["a": ["b": 1.5]]),
            .request(id: 1, timeoutMilliseconds: 1, message: [:], key: [0]),
            .request(id: 1, timeoutMilliseconds: 1, message: [:], key: [UInt8](repeating: 255, count: 64)),
            .request(id: 1, timeoutMilliseconds: 1, message: [:], metadata: ["a": "b"]),
            .request(id: 1, timeoutMilliseconds: 1, message: ["a": 1], key: [0], metadata: largestMetadata),
            .response(id: .max, status: ResponseStatus(rawValue: 99), message: [:], failure: nil),
            .response(id: 1, status: .failure, message: [:], failure: WireFailure("No.")),
            .cancel(id: 24),
            .ping(token: 0),
            .pong(token: .max),
            .close(.completed, nil),
            .close(CloseStatus(rawValue: 77), WireFailure("Because.")),
        ] as [Frame]
    )
    func `a frame survives its conversion to bytes`(frame: Frame) throws {
        var buffer = ByteBuffer()
        try buffer.writeFrame(frame, limit: 16_384)
        #expect(buffer.readInteger(as: UInt32.self) == UInt32(buffer.readableBytes))
        #expect(try Frame(buffer) == frame)
    }

    @Test(arguments: [.string("key"), .data(Data()), .data(Data(count: 65)), .integer(7), .bool(false)] as [Value])
    func `a request with a key of another form fails alone`(key: Value) throws {
        let bytes = try Value.array([.integer(3), .integer(5), .integer(1000), .dictionary([:]), key]).encoded()
        let frame = try Frame(ByteBuffer(bytes: bytes))
        guard case .malformed(.request, id: 5, let error) = frame else {
            Issue.record("It was read as \(frame).")
            return
        }
        #expect(error.message.contains("key"))
        #expect(error.allowed == "data of 1 to 64 bytes, or null")
    }

    @Test func `bytes that are not a frame are an error in one sentence with the position`() throws {
        let error = #expect(throws: TransportError.self) { try Frame(ByteBuffer(bytes: [0x9F, 0xFF])) }
        #expect(error?.code == .protocolViolation)
        let message = error?.message ?? ""
        #expect(message.hasPrefix("The peer broke the protocol: a frame cannot be read: "))
        #expect(message.hasSuffix(".") && !message.hasSuffix(".."), "\(message)")
    }

    @Test(
        arguments: [
            .string("metadata"), .array([]), .dictionary(["a": 1]), .dictionary(["a": .null]), .dictionary(["": "b"]),
            .dictionary(["A": "b"]), .dictionary(["a b": "c"]), .dictionary(["é": "c"]), .dictionary(["a\n": "c"]),
            .dictionary([String(repeating: "a", count: 65): "b"]), .dictionary(["a": "b\u{1B}[2J"]),
            .dictionary(["a": "b\r\nc: d"]), .dictionary(["a": "\u{202E}b"]), .dictionary(["a": "b\u{2028}"]),
            .dictionary(["traceparent": .string(String(repeating: "0", count: 8192))]),
            .dictionary(ValueSet((0..<65).map { ("key-\($0)", Value.string("")) })),
            .dictionary(ValueSet(largestMetadata.map { ($0.key + "0", $0.value) })),
        ] as [Value]
    )
    func `a request with invalid metadata fails alone`(metadata: Value) throws {
        let elements: [Value] = [.integer(3), .integer(5), .integer(1000), .dictionary([:]), .null, metadata]
        let frame = try Frame(ByteBuffer(bytes: try Value.array(elements).encoded()))
        guard case .malformed(.request, id: 5, let error) = frame else {
            Issue.record("It was read as \(frame).")
            return
        }
        #expect(error.message.contains("metadata"))
        #expect(!"\(error)".hasControlCharacters)
    }

    @Test func `a request without metadata spends no byte on it`() throws {
        var buffer = ByteBuffer()
        try buffer.writeRequest(id: 1, timeoutMilliseconds: 1, message: [:], metadata: [:], limit: 100)
        #expect(Array(buffer.readableBytesView) == [0, 0, 0, 5, 0x84, 3, 1, 1, 0xa0])
    }

    @Test func `a request with null as its key has none, even with elements of a newer version after it`() throws {
        let elements: [Value] = [
            .integer(3), .integer(5), .integer(1000), .dictionary([:]), .null, .null, .string("new"),
        ]
        let frame = try Frame(ByteBuffer(bytes: try Value.array(elements).encoded()))
        #expect(frame == .request(id: 5, timeoutMilliseconds: 1000, message: [:]))
    }

    @Test func `a request longer than the limit is not written, and leaves no bytes`() throws {
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

    @Test func `a message that cannot be encoded is not written, and leaves no bytes`() throws {
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
    func `a failure's text is truncated to the limit for any characters`(unit: String) throws {
        let oneHugeCharacter = "e" + String(repeating: "\u{301}", count: 5_000)
        for text in [String(repeating: unit, count: 3_000), oneHugeCharacter] {
            let failure = WireFailure(text)
            #expect(failure.text.utf8.count <= WireFailure.maxTextBytes)
            #expect(failure.text.utf8.count > WireFailure.maxTextBytes - 8)
            #expect(failure.text.hasSuffix("…"))
            var buffer = ByteBuffer()
            let response = Response(status: .init(rawValue: .max), failure: failure)
            try buffer.writeResponse(id: .max, response, limit: ConnectionLimits.minMessageBytes)
        }
        #expect(WireFailure("short").text == "short")
    }

    @Test func `a failure from a peer is truncated, too, and may lack its keys`() {
        #expect(WireFailure(["text": .string(String(repeating: "x", count: 2_000))]).text.utf8.count <= 512)
        #expect(WireFailure([:]) == WireFailure(""))
    }
}
