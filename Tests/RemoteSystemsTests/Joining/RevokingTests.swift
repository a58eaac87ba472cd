// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

/// Revoking a system through the public API (issue 2, part 3; `Docs/security-model.md`).
@Suite(.timeLimit(.minutes(1))) struct RevokingTests {
    /// Runs a host on a machine while `body` runs.
    private func withHost(
        on machine: String,
        of machines: TwoMachines,
        _ body: (RemoteSystemHost) async throws -> Void
    ) async throws {
        let host = RemoteSystemHost(machines.configuration(machine, application: "host.\(machine)"), services: [.ping])
        try await host.whileRunning { try await body(host) }
    }

    private func withWatcher(
        on machine: String,
        of machines: TwoMachines,
        _ body: (EventRecorder) async throws -> Void
    ) async throws {
        let watcher = RemoteSystemWatcher(machines.configuration(machine, application: "watcher.\(machine)"))
        let recorder = EventRecorder(watcher)
        try await watcher.start()
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(recorder)) } catch { outcome = .failure(error) }
        await watcher.stop()
        try outcome.get()
    }

    @Test func `a revoked system is removed, its connections end, and it cannot return (X-37)`()
        async throws
    {
        try await TwoMachines.with { machines in
            try await machines.join()
            let rogue = try machines.account("second").identity().systemID
            try await self.withHost(on: "second", of: machines) { _ in
                try await self.withHost(on: "first", of: machines) { host in
                    try await self.withWatcher(on: "first", of: machines) { recorder in
                        _ = try await recorder.first { event -> Bool? in
                            if case .added(let system) = event, system.id == rogue { true } else { nil }
                        }
                        let request = RemoteSystemConnectionRequest(
                            host: "127.0.0.1",
                            port: try await host.port,
                            configuration: machines.configuration("second")
                        )
                        let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                        #expect(try await connection.open(request) == .success)

                        // Revokes like the command: in a process that shares nothing but the files.
                        try machines.account("first").revoke(rogue)
                        _ = try await connection.waitUntilClosed()
                        #expect(try await recorder.removed().id == rogue)
                        let again = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
                        #expect(try await again.open(request) == .notAuthorized)
                        #expect(again.openError?.message.contains("revoked") == true)
                    }
                }
            }
            #expect(try machines.account("first").revokedSystems() == [rogue])
        }
    }

    @Test func `revocation lists spread from hosts to watchers and from watchers to hosts`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third", "fourth"] { try await machines.join(machine) }
            let rogue = try machines.account("second").identity().systemID
            try await self.withHost(on: "first", of: machines) { _ in
                try await self.withHost(on: "fourth", of: machines) { _ in
                    try await self.withWatcher(on: "third", of: machines) { recorder in
                        try await until { recorder.events.count { if case .added = $0 { true } else { false } } >= 2 }
                        try machines.account("first").revoke(rogue)
                        for machine in ["third", "fourth"] {
                            try await until { (try? machines.account(machine).revokedSystems()) == [rogue] }
                        }
                    }
                }
            }
        }
    }

    @Test func `a system that was offline gets the revocation list from the next system it meets`() async throws {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            let rogue = try machines.account("second").identity().systemID
            try machines.account("first").revoke(rogue)
            try await self.withHost(on: "third", of: machines) { _ in
                try await self.withWatcher(on: "first", of: machines) { _ in
                    try await until { (try? machines.account("third").revokedSystems()) == [rogue] }
                }
            }
        }
    }

    @Test func `a machine without the account's key cannot revoke`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let first = try machines.account("first").identity().systemID
            #expect(await identityCode { try machines.account("second").revoke(first) } == .notAuthority)
        }
    }
}
