// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

/// Joining over a real loopback connection, from the public API down.
@Suite(.timeLimit(.minutes(1))) struct JoiningTests {
    @Test func `a machine that joins belongs to the account, with its former account kept aside (R-03, R-27, X-37)`()
        async throws
    {
        try await TwoMachines.with { machines in
            let before = try machines.account("second").identity()
            var change: AccountChange?
            let outcome = try await machines.whileInviting { invitation, _ in
                change = try await machines.account("second").join(invitation)
            }
            let first = machines.account("first")
            let joined = try #require(change)
            #expect(joined.identity.accountID == (try first.identity().accountID))
            #expect(joined.identity.accountID != before.accountID)
            #expect(!joined.identity.isAuthority)
            #expect(try outcome.get() == joined.identity.systemID)
            #expect(try first.systemsThatJoined() == [joined.identity.systemID])
            #expect(try machines.account("second").identity().systemID == joined.identity.systemID)
            let aside = try #require(joined.setAside)
            #expect(FileManager.default.fileExists(atPath: aside + "/account.json"))
        }
    }

    @Test func `two machines of one account see and talk to each other, both ways (R-05, R-40)`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            for (hosting, watching) in [("first", "second"), ("second", "first")] {
                let host = RemoteSystemHost(
                    machines.configuration(hosting, application: "test.host"),
                    services: [.ping]
                )
                let running = Task { try await host.run() }
                let watcher = RemoteSystemWatcher(machines.configuration(watching, application: "test.watcher"))
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                let system = try await recorder.added()
                #expect(system.id == (try machines.account(hosting).identity().systemID))
                #expect(!system.isLocal)
                let response = try await AppServiceConnection.with(
                    AppServiceDescription(name: AppService.pingName, requestSchema: .full, responseSchema: .full),
                    RemoteSystemConnectionRequest(system: system)
                ) { connection in
                    try await connection.send(["Type": "ping", "CreationDate": "now"]).get()
                }
                #expect(response == ["Type": "pong", "CreationDate": "now"])
                await watcher.stop()
                running.cancel()
                try await running.value
            }
        }
    }

    @Test func `machines of different accounts do not see each other (R-05)`() async throws {
        try await TwoMachines.with { machines in
            let host = RemoteSystemHost(
                machines.configuration("first", application: "test.host"),
                services: [.ping]
            )
            let running = Task { try await host.run() }
            _ = try await host.port
            let watcher = RemoteSystemWatcher(machines.configuration("second", application: "test.watcher"))
            let events = watcher.events
            try await watcher.start()
            for await event in events {
                if case .enumerationCompleted = event { break }
                if case .added = event { Issue.record("a system of another account was listed") }
            }
            await watcher.stop()
            running.cancel()
            try await running.value
        }
    }

    @Test func `an invitation lets one system in and no second one (X-37)`() async throws {
        try await TwoMachines.with { machines in
            _ = try await machines.whileInviting { invitation, inviting in
                _ = try await machines.account("second").join(invitation)
                _ = await inviting.result
                await #expect(throws: RemoteSystemError.self) {
                    try await machines.account("third").join(invitation)
                }
            }
            #expect(try machines.account("first").systemsThatJoined().count == 1)
            #expect(
                try machines.account("third").identity().accountID != machines.account("first").identity().accountID
            )
        }
    }

    @Test func `an invitation whose time is over is not even tried`() async throws {
        try await TwoMachines.with { machines in
            _ = try await machines.whileInviting { invitation, inviting in
                let late = try invitation.replacing("expires", with: "1000000000")
                #expect(
                    await identityCode { _ = try await machines.account("second").join(late) } == .invitationExpired
                )
                inviting.cancel()
            }
        }
    }

    @Test func `three wrong secrets end an invitation, and both sides are reported`() async throws {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, _ in
                let wrong = try invitation.replacing("secret", with: String(repeating: "a", count: 26))
                for _ in 1...3 {
                    #expect(await identityCode { _ = try await machines.account("second").join(wrong) } == .wrongSecret)
                }
            }
            #expect(outcome.identityCode == .invitationUsed)
            #expect(try machines.account("first").systemsThatJoined().isEmpty)
        }
    }

    @Test func `somebody else at the invitation's address is reported nothing, and the right one still gets in`()
        async throws
    {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, _ in
                let stranger = try machines.account("stranger").identity().accountID
                let misled = try invitation.replacing("account", with: "\(stranger)")
                #expect(await identityCode { _ = try await machines.account("second").join(misled) } == .wrongAccount)
                _ = try await machines.account("second").join(invitation)
            }
            #expect(try outcome.get() == machines.account("second").identity().systemID)
        }
    }

    @Test func `an invitation that is cancelled can be used no more`() async throws {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, inviting in
                inviting.cancel()
                _ = await inviting.result
                await #expect(throws: RemoteSystemError.self) {
                    try await machines.account("second").join(invitation)
                }
            }
            #expect(throws: CancellationError.self) { try outcome.get() }
        }
    }

    @Test func `a shared account is left only when that is said, and no invitation is spent on the attempt`()
        async throws
    {
        try await TwoMachines.with { machines in
            try await machines.join()
            let outcome = try await machines.whileInviting("third") { invitation, _ in
                let second = machines.account("second")
                #expect(await identityCode { _ = try await second.join(invitation) } == .accountInUse)
                _ = try await second.join(invitation, evenIfShared: true)
            }
            #expect(try outcome.get() == machines.account("second").identity().systemID)
        }
    }

    @Test func `a system does not join the account that it belongs to`() async throws {
        try await TwoMachines.with { machines in
            _ = try await machines.whileInviting { invitation, inviting in
                let first = machines.account("first")
                let code = await identityCode { _ = try await first.join(invitation, evenIfShared: true) }
                #expect(code == .accountInUse)
                let identity = try first.identity()
                #expect(identity.isAuthority)
                inviting.cancel()
            }
        }
    }

    @Test func `only the machine with the account's key invites`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            let code = await identityCode { _ = try await machines.account("second").invite { _ in } }
            #expect(code == .notAuthority)
        }
    }

    @Test func `the address after one where nobody is, is tried`() async throws {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, _ in
                // Port 1 of loopback: nobody listens there.
                let address = try #require(invitation.addresses.first)
                let uri = invitation.uri.replacing("address=\(address)", with: "address=127.0.0.1:1&address=\(address)")
                _ = try await machines.account("second").join(try Invitation(uri: uri))
            }
            #expect(throws: Never.self) { try outcome.get() }
        }
    }

    @Test func `what the caller throws while it shows an invitation ends it`() async throws {
        struct NoScreen: Error {}
        try await TwoMachines.with { machines in
            await #expect(throws: NoScreen.self) {
                try await machines.account("first").invite { _ in throw NoScreen() }
            }
        }
    }
}
