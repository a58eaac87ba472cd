// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import Testing

/// Joining over a real loopback connection, through the public API.
@Suite(.timeLimit(.minutes(1))) struct JoiningTests {
    @Test func `a joining machine belongs to the account, and its former account is set aside (R-03, R-27, X-37)`()
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

    @Test func `two machines of one account see and call each other in both directions (R-05, R-40)`() async throws {
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

    @Test func `an invitation admits one system and no second one (X-37)`() async throws {
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

    @Test func `an expired invitation is not even tried`() async throws {
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

    @Test func `wrong secrets do not end an invitation, and the joiner gets the reason`() async throws {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, _ in
                let wrong = try invitation.replacing("secret", with: String(repeating: "a", count: 26))
                for _ in 1...6 {
                    #expect(await identityCode { _ = try await machines.account("third").join(wrong) } == .wrongSecret)
                }
                #expect(try machines.account("first").systemsThatJoined().isEmpty)
                _ = try await machines.account("second").join(invitation)
            }
            #expect(try outcome.get() == machines.account("second").identity().systemID)
        }
    }

    @Test func `an invitation into another account gets no proof, and the right one still joins`() async throws {
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

    @Test func `a cancelled invitation cannot be used any more`() async throws {
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

    @Test func `a shared account is left only on explicit request, and a refused attempt keeps the invitation valid`()
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

    @Test func `a system that does not know that it has to join its account again keeps its id, or gets a new one`()
        async throws
    {
        try await TwoMachines.with { machines in
            try await machines.join()
            let before = try machines.account("second").identity().systemID
            try await machines.join()
            #expect(try machines.account("second").identity().systemID == before)
            // It has not heard of its revocation.
            try machines.account("first").revoke(before)
            try await machines.join()
            let after = try machines.account("second").identity()
            #expect(after.systemID != before)
            #expect(try after.accountID == machines.account("first").identity().accountID)
        }
    }

    @Test func `the system with the root key does not join the account that it belongs to`() async throws {
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

    @Test func `no invitation is shown if the system that joins could not be recorded`() async throws {
        try await TwoMachines.with { machines in
            let account = machines.account("first")
            _ = try account.identity()
            try machines.makeUnwritable("first")
            let code = await identityCode { _ = try await account.invite { _ in throw CancellationError() } }
            #expect(code == .notAPlainFile)
        }
    }

    @Test func `an address without a listener is skipped`() async throws {
        try await TwoMachines.with { machines in
            let outcome = try await machines.whileInviting { invitation, _ in
                // Port 1 of loopback has no listener.
                let address = try #require(invitation.addresses.first)
                let uri = invitation.uri.replacing("address=\(address)", with: "address=127.0.0.1:1&address=\(address)")
                _ = try await machines.account("second").join(try Invitation(uri: uri))
            }
            #expect(throws: Never.self) { try outcome.get() }
        }
    }

    @Test func `an error while the caller shows an invitation ends it`() async throws {
        struct NoScreen: Error {}
        try await TwoMachines.with { machines in
            await #expect(throws: NoScreen.self) {
                try await machines.account("first").invite { _ in throw NoScreen() }
            }
        }
    }
}
