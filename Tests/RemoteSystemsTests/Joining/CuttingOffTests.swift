// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RemoteSystemsIdentity
import RemoteSystemsTesting
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// How soon those who only call are rid of a system that was revoked, and what its list costs others
/// (`Docs/security-model.md`).
@Suite(.timeLimit(.minutes(1))) struct CuttingOffTests {
    /// Runs the body with a host on the machine "second", which the machine "first" shares an account with; files are
    /// real, the network and the time are a stage's.
    private func withHost(
        options: RemoteSystemHost.Options = RemoteSystemHost.Options(),
        _ body: (TwoMachines, DiscoveryStage, RemoteSystemConnectionRequest) async throws -> Void
    ) async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            try await DiscoveryStage.with { stage in
                let host = RemoteSystemHost(
                    machines.configuration("second", on: stage),
                    services: [.ping],
                    options: options
                )
                let running = Task(executorPreference: stage.taskExecutor) { try await host.run(isStaged: true) }
                let request = RemoteSystemConnectionRequest(
                    host: "127.0.0.1",
                    port: try await host.port,
                    configuration: machines.configuration("first", on: stage)
                )
                let outcome: Result<Void, any Error>
                do { outcome = .success(try await body(machines, stage, request)) } catch { outcome = .failure(error) }
                running.cancel()
                _ = await running.result
                try outcome.get()
            }
        }
    }

    /// As the command does it: in a process that shares nothing but the files.
    private func revokeSecond(_ machines: TwoMachines) throws {
        try machines.account("first").revoke(try machines.account("second").identity().systemID)
    }

    @Test func `an open connection with a revoked system ends although nothing else runs here`() async throws {
        try await self.withHost { machines, stage, request in
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            #expect(try await connection.open(request) == .success)
            try self.revokeSecond(machines)
            try await stage.advance(by: .milliseconds(999))
            #expect(connection.info != nil)
            try await stage.advance(by: .milliseconds(1))
            // The account's files are read on a thread of their own, which no clock of a stage moves.
            let status = try await connection.waitUntilClosed()
            #expect(connection.info == nil)
            #expect(status == .unknown)
        }
    }

    @Test func `a connection that comes back does not come back to a revoked system`() async throws {
        try await self.withHost { machines, stage, request in
            let connection = LongLivedConnection(to: AppServiceDescription(name: AppService.pingName), request)
            try connection.start()
            try await stage.settle()
            #expect(connection.info != nil)
            try self.revokeSecond(machines)
            // The account's files are read on a thread of their own, which no clock of a stage moves.
            try await until {
                try? await stage.advance(by: .milliseconds(500))
                guard case .gaveUp = connection.state else { return false }
                return true
            }
            guard case .gaveUp(let error) = connection.state else {
                Issue.record("It is \(connection.state).")
                return
            }
            #expect(error.code == .notTrusted)
            await connection.close()
        }
    }

    @Test func `a launch that is under way ends when the system that was asked is revoked`() async throws {
        var options = RemoteSystemHost.Options()
        options.launchURIProvider = LaunchURIHandler(schemes: ["test"]) { _ in
            try await Task.sleep(for: .seconds(3600))
            return .opened
        }
        try await self.withHost(options: options) { machines, stage, request in
            async let launching = RemoteLauncher().launchURI("test:it", with: request)
            try await stage.settle()
            try self.revokeSecond(machines)
            try await stage.advance(by: .seconds(1))
            let result = try await launching
            #expect(result.status == .unknown)
            #expect(result.error?.code == .connectionLost)
        }
    }

    @Test func `however many hold on to the account it is looked at once a second, and not after the last has let go`()
        async throws
    {
        try await DiscoveryStage.with { stage in
            let looks = Mutex(0)
            let follower = AccountObserver(stage.configuration.environment)
            let one = follower.hold { looks.withLock { $0 += 1 } }
            let other = follower.hold { Issue.record("There is a second timer.") }
            try await stage.advance(by: .seconds(3))
            #expect(looks.withLock { $0 } == 3)
            follower.release(one)
            try await stage.advance(by: .seconds(2))
            #expect(looks.withLock { $0 } == 5)
            follower.release(other)
            try await stage.advance(by: .seconds(60))
            #expect(looks.withLock { $0 } == 5)
            let again = follower.hold { looks.withLock { $0 += 10 } }
            try await stage.advance(by: .seconds(1))
            #expect(looks.withLock { $0 } == 15)
            follower.release(again)
        }
    }

    // MARK: What a list costs

    /// Runs the body with what a host on "second" knows, and a list that the account signed.
    private func withMember(_ body: (TwoMachines, ApplicationContext, RevocationList) async throws -> Void) async throws
    {
        try await TwoMachines.with { machines in
            for machine in ["second", "third"] { try await machines.join(machine) }
            try machines.account("first").revoke(try machines.account("third").identity().systemID)
            let list = try #require(try AccountStore(directory: "\(machines.directory)/first").revocations())
            let local = ApplicationContext(machines.configuration("second"))
            _ = try local.security()
            try await body(machines, local, list)
        }
    }

    @Test func `a list that says nothing new, or that nobody signed, has no file locked`() async throws {
        try await self.withMember { machines, local, list in
            try await local.account.take(revocations: list.bytes)
            #expect(local.account.revocations == list)
            let lock = try FileLock("\(machines.directory)/second/lock")
            defer { lock.release() }
            var older = list.bytes
            older.replaceSubrange(0..<8, with: [0, 0, 0, 0, 0, 0, 0, 1])
            var forged = list.bytes
            forged[0] = 0xff
            // Whoever asked for the lock would wait for it for ten seconds, and be told that it is busy.
            try await local.account.take(revocations: list.bytes)
            try await local.account.take(revocations: older)
            let error = await #expect(throws: TrustError.self) { try await local.account.take(revocations: forged) }
            #expect(error?.code == .badSignature)
            let malformed = await #expect(throws: TrustError.self) {
                try await local.account.take(revocations: Array(older.dropLast()))
            }
            #expect(malformed?.code == .malformed)
        }
    }

    @Test func `a list of a newer root key comes with the keys, and both are kept`() async throws {
        try await self.withMember { machines, local, list in
            let authority = try AccountStore(directory: "\(machines.directory)/first").authority()
            let successor = try authority.successor(retiring: Date(), now: Date())
            let newer = try successor.revocationList(of: Set(list.systems), after: list, now: Date())
            let host = Host(local: local)
            // Without the keys it cannot be judged.
            #expect(await host.isShown(newer)?.canRetry == false)
            #expect(await host.isShown(newer, roots: successor.roots) == nil)
            #expect(local.account.revocations == newer)
            #expect(try local.security().trust.own.roots == successor.roots)
            let store = AccountStore(directory: "\(machines.directory)/second")
            #expect(try store.identity().roots == successor.roots && store.revocations() == newer)
            // Both are told to others.
            let records = TrustTopic.records(of: newer, roots: try local.security().trust.own.roots)
            #expect(TrustTopic.roots(in: records) == successor.roots.bytes)
            #expect(TrustTopic.revocations(in: records) == newer.bytes)
            // Another successor of the same key is not taken.
            let rival = try authority.successor(retiring: Date(), now: Date())
            #expect(await host.isShown(newer, roots: rival.roots)?.canRetry == false)
            #expect(try local.security().trust.own.roots == successor.roots)
        }
    }

    @Test func `while a list waits for the files the host does all else, and what waits is bounded`() async throws {
        try await self.withMember { machines, local, list in
            let lock = try FileLock("\(machines.directory)/second/lock")
            let host = Host(local: local)
            await withTaskGroup(of: RemoteSystemError?.self) { group in
                for _ in 0..<AccountQueue.maxWaiting { group.addTask { await host.isShown(list) } }
                // They could not all be there if the first one kept the actor.
                while local.account.accountQueue.count < AccountQueue.maxWaiting { await Task.yield() }
                let refused = await host.isShown(list)
                #expect(refused?.code == .localResources)
                #expect(refused?.canRetry == true)
                lock.release()
                for await error in group { #expect(error == nil) }
            }
            #expect(local.account.revocations == list)
        }
    }

    @Test func `who was revoked meanwhile is found out before connecting, and not where the caller runs`() async throws
    {
        try await self.withMember { machines, local, list in
            let gate = DispatchSemaphore(value: 0)
            async let blocked: Void = local.account.accountQueue.run { gate.wait() }
            try await until { local.account.accountQueue.count == 1 }
            // As another process of this machine does.
            _ = try AccountStore(directory: "\(machines.directory)/second").install(
                revocations: list.bytes,
                now: Date()
            )
            let caller = Caller(local: local)
            async let connected: Void = caller.connect()
            try await until { local.account.accountQueue.count == 2 }
            await caller.doSomethingElse()
            #expect(local.account.revocations == nil)
            gate.signal()
            try await blocked
            try await connected
            #expect(local.account.revocations == list)
        }
    }
}

/// Who makes connections, and does other things.
private actor Caller {
    let local: ApplicationContext

    init(local: ApplicationContext) { self.local = local }

    func connect() async throws { _ = try await self.local.connector() }
    func doSomethingElse() {}
}

extension TwoMachines {
    /// The machine's files, on the network and by the clock of a stage.
    fileprivate func configuration(_ machine: String, on stage: DiscoveryStage) -> RemoteSystemsConfiguration {
        var configuration = stage.configuration(applicationID: "test.\(machine)")
        configuration.environment.identity = nil
        configuration.stateDirectory = self.configuration(machine).stateDirectory
        return configuration
    }
}

/// Where a host's core is when watchers show it lists.
private actor Host {
    let local: ApplicationContext

    init(local: ApplicationContext) { self.local = local }

    func isShown(_ list: RevocationList, roots: RootChain? = nil) async -> RemoteSystemError? {
        do {
            try await self.local.account.take(revocations: list.bytes, after: roots?.bytes)
            return nil
        } catch {
            return RemoteSystemError(error)
        }
    }
}

/// What another process that changes an account has.
private final class FileLock: Sendable {
    private let file: Mutex<CInt>

    init(_ path: String) throws {
        let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0)
        self.file = Mutex(file)
    }

    func release() {
        self.file.withLock { file in
            if file >= 0 { close(file) }
            file = -1
        }
    }
}
