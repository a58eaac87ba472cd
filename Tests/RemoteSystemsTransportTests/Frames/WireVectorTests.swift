// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

/// `Docs/wire-vectors.json`, checked by our code and, through `Tests/Independent`, by independent code.
@Suite struct WireVectorTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var meaning: Value?
        /// Whether a sender of this version sends exactly these bytes.
        var isSent: Bool
        /// The code of the refusal.
        var code: String?

        var testDescription: String { self.name }
    }

    static let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Docs")

    /// Read once for all tests.
    static let file = Result { try ValueSet(json: Data(contentsOf: docs.appending(path: "wire-vectors.json"))) }

    private static func vectors(_ kind: String) throws -> [Vector] {
        let file = try Self.file.get()
        return try #require(file[kind]?.array).map { entry in
            let entry = try #require(entry.dictionary)
            let name = try #require(entry["name"]?.string)
            let hex = try #require(entry["hex"]?.string)
            let meaning = entry["json"]
            try #require((meaning == nil) == (entry["refused"]?.string != nil), "\(name): either a meaning or a reason")
            return Vector(
                name: name,
                bytes: try #require(Self.bytes(hex), "\(name)"),
                meaning: meaning,
                isSent: entry["encodes"]?.bool ?? true,
                code: entry["code"]?.string
            )
        }
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == hex.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test(arguments: try vectors("values").filter { $0.meaning != nil } + vectors("urls").filter { $0.meaning != nil })
    func `a value has exactly the encoding of its vector, in both directions`(vector: Vector) throws {
        let meaning = try #require(vector.meaning)
        #expect(try meaning.encoded() == vector.bytes)
        #expect(try Value(encoded: vector.bytes) == meaning)
    }

    @Test(arguments: try vectors("values").filter { $0.meaning == nil } + vectors("urls").filter { $0.meaning == nil })
    func `bytes that are not a value are refused`(vector: Vector) {
        #expect(throws: ValueSetError.self) { try Value(encoded: vector.bytes) }
        // In a message they make the message malformed. Other codes about values do not exist.
        #expect(vector.code == FailureCode.messageMalformed.rawValue)
    }

    @Test(arguments: try vectors("frames").filter { $0.meaning != nil })
    func `a frame is read and written as its vector states`(vector: Vector) throws {
        let meaning = try #require(vector.meaning).encoded()
        var written = ByteBuffer()
        try written.writeFrame(Self.read(vector.bytes), limit: ConnectionLimits.maxMessageBytes)
        #expect(written.readInteger(as: UInt32.self) == UInt32(written.readableBytes))
        #expect(Array(written.readableBytesView) == meaning)
        if vector.isSent { #expect(Array(vector.bytes.dropFirst(4)) == meaning) }
    }

    @Test(arguments: try vectors("frames").filter { $0.meaning == nil })
    func `bytes that are not a frame are refused with their code`(vector: Vector) {
        let error = #expect(throws: TransportError.self) { try Self.read(vector.bytes) }
        #expect(error?.failureCode == vector.code)
    }

    @Test(arguments: try vectors("join-messages").filter { $0.meaning != nil })
    func `a join message is read and written as its vector states`(vector: Vector) throws {
        let meaning = try #require(vector.meaning).encoded()
        var written = ByteBuffer()
        try JoinMessage(ByteBuffer(bytes: vector.bytes.dropFirst(4))).write(to: &written)
        #expect(written.readInteger(as: UInt32.self) == UInt32(written.readableBytes))
        #expect(Array(written.readableBytesView) == meaning)
        if vector.isSent { #expect(Array(vector.bytes.dropFirst(4)) == meaning) }
    }

    @Test(arguments: try vectors("join-messages").filter { $0.meaning == nil })
    func `bytes that are not a join message are refused`(vector: Vector) {
        #expect(throws: TransportError.self) { try JoinMessage(ByteBuffer(bytes: vector.bytes.dropFirst(4))) }
    }

    @Test(arguments: try vectors("pair-messages"))
    func `a pairing message is read and written, or refused, as its vector states`(vector: Vector) throws {
        let frame = ByteBuffer(bytes: vector.bytes.dropFirst(4))
        guard let meaning = try vector.meaning?.encoded() else {
            #expect(throws: TransportError.self) { try PairingMessage(frame) }
            return
        }
        var written = ByteBuffer()
        try PairingMessage(frame).write(to: &written)
        #expect(written.readInteger(as: UInt32.self) == UInt32(written.readableBytes))
        #expect(Array(written.readableBytesView) == meaning)
    }

    private static func read(_ bytes: [UInt8]) throws -> Frame {
        var decoder = FrameDecoder(limit: ConnectionLimits.helloBytes)
        decoder.append(ByteBuffer(bytes: bytes))
        let frame = try #require(try decoder.next(), "the frame is not whole")
        #expect(decoder.pendingBytes == 0)
        return try Frame(frame)
    }

    // MARK: Other implementations

    @Test func `an independent CBOR library produces the vectors' bytes from their meanings`() async throws {
        try await Self.ask("check", needing: "cbor2")
    }

    @Test func `the generated vectors equal the script's output`() async throws {
        try await Self.ask("check", needing: "cryptography", script: "make_wire_vectors.py")
    }

    @Test func `the grammar accepts all sent messages, and none that it must exclude`() async throws {
        let grammar = Self.docs.appending(path: "wire-protocol.cddl").path
        try await Self.ask("cddl", grammar, needing: "cddl_verifier")
    }

    private static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Independent/\(name)").path
    }

    private static func ask(
        _ command: String,
        _ more: String...,
        needing module: String,
        script: String = "wire_vectors.py"
    ) async throws {
        let environment = ProcessInfo.processInfo.environment
        let python = environment["REMOTE_SYSTEMS_TEST_PYTHON"] ?? "python3"
        do {
            try await runProcess("/usr/bin/env", [python, "-c", "import \(module)"])
        } catch {
            // In CI all modules must be installed, so a missing one is a failure and no reason to skip.
            guard environment["CI"] == nil else { throw error }
            print("SKIPPED: \(python) has no \(module). The wire vectors are not checked with it; Scripts/test has it.")
            return
        }
        let vectors = Self.docs.appending(path: "wire-vectors.json").path
        let complaints = try await runProcess(
            "/bin/sh",
            ["-c", "\"$0\" \"$@\" || true", python, "-B", Self.script(script), command, vectors] + more
        )
        #expect(String(decoding: complaints, as: UTF8.self) == "all right\n")
    }
}
