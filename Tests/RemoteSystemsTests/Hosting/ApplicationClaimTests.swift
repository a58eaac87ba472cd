// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import RemoteSystems

/// One process for each application id of a system, unless all of them share it (issue 8, section 3).
@Suite struct ApplicationClaimTests {
    private func host(_ loopbackSystem: LoopbackSystem, _ id: String, isShared: Bool = false) -> RemoteSystemHost {
        var options = RemoteSystemHost.Options()
        options.allowsSeveralProcesses = isShared
        return RemoteSystemHost(loopbackSystem.configuration(id), services: [Loopback.echo], options: options)
    }

    /// The error of a host's start while another one runs.
    private func outcome(of host: RemoteSystemHost) async throws -> RemoteSystemError? {
        let running = Task { try await host.run() }
        defer { running.cancel() }
        do {
            _ = try await host.port
            running.cancel()
            try await running.value
            return nil
        } catch let error as RemoteSystemError {
            return error
        }
    }

    @Test func `a second host with the same application id does not start, and its error names the first`() async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await self.host(loopbackSystem, "test.player").whileRunning(expectsSuccess: true) {
                let error = try await self.outcome(of: self.host(loopbackSystem, "test.player"))
                #expect(error?.code == .applicationAlreadyRunning)
                #expect(error?.side == .local)
                #expect(error?.message.contains("test.player is already running on this system: this process") == true)
                #expect(error?.message.contains("allowsSeveralProcesses") == true)
                // Another application does not conflict.
                let other = try await self.outcome(of: self.host(loopbackSystem, "test.other"))
                #expect(other == nil)
            }
            // The id is free again once the host has ended.
            let next = try await self.outcome(of: self.host(loopbackSystem, "test.player"))
            #expect(next == nil)
        }
    }

    @Test(arguments: [(true, true, true), (true, false, false), (false, true, false), (false, false, false)])
    func `hosts share an application id only if all of them opt in`(first: Bool, second: Bool, starts: Bool)
        async throws
    {
        try await LoopbackSystem.with { loopbackSystem in
            try await self.host(loopbackSystem, "test.player", isShared: first).whileRunning(expectsSuccess: true) {
                let error = try await self.outcome(of: self.host(loopbackSystem, "test.player", isShared: second))
                #expect((error == nil) == starts)
                #expect(starts || error?.code == .applicationAlreadyRunning)
            }
        }
    }

    @Test func `a host that cannot listen releases its application id`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await self.host(loopbackSystem, "test.holder").whileRunning(expectsSuccess: true) {
                let held = RunningApplications(stateDirectory: loopbackSystem.directory).port(of: "test.holder")
                var options = RemoteSystemHost.Options()
                options.port = try #require(held)
                let failing = RemoteSystemHost(
                    loopbackSystem.configuration("test.player"),
                    services: [],
                    options: options
                )
                await #expect(throws: RemoteSystemError.self) { try await failing.run() }
                let error = try await self.outcome(of: self.host(loopbackSystem, "test.player"))
                #expect(error == nil)
            }
        }
    }

    @Test func `a process of another sandbox is not named by its number, which is that of another process here`() {
        var process = RunningApplication(application: "test.player", port: 1, pid: getpid(), program: "player")
        #expect(process.process == "this process itself")
        process.namespace = RunningApplication.ownNamespace
        #expect(process.namespace?.isEmpty == false && process.process == "this process itself")
        process.namespace = "pid:[1]"
        #expect(process.process == "a process of another sandbox or container (player)")
    }

    /// Names used as paths led LocalSend out of its directory (CVE-2025-27142).
    @Test
    func `every application id has its own lock file, which only the user reads (CVE-2025-27142)`()
        throws
    {
        let state = FileManager.default.temporaryDirectory.appending(path: "claims-\(UUID())").path
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: state) }
        let locks = ApplicationLocks(running: RunningApplications(stateDirectory: state))
        let ids = [
            "com.example.player", "com.example.Player", "../../escape", "a/b", ".", "..", "",
            String(repeating: "é", count: 128),
        ]
        let claims = try ids.map { try locks.claim($0, isShared: false) }
        let files = try FileManager.default.contentsOfDirectory(atPath: state + "/run/locks")
        #expect(files.count == ids.count)
        #expect(files.allSatisfy { $0.utf8.count == 69 && $0.hasSuffix(".lock") })
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(state)/run/locks/\(file)")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        // A process that does not listen yet is not found.
        #expect(locks.listening.isEmpty)
        #expect(throws: ApplicationIsTaken.self) { _ = try locks.claim("a/b", isShared: true) }
        withExtendedLifetime(claims) {}
    }

    @Test func `a lock file that is a link is not followed, and the host runs without the check`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            _ = try RemoteSystemsAccount(loopbackSystem.configuration("test.player")).identity()
            let locks = ApplicationLocks(running: RunningApplications(stateDirectory: loopbackSystem.directory))
            try locks.running.makeDirectory()
            try RunningApplications.makeDirectory(locks.running.directory + "/locks")
            let target = loopbackSystem.directory + "/target"
            try FileManager.default.createSymbolicLink(
                atPath: locks.path(of: "test.player"),
                withDestinationPath: target
            )
            #expect(throws: SystemCallFailure.self) { _ = try locks.claim("test.player", isShared: false) }
            let error = try await self.outcome(of: self.host(loopbackSystem, "test.player"))
            #expect(error == nil)
            #expect(!FileManager.default.fileExists(atPath: target))
        }
    }
}
