// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import RemoteSystems

@Suite struct RunningApplicationsTests {
    private func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "running-\(UUID())").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    @Test func `a record is found until it is removed`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            #expect(running.all().isEmpty)
            do {
                let note = try running.note(RunningApplication(application: "test.one", port: 4711, pid: 7))
                #expect(running.port(of: "test.one") == 4711)
                #expect(running.port(of: "test.two") == nil)
                withExtendedLifetime(note) {}
            }
            #expect(running.all().isEmpty)
        }
    }

    @Test func `the machine is reached at its daemon's port, or at the port of its only host`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            #expect(running.machinePort == nil)
            let one = try running.note(RunningApplication(application: "test.one", port: 4711, pid: 7))
            let helper = try running.note(RunningApplication(application: "remote-systems.diagnosis", port: 9, pid: 7))
            #expect(running.machinePort == 4711)
            let two = try running.note(RunningApplication(application: "test.two", port: 4712, pid: 7))
            #expect(running.machinePort == nil)
            let daemon = try running.note(RunningApplication(application: "remote-systems.host", port: 50_000, pid: 8))
            #expect(running.machinePort == 50_000)
            withExtendedLifetime((one, helper, two, daemon)) {}
        }
    }

    @Test func `a dead process's record is ignored and removed`() throws {
        try self.withDirectory { directory in
            let running = RunningApplications(stateDirectory: directory)
            let note = try running.note(RunningApplication(application: "test.alive", port: 1, pid: 7))
            // The remains of a killed process: no process holds the lock.
            let dead = running.directory + "/999-x.json"
            try #"{"application":"test.dead","port":2,"pid":999}"#.write(
                toFile: dead,
                atomically: false,
                encoding: .utf8
            )
            #expect(running.all().map(\.application) == ["test.alive"])
            #expect(!FileManager.default.fileExists(atPath: dead))
            withExtendedLifetime(note) {}
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
            #expect(throws: SystemCallFailure.self) {
                _ = try running.note(RunningApplication(application: "test.one", port: 1, pid: 7))
            }
        }
    }
}
