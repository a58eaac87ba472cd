// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import NIOCore
import RemoteSystemsIdentity
import RemoteSystemsTesting
import RemoteSystemsTransport
import Synchronization
import Testing
import ValueSets

@testable import RemoteSystems

/// How soon a caller without a host drops a revoked system, and what its revocation list costs other systems
/// (`Docs/security-model.md`).
@Suite(.timeLimit(.minutes(1))) struct CuttingOffTests {
    /// Runs the body with a host on the machine "second", whose account the machine "first" shares. Files are real;
    /// network and time are a stage's.
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

    /// Revokes like the command: in a process that shares nothing but the files.
    private func revokeSecond(_ machines: TwoMachines) throws {
        try machines.account("first").revoke(try machines.account("second").identity().systemID)
    }

    @Test func `an open connection to a revoked system ends although nothing else runs here`() async throws {
        try await self.withHost { machines, stage, request in
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            #expect(try await connection.open(request) == .success)
            try self.revokeSecond(machines)
            try await stage.advance(by: .milliseconds(999))
            #expect(connection.info != nil)
            try await stage.advance(by: .milliseconds(1))
            // The account's files are read on a thread of their own, in real time.
            let status = try await connection.waitUntilClosed()
            #expect(connection.info == nil)
            #expect(status == .unknown)
        }
    }

    @Test func `a clock that is set past the end of a host's certificate ends the open connection`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let host = RemoteSystemHost(machines.configuration("second", application: "test.host"), services: [.ping])
            let running = Task { try await host.run() }
            defer { running.cancel() }
            let clock = SettableClock()
            var configuration = machines.configuration("first")
            configuration.environment.network = TransportNetwork([SocketTransport()], time: TimeSource(manual: clock))
            let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
            let request = RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: try await host.port,
                configuration: configuration
            )
            #expect(try await connection.open(request) == .success)
            // Set back, it changes nothing at the next checks.
            clock.set(by: -365 * 86_400)
            let reads = clock.reads
            try await until { clock.reads >= reads + 2 }
            #expect(connection.info != nil)
            clock.set(by: 365 * 86_400)
            let status = try await connection.waitUntilClosed()
            #expect(connection.info == nil)
            #expect(status == .unknown)
            running.cancel()
            _ = await running.result
        }
    }

    @Test func `a long-lived connection does not reconnect to a revoked system`() async throws {
        try await self.withHost { machines, stage, request in
            let connection = LongLivedConnection(to: AppServiceDescription(name: AppService.pingName), request)
            try connection.start()
            try await stage.settle()
            #expect(connection.info != nil)
            try self.revokeSecond(machines)
            // The account's files are read on a thread of their own, in real time.
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

    @Test func `a launch in progress ends when its target system is revoked`() async throws {
        var options = RemoteSystemHost.Options()
        options.launchURIProvider = LaunchURIHandler(schemes: ["test"]) { _ in
            // By real time, and longer than the test; ended by cancellation.
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

    @Test func `the account is checked once a second for all observers, and not without any`()
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

    // MARK: The cost of a list

    /// Runs the body with the account context of a host on "second", and a list that the account signed.
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

    @Test func `a list without changes, or without a valid signature, locks no file`() async throws {
        try await self.withMember { machines, local, list in
            let holder = QuotaHolder.system(try machines.account("first").identity().systemID)
            try await local.account.take(PresentedTrust(lists: [list.bytes]), from: holder)
            #expect(local.account.revocations == list)
            let lock = try FileLock("\(machines.directory)/second/lock")
            defer { lock.release() }
            var older = list.bytes
            older.replaceSubrange(0..<8, with: [0, 0, 0, 0, 0, 0, 0, 1])
            var forged = list.bytes
            forged[0] = 0xff
            // An attempt to take the lock would wait for ten seconds and then fail as busy.
            try await local.account.take(PresentedTrust(lists: [list.bytes]), from: holder)
            try await local.account.take(PresentedTrust(lists: [older]), from: holder)
            let error = await #expect(throws: TrustError.self) {
                try await local.account.take(PresentedTrust(lists: [forged]), from: holder)
            }
            #expect(error?.code == .badSignature)
            let malformed = await #expect(throws: TrustError.self) {
                try await local.account.take(PresentedTrust(lists: [Array(older.dropLast())]), from: holder)
            }
            #expect(malformed?.code == .malformed)
        }
    }

    @Test func `a list that is refused keeps neither the other lists nor the discovery key from being adopted`()
        async throws
    {
        try await self.withMember { machines, local, list in
            let store = AccountStore(directory: "\(machines.directory)/first")
            let key = try #require(try store.identity().trustedAccount().discoveryKey?.signedBytes)
            #expect(try local.security().trust.own.discoveryKey?.signedBytes != key)
            let holder = QuotaHolder.system(try store.identity().systemID)
            var forged = list.bytes
            forged[0] = 0xff
            let error = await #expect(throws: TrustError.self) {
                try await local.account.take(
                    PresentedTrust(lists: [forged, list.bytes, Array(forged.dropLast())], discoveryKey: key),
                    from: holder
                )
            }
            #expect(error?.code == .badSignature)
            #expect(local.account.revocations == list)
            #expect(try local.security().trust.own.discoveryKey?.signedBytes == key)
        }
    }

    @Test func `a list of a newer root key comes with the keys, and both are kept`() async throws {
        try await self.withMember { machines, local, list in
            let authority = try AccountStore(directory: "\(machines.directory)/first").authority()
            let successor = try authority.successor(retiring: Date(), now: Date())
            let newer = try successor.revocationList(of: Set(list.systems), after: list, now: Date())
            let host = Host(local: local)
            // Without the keys the list cannot be verified.
            #expect(await host.isShown(newer)?.canRetry == false)
            #expect(await host.isShown(newer, roots: successor.roots) == nil)
            #expect(local.account.revocations == newer)
            #expect(try local.security().trust.own.roots == successor.roots)
            let store = AccountStore(directory: "\(machines.directory)/second")
            #expect(try store.identity().roots == successor.roots && store.revocations() == newer)
            // Both are sent to other systems.
            let presented = TrustTopic.presented(in: TrustTopic.records(of: try local.security().trust.own))
            #expect(presented.roots == successor.roots.bytes)
            #expect(presented.lists == [newer.bytes])
            // Another successor of the same key is refused.
            let rival = try authority.successor(retiring: Date(), now: Date())
            #expect(await host.isShown(newer, roots: rival.roots)?.canRetry == false)
            #expect(try local.security().trust.own.roots == successor.roots)
        }
    }

    @Test func `while a list waits for the files the host continues, and the queue is bounded`() async throws {
        try await self.withMember { machines, local, list in
            let lock = try FileLock("\(machines.directory)/second/lock")
            let host = Host(local: local)
            let other = QuotaHolder.system(try machines.account("first").identity().systemID)
            await withTaskGroup(of: RemoteSystemError?.self) { group in
                for _ in 0..<AccountQueue.maxOfPeer { group.addTask { await host.isShown(list) } }
                // The queue can fill only if the first list does not block the actor.
                while local.account.accountQueue.count < AccountQueue.maxOfPeer { await Task.yield() }
                let refused = await host.isShown(list)
                #expect(refused?.code == .localResources)
                #expect(refused?.canRetry == true)
                // Another system has places of its own.
                group.addTask { await host.isShown(list, by: other) }
                while local.account.accountQueue.count == AccountQueue.maxOfPeer { await Task.yield() }
                lock.release()
                for await error in group { #expect(error == nil) }
            }
            #expect(local.account.revocations == list)
        }
    }

    @Test func `a new revocation is found before connecting, without blocking the caller's actor`() async throws {
        try await self.withMember { machines, local, list in
            let gate = DispatchSemaphore(value: 0)
            async let blocked: Void = local.account.accountQueue.run { gate.wait() }
            try await until { local.account.accountQueue.count == 1 }
            // Installs the list like another process of this machine.
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
            await blocked
            try await connected
            #expect(local.account.revocations == list)
        }
    }

    @Test func `a list that cannot be read does not end an invitation, and the next revocation does`() async throws {
        try await self.withMember { machines, _, list in
            let clock = CountingClock()
            var configuration = machines.configuration("first")
            configuration.environment.network = TransportNetwork([SocketTransport()], time: TimeSource(manual: clock))
            let local = ApplicationContext(configuration)
            let path = "\(machines.directory)/first/account/revoked-systems.pem"
            let contents = try Data(contentsOf: URL(filePath: path))
            try Data("damaged".utf8).write(to: URL(filePath: path))
            let hasEnded = Mutex(false)
            let following = Task {
                await local.account.untilRevocations(differ: list)
                hasEnded.withLock { $0 = true }
            }
            defer { following.cancel() }
            try await until { clock.sleeps >= 2 || hasEnded.withLock { $0 } }
            try contents.write(to: URL(filePath: path))
            let sleeps = clock.sleeps
            try await until { clock.sleeps >= sleeps + 2 || hasEnded.withLock { $0 } }
            #expect(!hasEnded.withLock { $0 })
            try self.revokeSecond(machines)
            try await until { hasEnded.withLock { $0 } }
        }
    }
}

/// An actor that opens connections and does other work.
private actor Caller {
    let local: ApplicationContext

    init(local: ApplicationContext) { self.local = local }

    func connect() async throws { _ = try await self.local.connector() }
    func doSomethingElse() {}
}

extension TwoMachines {
    /// The machine's files, with the network and the clock of a stage.
    fileprivate func configuration(_ machine: String, on stage: DiscoveryStage) -> RemoteSystemsConfiguration {
        var configuration = stage.configuration(applicationID: "test.\(machine)")
        configuration.environment.identity = nil
        configuration.stateDirectory = self.configuration(machine).stateDirectory
        return configuration
    }
}

/// The machine's time, with a wall clock that a test sets.
private final class SettableClock: ManualTime {
    private let state = Mutex((offset: TimeInterval(0), reads: 0))

    /// How often the date was read.
    var reads: Int { self.state.withLock { $0.reads } }
    var now: ContinuousClock.Instant { .now }
    var deadline: NIODeadline { .now() }
    var date: Date {
        self.state.withLock { state in
            state.reads += 1
            return Date() + state.offset
        }
    }

    /// Sets the date to that of the machine, and so many seconds more.
    func set(by offset: TimeInterval) { self.state.withLock { $0.offset = offset } }

    /// In real time, since only the date is set.
    func sleep(until instant: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: instant, clock: .continuous)
    }
}

/// The machine's time, which counts the pauses and makes them short.
private final class CountingClock: ManualTime {
    private let count = Mutex(0)

    /// The number of pauses that have begun.
    var sleeps: Int { self.count.withLock { $0 } }
    var now: ContinuousClock.Instant { .now }
    var deadline: NIODeadline { .now() }

    func sleep(until instant: ContinuousClock.Instant) async throws {
        self.count.withLock { $0 += 1 }
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Stands for a host's core when watchers present lists.
private actor Host {
    let local: ApplicationContext

    init(local: ApplicationContext) { self.local = local }

    func isShown(
        _ list: RevocationList,
        roots: RootChain? = nil,
        by holder: QuotaHolder? = nil
    ) async -> RemoteSystemError? {
        do {
            let holder = try holder ?? .system(self.local.security().systemID)
            try await self.local.account.take(
                PresentedTrust(roots: roots?.bytes, lists: [list.bytes]),
                from: holder
            )
            return nil
        } catch {
            return RemoteSystemError(error)
        }
    }
}

/// The lock that another process holds while it changes an account.
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
