// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import Testing

@testable import RemoteSystemsTransport

@Suite struct AdmissionGateTests {
    private let gate = AdmissionGate(total: 4, perPeer: 2)

    private static func key(_ name: String) -> PeerKey { PeerKey(transport: .ip, name.utf8) }
    private static let (a, b, c) = (key("a"), key("b"), key("c"))

    @Test func `peers with one key are limited to their share`() {
        #expect(self.gate.enter(Self.a) == true)
        #expect(self.gate.enter(Self.a) == true)
        #expect(self.gate.enter(Self.a) == false)
        #expect(self.gate.enter(Self.b) == true)
    }

    @Test func `all peers together are limited to the total`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { #expect(self.gate.enter(peer) == true) }
        #expect(self.gate.enter(Self.c) == false)
    }

    @Test func `a connection that leaves frees its place`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { _ = self.gate.enter(peer) }
        self.gate.leave(Self.a)
        #expect(self.gate.enter(Self.c) == true)
        #expect(self.gate.enter(Self.a) == false)
    }

    @Test func `leaving without entering frees no place`() {
        for peer in [Self.a, Self.a, Self.b, Self.b] { _ = self.gate.enter(peer) }
        self.gate.leave(Self.c)
        #expect(self.gate.enter(Self.c) == false)
    }

    @Test func `a refused connection takes no place`() {
        _ = self.gate.enter(Self.a)
        _ = self.gate.enter(Self.a)
        for _ in 0..<10 { _ = self.gate.enter(Self.a) }
        self.gate.leave(Self.a)
        #expect(self.gate.enter(Self.a) == true)
    }

    @Test func `the addresses of one IPv6 network share a limit`() throws {
        func key(_ address: String) throws -> PeerKey { PeerKey(try SocketAddress(ipAddress: address, port: 1)) }
        #expect(try self.gate.enter(key("2001:db8::1")) == true)
        #expect(try self.gate.enter(key("2001:db8::2")) == true)
        for number in 3...20 { #expect(try self.gate.enter(key("2001:db8::\(number)")) == false) }
        #expect(try self.gate.enter(key("2001:db8:0:1::1")) == true)
    }
}
