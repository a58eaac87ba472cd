// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import RemoteSystemsIdentity
import Testing
import ValueSets

@testable import RemoteSystemsTransport

@Suite struct JoinMessageTests {
    private static let bytes32 = [UInt8](repeating: 7, count: 32)

    private static let messages: [JoinMessage] = [
        .hello(JoinHello(nonce: bytes32, signingRequest: [1, 2])),
        .challenge(JoinChallenge(nonce: bytes32, certificate: [3], rootCertificate: [4, 5])),
        // The maximum length of an account's root certificates, beside a certificate of the usual size.
        .challenge(
            JoinChallenge(
                nonce: bytes32,
                certificate: [UInt8](repeating: 3, count: 800),
                rootCertificate: [UInt8](repeating: 4, count: RootChain.maxBytes)
            )
        ),
        .proof(JoinProof(code: bytes32)),
        .proof(JoinProof(code: bytes32, name: "Attic")),
        .accepted(JoinAccepted(code: bytes32, AccountAdmission(certificate: [6], discoveryKey: bytes32))),
        .refused(.expired), .refused(.alreadyUsed), .refused(.wrongSecret), .refused(.malformed), .refused(.failed),
    ]

    @Test(arguments: messages)
    func `a message survives its conversion to bytes`(message: JoinMessage) throws {
        var buffer = ByteBuffer()
        try message.write(to: &buffer)
        var decoder = FrameDecoder(limit: JoinMessage.maxBytes)
        decoder.append(buffer)
        let frame = try #require(try decoder.next())
        #expect(try JoinMessage(frame) == message)
        #expect(decoder.pendingBytes == 0)
    }

    @Test func `a proof has these bytes (Docs, wire, joining)`() throws {
        var buffer = ByteBuffer()
        try JoinMessage.proof(JoinProof(code: Self.bytes32)).write(to: &buffer)
        #expect(
            Array(buffer.readableBytesView) == [0, 0, 0, 42, 0x82, 2, 0xA1, 0x64] + Array("code".utf8) + [0x58, 32]
                + Self.bytes32
        )
    }

    @Test func `a joiner's name is one line without control characters, and short`() throws {
        for (sent, name) in [("A\u{1B}[2J\nttic", "A [2J ttic"), ("\u{7}", nil), ("", nil)] as [(String, String?)] {
            let frame = try Self.frame(2, ["code": Self.data(32), "name": .string(sent)])
            #expect(try JoinMessage(frame) == .proof(JoinProof(code: Array(repeating: 1, count: 32), name: name)))
            #expect(JoinProof(code: [], name: sent).name == name)
        }
        let long = JoinProof(code: [], name: String(repeating: "ä", count: 5_000))
        #expect(long.name == String(repeating: "ä", count: 64))
    }

    private static func frame(_ kind: UInt64, _ map: ValueSet, extra: Int = 0) throws -> ByteBuffer {
        let head: [UInt8] = [0x82 + UInt8(extra), UInt8(kind)]
        return ByteBuffer(bytes: head + (try map.encoded()) + Array(repeating: 0xf6, count: extra))
    }

    private static func data(_ count: Int) -> Value { .data(Data(repeating: 1, count: count)) }

    private static let broken: [(UInt64, ValueSet)] = [
        (0, ["nonce": data(31), "request": data(1)]),
        (0, ["nonce": data(33), "request": data(1)]),
        (0, ["nonce": data(32), "request": data(0)]),
        (0, ["nonce": data(32), "request": data(2049)]),
        (0, ["nonce": data(32)]),
        (0, ["nonce": "text", "request": data(1)]),
        (1, ["nonce": data(32), "certificate": data(4097), "root-certificate": data(1)]),
        (1, ["nonce": data(32), "certificate": data(1), "root-certificate": data(7169)]),
        (2, ["code": data(31)]),
        (2, ["code": data(32), "name": data(5)]),
        (3, ["code": data(32), "certificate": data(1), "discovery-key": data(31)]),
        (5, [:]),
    ]

    @Test(arguments: broken)
    func `a part of a wrong size or type, and an unknown kind, is refused`(kind: UInt64, map: ValueSet) throws {
        let frame = try Self.frame(kind, map)
        #expect(throws: TransportError.self) { try JoinMessage(frame) }
    }

    @Test func `additions of a later version are ignored`() throws {
        let frame = try Self.frame(2, ["code": Self.data(32), "more": true], extra: 2)
        #expect(try JoinMessage(frame) == .proof(JoinProof(code: [UInt8](repeating: 1, count: 32))))
        #expect(try JoinMessage(try Self.frame(4, ["reason": "of a later version"])) == .refused(.failed))
    }

    @Test(
        arguments: [[], [0x80], [0x81, 0x00], [0x82, 0x00], [0xA0], [0xFF], [0x82, 0x02, 0xA0, 0x00]] as [[UInt8]]
    )
    func `bytes that are not a message are refused`(bytes: [UInt8]) {
        #expect(throws: TransportError.self) { try JoinMessage(ByteBuffer(bytes: bytes)) }
    }
}
