// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems

/// Two or more machines, each with a state directory of its own, on one segment and one loopback interface.
struct TwoMachines {
    let directory: String
    let segment = ScriptedDiscovery()

    static func with(_ body: (TwoMachines) async throws -> Void) async throws {
        let machines = TwoMachines(
            directory: FileManager.default.temporaryDirectory.appending(path: "machines-\(UUID())").path
        )
        defer { try? FileManager.default.removeItem(atPath: machines.directory) }
        try await body(machines)
    }

    /// As on a read-only disk: the lock of the machine's account cannot be opened any more.
    func makeUnwritable(_ machine: String) throws {
        let lock = "\(self.directory)/\(machine)/lock"
        try FileManager.default.removeItem(atPath: lock)
        try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
    }

    func configuration(_ machine: String, application: String = "test.account") -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            network: .loopback,
            discovery: [self.segment],
            stateDirectory: "\(self.directory)/\(machine)"
        )
        // Handshakes and starts take long in debug builds on busy machines.
        configuration.transport.helloTimeout = .seconds(60)
        configuration.transport.connectTimeout = .seconds(60)
        configuration.transport.startTimeout = .seconds(60)
        return configuration
    }

    func account(_ machine: String) -> RemoteSystemsAccount {
        RemoteSystemsAccount(self.configuration(machine))
    }

    /// Runs an invitation on one machine and `body` with it, and returns how the invitation ended. `body` must make it
    /// end.
    func whileInviting(
        _ machine: String = "first",
        _ body: (Invitation, Task<SystemID, any Error>) async throws -> Void
    ) async throws -> Result<SystemID, any Error> {
        let (invitations, shown) = AsyncStream<Invitation>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let account = self.account(machine)
        let inviting = Task {
            defer { shown.finish() }
            return try await account.invite { shown.yield($0) }
        }
        do {
            for await invitation in invitations {
                try await body(invitation, inviting)
                break
            }
        } catch {
            inviting.cancel()
            _ = await inviting.result
            throw error
        }
        return await inviting.result
    }

    /// Makes a machine join the account of the first.
    func join(_ machine: String = "second") async throws {
        let outcome = try await self.whileInviting { invitation, _ in
            _ = try await self.account(machine).join(invitation)
        }
        _ = try outcome.get()
    }
}

extension Invitation {
    /// The same invitation with one item of its text replaced.
    func replacing(_ name: String, with value: String) throws -> Invitation {
        let items = self.uri.split(separator: "&").map { $0.hasPrefix("\(name)=") ? "\(name)=\(value)" : String($0) }
        return try Invitation(uri: items.joined(separator: "&"))
    }
}

extension Result where Success == SystemID, Failure == any Error {
    /// The code of the identity layer's error with which the invitation ended.
    var identityCode: IdentityError.Code? { Self.identityCode { _ = try self.get() } }

    static func identityCode(_ body: () throws -> Void) -> IdentityError.Code? {
        do {
            try body()
            return nil
        } catch {
            return ((error as? RemoteSystemError)?.cause as? IdentityError)?.code
        }
    }
}

/// The code of the identity layer's error that `body` throws; nil if it throws none.
func identityCode(_ body: () async throws -> Void) async -> IdentityError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return ((error as? RemoteSystemError)?.cause as? IdentityError)?.code
    }
}
