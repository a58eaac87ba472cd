// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import Testing

@testable import RemoteSystemsTransport

@Suite struct KnownPeerKeysTests {
    private static func key(_ number: Int) -> PeerKey {
        PeerKey(transport: .ip, [UInt8(number / 256), UInt8(number % 256)])
    }

    /// A system with an id of its own.
    private static func system(_ number: Int) throws -> QuotaHolder {
        let bytes = [UInt8(number / 256), UInt8(number % 256)] + [UInt8](repeating: 0, count: 30)
        return .system(try #require(SystemID(bytes: bytes)))
    }

    @Test func `a key is known from its first use on`() throws {
        var keys = KnownPeerKeys()
        #expect(!keys.contains(Self.key(1)))
        keys.use(Self.key(1), by: try Self.system(1))
        #expect(keys.contains(Self.key(1)) && !keys.contains(Self.key(2)))
    }

    @Test func `the table is bounded, and the key that was not used for the longest time is dropped`() throws {
        var keys = KnownPeerKeys()
        for number in 0..<KnownPeerKeys.maxKeys { keys.use(Self.key(number), by: try Self.system(number)) }
        keys.use(Self.key(0), by: try Self.system(0))
        keys.use(Self.key(5_000), by: try Self.system(5_000))
        #expect(keys.count == KnownPeerKeys.maxKeys)
        #expect(keys.contains(Self.key(0)) && keys.contains(Self.key(5_000)))
        #expect(!keys.contains(Self.key(1)) && keys.contains(Self.key(2)))
    }

    @Test func `a system with many addresses displaces its own keys, and those of no other system`() throws {
        var keys = KnownPeerKeys()
        let (member, malicious) = (try Self.system(1), try Self.system(2))
        for number in 1...3 { keys.use(Self.key(number), by: member) }
        for number in 1_000..<2_500 { keys.use(Self.key(number), by: malicious) }
        #expect(keys.count == KnownPeerKeys.maxKeys)
        for number in 1...3 { #expect(keys.contains(Self.key(number))) }
        #expect(keys.contains(Self.key(2_499)) && !keys.contains(Self.key(1_000)))
        // A key that both use stays the first one's.
        keys.use(Self.key(1), by: malicious)
        for number in 2_500..<4_000 { keys.use(Self.key(number), by: malicious) }
        #expect(keys.contains(Self.key(1)))
    }
}
