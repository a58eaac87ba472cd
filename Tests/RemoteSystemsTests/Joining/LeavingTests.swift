// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsIdentity
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import RemoteSystems

/// What happens to running programs when their system leaves the account. Files are real; network and time are a
/// stage's.
@Suite(.timeLimit(.minutes(1))) struct LeavingTests {
    private static func configuration(
        _ machines: TwoMachines,
        _ machine: String,
        on stage: DiscoveryStage
    ) -> RemoteSystemsConfiguration {
        var configuration = stage.configuration(applicationID: "test.\(machine)")
        configuration.stateDirectory = machines.configuration(machine).stateDirectory
        configuration.environment.identity = nil
        return configuration
    }

    /// Makes "second" a system of the account of "first".
    private static func with(_ body: (TwoMachines, DiscoveryStage) async throws -> Void) async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            try await DiscoveryStage.with { stage in try await body(machines, stage) }
        }
    }

    @Test func `a host ends with an error, and its connections close, within a second of leaving (X-37)`() async throws
    {
        try await Self.with { machines, stage in
            let host = RemoteSystemHost(Self.configuration(machines, "second", on: stage), services: [.ping])
            let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: Self.configuration(machines, "first", on: stage)
            )
            #expect(try await connection.open(request) == .success)

            // Leaves like the command: in a process that shares nothing but the files.
            let departure = try machines.account("second").leave()
            try await stage.advance(by: .seconds(1))
            let error = await #expect(throws: RemoteSystemError.self) { try await running.value }
            #expect(error?.code == .identity)
            #expect((error?.cause as? IdentityError)?.code == .accountLeft)
            #expect(error?.message.contains(departure.account.short) == true)
            #expect(host.registration == .unregistered)
            try await stage.eventually("the connection is closed") { connection.info == nil }
            // A running program creates no account by itself.
            #expect(try !AccountStore(directory: machines.account("second").directory).holdsAccount())

            let again = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            #expect(try await again.open(request) == .remoteSystemUnavailable)
        }
    }

    @Test func `a watcher and a connection stop, and do not start again under the old account (X-37)`() async throws {
        try await Self.with { machines, stage in
            let server = RemoteSystemHost(Self.configuration(machines, "first", on: stage), services: [.ping])
            let serving = Task(executorPreference: stage.taskExecutor) { try await server.run(isStaged: true) }
            _ = try await server.port
            let watcher = RemoteSystemWatcher(Self.configuration(machines, "second", on: stage))
            let recorder = stage.record(watcher)
            let events = watcher.events
            try await watcher.start()
            let system = try await recorder.added()
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            #expect(try await connection.open(.system(system)) == .success)

            try machines.account("second").leave()
            try await stage.advance(by: .seconds(1))
            let reported = try await recorder.error()
            #expect(reported.code == .authenticationError)
            #expect(!reported.recoversByItself)
            var last: RemoteSystemEvent?
            for await event in events { last = event }
            guard case .error? = last else {
                _ = Issue.record("the sequence ended with \(String(describing: last))")
                return
            }
            #expect(watcher.systems.isEmpty)
            #expect(connection.info == nil)
            try await stage.eventually("the watcher has stopped") { !watcher.isRunning }

            let start = await #expect(throws: RemoteSystemError.self) { try await watcher.start() }
            #expect((start?.cause as? IdentityError)?.code == .accountLeft)
            let again = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            await #expect(throws: RemoteSystemError.self) { _ = try await again.open(.system(system)) }
            serving.cancel()
            _ = await serving.result
        }
    }

    @Test func `a program notices that it has left although another account exists already (X-37)`() async throws {
        try await Self.with { machines, stage in
            let host = RemoteSystemHost(Self.configuration(machines, "second", on: stage), services: [])
            let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
            _ = try await host.port
            let account = machines.account("second")
            try account.leave()
            // Moved to its place, as if another program created the account: this one does not.
            let other = "\(machines.directory)/other"
            let fresh = try AccountStore(directory: other).identity()
            try FileManager.default.moveItem(atPath: "\(other)/account", toPath: "\(account.directory)/account")
            try await stage.advance(by: .seconds(1))
            let error = await #expect(throws: RemoteSystemError.self) { try await running.value }
            #expect((error?.cause as? IdentityError)?.code == .accountLeft)
            #expect(try machines.account("second").identity().systemID == fresh.systemID)
        }
    }

    @Test func `no part of a program creates an account after its system has left the one that it uses`() async throws {
        try await Self.with { machines, stage in
            let account = machines.account("second")
            let watcher = RemoteSystemWatcher(Self.configuration(machines, "second", on: stage))
            try await watcher.start()
            try account.leave()
            // The watcher has not noticed it yet. These parts read the files for the first time.
            let names = #expect(throws: RemoteSystemError.self) { try account.systemNames() }
            #expect((names?.cause as? IdentityError)?.code == .accountLeft)
            let late = RemoteSystemWatcher(Self.configuration(machines, "second", on: stage))
            let start = await #expect(throws: RemoteSystemError.self) { try await late.start() }
            #expect((start?.cause as? IdentityError)?.code == .accountLeft)
            // By another path to the same directory, too.
            let link = "\(machines.directory)/link"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: account.directory)
            var linked = Self.configuration(machines, "second", on: stage)
            linked.stateDirectory = link
            let other = RemoteSystemWatcher(linked)
            let otherStart = await #expect(throws: RemoteSystemError.self) { try await other.start() }
            #expect((otherStart?.cause as? IdentityError)?.code == .accountLeft)
            #expect(try !AccountStore(directory: account.directory).holdsAccount())
            await watcher.stop()
        }
    }

    @Test func `after joining another account running programs continue under the old one (X-37)`() async throws {
        try await Self.with { machines, stage in
            let host = RemoteSystemHost(Self.configuration(machines, "second", on: stage), services: [.ping])
            let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: Self.configuration(machines, "first", on: stage)
            )
            let outcome = try await machines.whileInviting("third") { invitation, _ in
                _ = try await machines.account("second").join(invitation, evenIfShared: true)
            }
            _ = try outcome.get()
            try await stage.advance(by: .seconds(3))
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            #expect(try await connection.open(request) == .success)
            await connection.close()
            running.cancel()
            try await running.value
        }
    }

    @Test func `a system that has left can join again with a new id (X-37)`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let before = try machines.account("second").identity()
            try machines.account("second").leave()
            try await machines.join()
            let after = try machines.account("second").identity()
            #expect(after.accountID == before.accountID)
            #expect(after.systemID != before.systemID)
        }
    }

    @Test func `the only root key is not deleted by accident (X-37)`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let account = machines.account("first")
            let error = #expect(throws: RemoteSystemError.self) { try account.leave() }
            #expect(error?.code == .identity)
            #expect((error?.cause as? IdentityError)?.code == .rootKeyWouldBeLost)
            #expect(try account.identity().isAuthority)
            #expect(try account.leave(evenWithRootKey: true).heldRootKey)
        }
    }
}
