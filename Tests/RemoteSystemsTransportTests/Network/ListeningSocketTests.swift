// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import RemoteSystemsTransport

/// Sockets from a service manager, compared with the network that may be used.
@Suite struct ListeningSocketTests {
    /// A socket on which the body may listen. If it does not, it must close it.
    private func listen(
        at host: String,
        bindingTo interface: String? = nil,
        within reach: NetworkReach
    ) async throws -> BoundPort {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        if let interface {
            let length = socklen_t(interface.utf8.count)
            try #require(unsafe setsockopt(descriptor, SOL_SOCKET, SO_BINDTODEVICE, interface, length) == 0)
        }
        let address = try SocketAddress(ipAddress: host, port: 0)
        try #require(unsafe address.withSockAddr { unsafe bind(descriptor, $0, socklen_t($1)) } == 0)
        do {
            return try await SocketTransport(listeningSocket: descriptor, reach: reach)
                .listen(host: nil, port: 0, logger: Logger(label: "test")) { $0.eventLoop.makeSucceededVoidFuture() }
        } catch {
            close(descriptor)
            throw error
        }
    }

    @Test func `a socket within the allowed network is used`() async throws {
        try await self.listen(at: "0.0.0.0", within: .all).close()
        try await self.listen(at: "127.0.0.1", within: .machine).close()
        try await self.listen(at: "0.0.0.0", bindingTo: "lo", within: .machine).close()
        try await self.listen(at: "127.0.0.1", within: .interfaces(["eth7"])).close()
        try await self.listen(at: "0.0.0.0", bindingTo: "lo", within: .interfaces(["lo"])).close()
    }

    @Test(arguments: [NetworkReach.machine, .interfaces(["eth7"]), .interfaces([])])
    func `a socket that is open to a wider network is refused`(reach: NetworkReach) async throws {
        let error = await #expect(throws: TransportError.self) {
            _ = try await self.listen(at: "0.0.0.0", within: reach)
        }
        #expect(error?.code == .cannotListen)
        #expect(error?.message.contains("socket unit") == true)
    }
}
