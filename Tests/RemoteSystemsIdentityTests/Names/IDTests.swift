// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import Testing

@testable import RemoteSystemsIdentity

@Suite struct IDTests {
    @Test func `a system's id is the base32 of the SHA-256 of its public key`() {
        let key = P256.Signing.PrivateKey().publicKey
        let id = SystemID(of: key)
        #expect(id.bytes == Array(SHA256.hash(data: key.derRepresentation)))
        #expect(id.description == Base32.encode(SHA256.hash(data: key.derRepresentation)))
        #expect(id.description.utf8.count == 52)
    }

    @Test func `an id survives its conversion to text, bytes and JSON`() throws {
        let id = AccountID(of: P256.Signing.PrivateKey().publicKey)
        #expect(AccountID(id.description) == id)
        #expect(AccountID(bytes: id.bytes) == id)
        #expect(try JSONDecoder().decode([AccountID].self, from: JSONEncoder().encode([id])) == [id])
    }

    @Test func `the short form is the beginning of the long one`() {
        let id = SystemID.any()
        #expect(id.short.count == 8)
        #expect(id.description.hasPrefix(id.short))
    }

    @Test func `ids are ordered by their bytes`() throws {
        let low = try #require(SystemID(bytes: [UInt8](repeating: 0, count: 31) + [1]))
        let high = try #require(SystemID(bytes: [1] + [UInt8](repeating: 0, count: 31)))
        let highest = try #require(SystemID(bytes: [UInt8](repeating: 0xFF, count: 32)))
        #expect([highest, high, low].sorted() == [low, high, highest])
        #expect(!(low < low))
    }

    @Test(arguments: [
        "",
        "a",
        String(repeating: "a", count: 51),
        String(repeating: "a", count: 53),
        String(repeating: "A", count: 52),
        String(repeating: "1", count: 52),
        String(repeating: "a", count: 51) + "b",
        String(repeating: "a", count: 51) + "é",
        String(repeating: "a", count: 51) + "=",
        String(repeating: "a", count: 26) + "/" + String(repeating: "a", count: 25),
    ])
    func `text that is not canonical is not an id`(text: String) {
        #expect(SystemID(text) == nil)
        #expect(AccountID(text) == nil)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([SystemID].self, from: JSONEncoder().encode([text]))
        }
    }

    @Test(arguments: [0, 31, 33]) func `bytes of another length are not an id`(count: Int) {
        #expect(SystemID(bytes: [UInt8](repeating: 0, count: count)) == nil)
    }
}

@Suite struct Base32Tests {
    // RFC 4648 §10, in lower case and without the padding.
    @Test(arguments: [
        ("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"), ("fooba", "mzxw6ytb"),
        ("foobar", "mzxw6ytboi"),
    ])
    func `the vectors of the RFC hold in both directions`(plain: String, coded: String) {
        #expect(Base32.encode(plain.utf8) == coded)
        #expect(Base32.decode(coded, count: plain.utf8.count) == Array(plain.utf8))
    }

    @Test(arguments: ["mz", "m1", "M7", "my="]) func `a second spelling of the same bytes is refused`(text: String) {
        #expect(Base32.decode(text, count: 1) == nil)
    }
}
