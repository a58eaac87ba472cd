// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import RemoteSystemsDesktop
import Testing

@Suite struct RegistryTests {
    @Test func `the user's manifest hides the machine's, even if it is invalid`() async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.one", start: #"{"exec": ["/shared"]}"#, shared: true)
            try daemon.install("test.two", start: #"{"exec": ["/shared"]}"#, shared: true)
            try daemon.install("test.three", start: #"{"exec": ["/shared"]}"#, shared: true)
            try daemon.install("test.one", start: #"{"exec": ["/own"]}"#)
            try daemon.install("test.two", start: #"{"exec": "/own"}"#)
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(await registry.applications().map(\.id) == ["test.one", "test.three"])
            let problem = try #require(registry.problems.first)
            #expect(registry.problems.count == 1)
            #expect(problem.path.contains("/data/"))
            #expect(problem.line == 6)
        }
    }

    @Test func `observers are notified of changes, and of nothing else`() async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.one", start: #"{"exec": ["/a"]}"#)
            let registry = ApplicationRegistry(environment: daemon.environment)
            var changes = registry.changes().makeAsyncIterator()
            registry.reload()
            try daemon.install("test.two", start: #"{"exec": ["/a"]}"#)
            registry.reload()
            #expect(await changes.next() != nil)
            #expect(await registry.applications().map(\.id) == ["test.one", "test.two"])
        }
    }

    @Test func `a manifest that is too long or not a regular file is skipped`() async throws {
        try await Daemon.with { daemon in
            let place = "\(daemon.directory)/data/remote-systems/applications"
            try String(repeating: " ", count: 70_000).write(
                toFile: place + "/a.json",
                atomically: true,
                encoding: .utf8
            )
            try FileManager.default.createDirectory(atPath: place + "/b.json", withIntermediateDirectories: false)
            let made = unsafe mkfifo(place + "/c.json", 0o600)
            #expect(made == 0)
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(await registry.applications().isEmpty)
            #expect(registry.problems.count == 3)
        }
    }

    @Test(arguments: [("test.one.json", 0o664), ("test.one.json", 0o646), ("", 0o775), ("", 0o757), ("", 0o1777)])
    func `a manifest that other users can change is not used until they cannot`(name: String, mode: Int) async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.one", start: #"{"exec": ["/bin/true"]}"#)
            let place = "\(daemon.directory)/data/remote-systems/applications"
            let path = name.isEmpty ? place : "\(place)/\(name)"
            func permit(_ mode: Int) throws {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            }
            try permit(mode)
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(await registry.applications().isEmpty)
            let problem = try #require(registry.problems.first)
            #expect(problem.message.contains("can be changed by"))
            #expect(problem.message.contains("chmod"))
            try permit(name.isEmpty ? 0o755 : 0o644)
            registry.reload()
            #expect(await registry.applications().map(\.id) == ["test.one"])
        }
    }

    @Test func `a manifest whose permissions were changed is read again`() async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.one", start: #"{"exec": ["/bin/true"]}"#)
            let path = "\(daemon.directory)/data/remote-systems/applications/test.one.json"
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(await registry.applications().isEmpty)
            let running = Task { try await registry.run() }
            defer { running.cancel() }
            var changes = registry.changes().makeAsyncIterator()
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            #expect(await changes.next() != nil)
            #expect(await registry.applications().map(\.id) == ["test.one"])
        }
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."), arguments: ["test.one.json", ""])
    func `a manifest of another user is not used`(name: String) async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.one", start: #"{"exec": ["/bin/true"]}"#)
            let place = "\(daemon.directory)/data/remote-systems/applications"
            let path = name.isEmpty ? place : "\(place)/\(name)"
            #expect(unsafe chown(path, 12_345, 0) == 0)
            let registry = ApplicationRegistry(environment: daemon.environment)
            #expect(await registry.applications().isEmpty)
            #expect(registry.problems.first?.message.contains("belongs to another user (12345)") == true)
        }
    }

    @Test func `a start during the end of the previous program waits, and then starts a new one`() async throws {
        try await Daemon.with { daemon in
            let (starts, leave) = ("\(daemon.directory)/starts", "\(daemon.directory)/leave")
            let script = "echo started >> \(starts); while [ ! -e \(leave) ]; do sleep 0.05; done"
            try daemon.install("test.leaving", start: #"{"exec": ["/bin/sh", "-c", "\#(script)"]}"#)
            let registry = ApplicationRegistry(environment: daemon.environment)
            func count() -> Int {
                (try? String(contentsOfFile: starts, encoding: .utf8))?.split(separator: "\n").count ?? 0
            }
            async let first: Void = registry.start("test.leaving")
            _ = try await eventually("the first start") { count() == 1 ? true : nil }
            async let second: Void = registry.start("test.leaving")
            // Long enough for a second program to start beside the first, if the registry did not wait.
            try await Task.sleep(for: .milliseconds(200))
            #expect(count() == 1)
            #expect(FileManager.default.createFile(atPath: leave, contents: nil))
            try await first
            try await second
            #expect(count() == 2)
        }
    }

    @Test func `a failing program is reported at once, with the reason`() async throws {
        try await Daemon.with { daemon in
            try daemon.install("test.false", start: #"{"exec": ["/bin/false"]}"#)
            try daemon.install("test.missing", start: #"{"exec": ["/no/such/program"]}"#)
            let registry = ApplicationRegistry(environment: daemon.environment)
            for (id, reason) in [("test.false", "exit status 1"), ("test.missing", "No such file")] {
                do {
                    try await registry.start(id)
                    Issue.record("\(id) was started")
                } catch {
                    #expect("\(error)".contains(reason))
                }
            }
        }
    }
}
