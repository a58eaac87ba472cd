// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOSSL
import Testing

@testable import RemoteSystemsTransport

/// The groups that `Docs/wire-protocol.md`, section 3, lists as supported, so that an implementer can rely on them.
@Suite(.timeLimit(.minutes(1))) struct TLSGroupTests {
    private static func isServed(with group: NIOTLSCurve) async throws -> Bool {
        var isServed = false
        try await LoopbackHost.with { host in
            var tls = try TLSConfiguration.raw(as: host.account.system())
            tls.curves = [group]
            let peer = try await RawPeer.connect(port: host.listener.port, tls: tls)
            try peer.send(.hello(.test))
            if case .accept? = try await peer.nextFrame() { isServed = true }
        }
        return isServed
    }

    @Test(arguments: [NIOTLSCurve.secp256r1, .x25519, .secp384r1])
    func `a caller that supports one of the listed groups alone is served`(group: NIOTLSCurve) async throws {
        #expect(try await Self.isServed(with: group))
    }

    @Test func `a caller with another group alone is not`() async throws {
        #expect(try await !Self.isServed(with: .secp521r1))
    }
}
