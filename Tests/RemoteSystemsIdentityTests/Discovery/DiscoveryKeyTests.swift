// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsIdentity

@Suite struct DiscoveryKeyTests {
    // Computed with Python: hmac.new(bytes(range(32)), b"remote-systems/1" + b"abc", "sha256").digest()[:8].hex()
    @Test func `the tag is the beginning of an HMAC over protocol and instance`() throws {
        let key = try #require(DiscoveryKey(bytes: Array(0..<32)))
        #expect(key.discoveryTag(instance: "abc") == [0xEF, 0x77, 0x31, 0x5C, 0x3F, 0x06, 0x4C, 0xA4])
    }

    @Test func `only the tag of the same key and instance matches`() {
        let key = DiscoveryKey()
        let tag = key.discoveryTag(instance: "abc")
        #expect(key.matches(tag, instance: "abc"))
        #expect(!key.matches(tag, instance: "abd"))
        #expect(!DiscoveryKey().matches(tag, instance: "abc"))
        #expect(!key.matches(Array(tag.dropLast()), instance: "abc"))
        #expect(!key.matches(tag + [0], instance: "abc"))
        #expect(!key.matches([], instance: "abc"))
    }

    @Test func `no description of a key shows it`() {
        let key = DiscoveryKey()
        var dumped = ""
        dump(key, to: &dumped)
        #expect("\(key)" == "DiscoveryKey(secret)")
        #expect(!dumped.contains("bytes"))
    }

    @Test(arguments: [0, 31, 33]) func `bytes of another length are not a key`(count: Int) {
        #expect(DiscoveryKey(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }
}
