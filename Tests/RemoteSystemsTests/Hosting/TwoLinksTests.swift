// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsIdentity
import Testing

/// An account with links to two others, of which one withdraws its link: over loopback with TLS.
@Suite(.timeLimit(.minutes(2))) struct TwoLinksTests {
    private static let service = AppService("test.granted") { request in
        ["kind": .integer(Int64(request.caller.authorizationKind.rawValue))]
    }
    private static let grants = Grants(services: ["test.granted"])

    @Test func `a watcher that lists another linked account learns that one has withdrawn its link before`()
        async throws
    {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.withThird(granting: Self.grants) { third, thirdID in
                try await third.withHost([Self.service]) { _ in
                    try await accounts.withListed { system, recorder in
                        #expect(system.accountID == thirdID)
                        let ourID = try accounts.ourID
                        try accounts.ourAccount.unlink(accounts.friendsID)
                        try await accounts.ours.withHost([Self.service]) { _ in
                            // Our announcements have no tag of the link any more.
                            try await until {
                                (try? accounts.friendsStore.links()[ourID]?.state) == .withdrawnByOther
                            }
                        }
                        #expect(try accounts.friendsStore.links()[thirdID]?.state == .active)
                        // The other link works as before.
                        let (connection, status) = try await accounts.open("test.granted", on: system)
                        #expect(status == .success)
                        #expect(try await connection.send([:]).message["kind"] == 2)
                        await connection.close()
                        let removed = recorder.events.filter { if case .removed = $0 { true } else { false } }
                        #expect(removed.isEmpty)
                    }
                }
            }
        }
    }

    @Test func `of two links one is withdrawn, and connections over the other one stay open`() async throws {
        try await LinkedAccounts.with(granting: Self.grants) { accounts in
            try await accounts.withThird(granting: Self.grants) { third, thirdID in
                try await accounts.ours.withHost([Self.service]) { _ in
                    try await third.withHost([Self.service]) { _ in
                        let watcher = accounts.friendsWatcher()
                        let recorder = EventRecorder(watcher)
                        try await watcher.start()
                        try await until { watcher.systems.count == 2 }
                        let ourID = try accounts.ourID
                        let ours = try #require(watcher.systems.first { $0.accountID == ourID })
                        let other = try #require(watcher.systems.first { $0.accountID == thirdID })
                        let (ending, first) = try await accounts.open("test.granted", on: ours)
                        let (staying, second) = try await accounts.open("test.granted", on: other)
                        #expect(first == .success && second == .success)
                        try accounts.ourAccount.unlink(accounts.friendsID)
                        _ = try await ending.waitUntilClosed()
                        #expect(try await recorder.removed().accountID == ourID)
                        try await until {
                            (try? accounts.friendsStore.links()[ourID]?.state) == .withdrawnByOther
                        }
                        #expect(try accounts.friendsStore.links()[thirdID]?.state == .active)
                        // Over the same connection.
                        #expect(try await staying.send([:]).message["kind"] == 2)
                        #expect(watcher.systems.map(\.accountID) == [thirdID])
                        await staying.close()
                        await watcher.stop()
                    }
                }
            }
        }
    }
}
