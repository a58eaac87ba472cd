// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import NIOCore
import Synchronization
import Testing

@testable import RemoteSystemsTransport

/// The Unix socket over which programs of one user reach the host daemon of their machine.
@Suite struct LocalTransportTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func withDirectory(
        _ name: String = "l-\(UUID())",
        permissions: Int = 0o700,
        _ body: (String) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: name).path
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: permissions]
        )
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }

    private func listen(
        _ transport: LocalTransport,
        _ accepted: @escaping @Sendable (TransportPeer) -> Void = { _ in }
    ) async throws -> BoundPort {
        try await transport.listen(host: nil, port: 0, logger: self.logger) { channel in
            channel.eventLoop.makeCompletedFuture { accepted(channel.transportPeer) }
        }
    }

    private func connect(
        _ transport: LocalTransport,
        _ connected: @escaping @Sendable (TransportPeer) -> Void = { _ in }
    ) async throws {
        let channel = try await transport.connect(
            to: LocalTransport.endpoint,
            on: transport.anyEventLoop(),
            timeout: .seconds(10)
        ) { channel in
            channel.eventLoop.makeCompletedFuture { connected(channel.transportPeer) }
        }.get()
        try await channel.close()
    }

    @Test(arguments: ["short", String(repeating: "long", count: 40)])
    func `both sides learn the other's process from the kernel, whatever the length of the path`(name: String)
        async throws
    {
        try await self.withDirectory("\(UUID())-\(name)") { directory in
            let transport = LocalTransport(directory: directory, name: "daemon.sock")
            let (accepted, accept) = AsyncStream.makeStream(of: TransportPeer.self)
            let bound = try await self.listen(transport) { accept.yield($0) }
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(directory)/daemon.sock")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let daemon = Mutex<TransportPeer?>(nil)
            try await self.connect(transport) { peer in daemon.withLock { $0 = peer } }
            var peers = accepted.makeAsyncIterator()
            let program = try #require(await peers.next())
            #expect(program.processID == getpid())
            #expect(program.endpoint == nil)
            #expect(program.isProximal)
            #expect(program.address == "process \(getpid())")
            #expect(daemon.withLock { $0?.processID } == getpid())
            await bound.close()
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/daemon.sock"))
        }
    }

    @Test func `one program listens at a time, and the socket of one that has ended is replaced`() async throws {
        try await self.withDirectory { directory in
            let transport = LocalTransport(directory: directory, name: "daemon.sock")
            // The remains of a killed program.
            _ = FileManager.default.createFile(atPath: "\(directory)/daemon.sock", contents: nil)
            _ = FileManager.default.createFile(atPath: "\(directory)/.daemon.sock", contents: nil)
            await #expect(throws: TransportError.self) { try await self.connect(transport) }
            let bound = try await self.listen(transport)
            try await self.connect(transport)
            let error = await #expect(throws: TransportError.self) { _ = try await self.listen(transport) }
            #expect(error?.code == .cannotListen)
            try await self.connect(transport)
            await bound.close()
            await #expect(throws: TransportError.self) { try await self.connect(transport) }
            let next = try await self.listen(transport)
            try await self.connect(transport)
            await next.close()
        }
    }

    @Test func `a directory that others can access is not used`() async throws {
        try await self.withDirectory(permissions: 0o750) { directory in
            let transport = LocalTransport(directory: directory, name: "daemon.sock")
            await #expect(throws: TransportError.self) { _ = try await self.listen(transport) }
        }
    }

    @Test func `a program of another user is refused, and each program has a key of its own`() throws {
        let peer = LocalPeer(pid: 4711, user: 1000)
        try peer.check(user: 1000)
        #expect(throws: LocalSocket.Failure.self) { try peer.check(user: 1001) }
        #expect(throws: LocalSocket.Failure.self) { try peer.check(user: 0) }
        #expect(peer.key == LocalPeer(pid: 4711, user: 1000).key)
        #expect(peer.key != LocalPeer(pid: 4712, user: 1000).key)
        #expect(peer.key != LocalPeer(pid: 4711, user: 1001).key)
    }
}
