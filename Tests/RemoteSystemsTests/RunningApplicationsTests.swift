// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import RemoteSystems

/// The running applications that a process finds by the locks of their ids.
@Suite struct RunningApplicationsTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "running-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    private func start(_ id: String, port: Int, in directory: String) throws -> any ApplicationClaim {
        let running = RunningApplications(stateDirectory: directory)
        let claim = try ApplicationLocks(running: running).claim(id, isShared: false)
        claim.listens(at: port, isOnLoopback: false)
        return claim
    }

    @Test func `an application is found while it holds its lock and listens`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            #expect(running.listening.isEmpty)
            do {
                let claim = try self.start("test.one", port: 54_711, in: directory)
                #expect(running.port(of: "test.one") == 54_711)
                #expect(running.port(of: "test.two") == nil)
                // A shorter line replaces a longer one.
                claim.listens(at: 4711, isOnLoopback: false)
                #expect(running.listening.map(\.port) == [4711])
                #expect(running.listening.map(\.pid) == [getpid()])
                claim.listens(at: 4711, isOnLoopback: true)
                #expect(running.processes(of: "test.one").map(\.isOnLoopback) == [true])
            }
            // The file stays, and describes a process that does not hold the lock any more.
            #expect(running.listening.isEmpty)
            #expect(running.port(of: "test.one") == nil)
        }
    }

    @Test func `a watcher expects this system while one of its applications listens`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let watcher = loopbackSystem.watcher()
            #expect(!watcher.expectsOwnSystem)
            try await loopbackSystem.withHost([]) { host in
                _ = try await host.port
                try await until { watcher.expectsOwnSystem }
                // Configured addresses need not lead to it.
                var configuration = loopbackSystem.configuration("test.watcher")
                configuration.discovery.sources = [try StaticPeers([], logger: configuration.logger)]
                #expect(!RemoteSystemWatcher(configuration).expectsOwnSystem)
            }
            try await until { !watcher.expectsOwnSystem }
        }
    }

    @Test func `the machine is reached at its daemon's port, or at the port of its only host`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            #expect(running.machinePort == nil)
            let one = try self.start("test.one", port: 4711, in: directory)
            let helper = try self.start("remote-systems.diagnosis", port: 9, in: directory)
            #expect(running.machinePort == 4711)
            let two = try self.start("test.two", port: 4712, in: directory)
            #expect(running.machinePort == nil)
            let daemon = try self.start("remote-systems.host", port: 50_000, in: directory)
            #expect(running.machinePort == 50_000)
            withExtendedLifetime((one, helper, two, daemon)) {}
        }
    }

    @Test(arguments: ["", "process 4711 (player)", #"{"application":"test.other","port":1,"pid":7}"#])
    func `a lock file that describes no process of the application is ignored`(text: String) throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            let claim = try self.start("test.one", port: 4711, in: directory)
            let path = ApplicationLocks(running: running).path(of: "test.one")
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: Data(text.utf8))
            #expect(running.port(of: "test.one") == nil)
            withExtendedLifetime(claim) {}
        }
    }

    @Test func `a directory accessible to others is not used`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            try FileManager.default.createDirectory(
                atPath: running.directory,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755]
            )
            #expect(throws: SystemCallFailure.self) { _ = try self.start("test.one", port: 1, in: directory) }
        }
    }
}
