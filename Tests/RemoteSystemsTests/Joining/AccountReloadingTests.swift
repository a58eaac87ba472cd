// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import RemoteSystemsIdentity
import RemoteSystemsTesting
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// How a running program reads its account again: files that cannot be read or repaired, and a clock that was set.
@Suite(.timeLimit(.minutes(1))) struct AccountReloadingTests {
    /// A program that uses the account of a machine. Files are real; the clock is a stage's.
    private struct Program {
        let machines: TwoMachines
        let stage: DiscoveryStage
        let local: ApplicationContext
        let log: InMemoryLogHandler

        var store: AccountStore { AccountStore(directory: "\(self.machines.directory)/first") }

        func path(of file: String) -> String { "\(self.machines.directory)/first/account/\(file)" }

        /// The number of messages in the log with this text.
        func count(of message: String) -> Int {
            self.log.entries.count { "\($0.message)" == message }
        }

        /// Runs `body` while the program checks its account once a second.
        func whileObserving(_ body: () async throws -> Void) async throws {
            let account = self.local.account
            let observing = Task(executorPreference: self.stage.taskExecutor) { await account.observeAccount {} }
            let outcome: Result<Void, any Error>
            do {
                try await self.stage.settle()
                outcome = .success(try await body())
            } catch {
                outcome = .failure(error)
            }
            observing.cancel()
            await observing.value
            try outcome.get()
        }
    }

    private static func with(_ body: (Program) async throws -> Void) async throws {
        try await TwoMachines.with { machines in
            try await DiscoveryStage.with { stage in
                let log = InMemoryLogHandler()
                var configuration = stage.configuration(applicationID: "test.account")
                configuration.environment.identity = nil
                configuration.stateDirectory = machines.configuration("first").stateDirectory
                configuration.logger = Logger(label: "test") { _ in log }
                let local = ApplicationContext(configuration)
                _ = try local.security()
                try await body(Program(machines: machines, stage: stage, local: local, log: log))
            }
        }
    }

    @Test func `an account that cannot be read is logged once, and then once an hour`() async throws {
        try await Self.with { program in
            let message = "The account could not be reloaded"
            let links = URL(filePath: program.path(of: "links.pem"))
            func reload(expecting count: Int) {
                for _ in 0..<3 { program.local.account.reloadIdentity() }
                #expect(program.count(of: message) == count)
            }
            reload(expecting: 0)
            try Data("damaged".utf8).write(to: links, options: .atomic)
            reload(expecting: 1)
            try Data("still damaged".utf8).write(to: links, options: .atomic)
            reload(expecting: 2)
            try await program.stage.advance(by: .seconds(3599))
            reload(expecting: 2)
            try await program.stage.advance(by: .seconds(1))
            reload(expecting: 3)
            try FileManager.default.removeItem(at: links)
            reload(expecting: 3)
            try Data("damaged".utf8).write(to: links, options: .atomic)
            reload(expecting: 4)
        }
    }

    @Test func `a repair that failed is tried again, and logged once`() async throws {
        try await Self.with { program in
            let account = program.local.account
            let systems = [UInt8(7), 8].compactMap { SystemID(bytes: [UInt8](repeating: $0, count: 32)) }
            let key = URL(filePath: program.path(of: "discovery-key.pem"))
            _ = try program.store.revoke(systems[0], now: Date())
            let older = try Data(contentsOf: key)
            _ = try program.store.revoke(systems[1], now: Date())
            let newest = try Data(contentsOf: key)
            account.reloadIdentity()
            let used = try program.local.security().identity.discoveryKey
            // As a backup that was restored, on a disk that cannot be written.
            try older.write(to: key, options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
            try program.machines.makeUnwritable("first")
            for _ in 0..<3 { account.reloadIdentity() }
            let message = "The stored account is older than the one in use, and could not be repaired"
            #expect(program.count(of: message) == 1)
            let present = try program.local.security().identity.discoveryKey
            #expect(present == used && older != newest)
            try FileManager.default.removeItem(atPath: "\(program.machines.directory)/first/lock")
            try await program.whileObserving {
                try await program.stage.advance(by: .seconds(1))
                // The files are read and written on a thread of their own, in real time.
                try await until { (try? Data(contentsOf: key)) == newest }
            }
            #expect(program.count(of: message) == 1)
        }
    }

    @Test func `the machine with the root key renews its certificate soon after its clock was set past the end`()
        async throws
    {
        try await Self.with { program in
            let end = try program.local.security().identity.certificateValidity.upperBound
            try await program.whileObserving {
                program.stage.clock.date = end.addingTimeInterval(86_400)
                try await program.stage.advance(by: .seconds(1))
                // The files are read and written on a thread of their own, in real time.
                try await until {
                    guard let identity = try? program.local.security().identity else { return false }
                    return identity.certificateValidity.upperBound > end.addingTimeInterval(86_400)
                }
            }
        }
    }
}
