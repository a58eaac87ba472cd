// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTesting
import Testing

@testable import RemoteSystems

@Suite struct RegistrationTests {
    @Test func `a host is registered while it runs (X-34, X-38)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let host = RemoteSystemHost(loopbackSystem.configuration("test.host"), services: [])
            #expect(host.registration == .unregistered)
            let running = Task { try await host.run() }
            _ = try await host.port
            #expect(host.registration == .registered)
            running.cancel()
            try await running.value
            #expect(host.registration == .unregistered)
        }
    }

    @Test func `the state follows the life of the certificate (X-37, X-38)`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            let identity = try RemoteSystemsAccount(loopbackSystem.configuration("test.host")).identity()
            let end = identity.certificateValidity.upperBound
            func state(at date: Date) -> RemoteSystemRegistrationState {
                RemoteSystemRegistrationState(of: identity, at: date)
            }
            #expect(state(at: identity.renewalDate - 1) == .registered)
            #expect(state(at: identity.renewalDate) == .expiring)
            #expect(state(at: end - 1) == .expiring)
            #expect(state(at: end) == .expired)
        }
    }

    @Test func `the numbers are Project Rome's (X-29, X-38)`() {
        let states: [RemoteSystemRegistrationState] = [.unregistered, .registered, .expiring, .expired]
        #expect(states.map(\.rawValue) == [0, 1, 2, 3])
        #expect([RemoteSystemLocalVisibilityKind.showAll, .hideLocalApp].map(\.rawValue) == [0, 1])
    }

    @Test func `systems of one account can be reported by it (X-29)`() async throws {
        try await DiscoveryStage.with { stage in
            let speaker = try stage.system("Speaker")
            try await stage.appears(speaker)
            let all = stage.watcher()
            try await all.start()
            try await stage.settle()
            let account = try #require(all.systems.first?.accountID)
            let ours = stage.watcher(filters: [.account(account)])
            try await ours.start()
            try await stage.settle()
            #expect(ours.systems.map(\.displayName) == ["Speaker"])
            let other = try #require(AccountID(bytes: [UInt8](repeating: 7, count: 32)))
            let others = stage.watcher(filters: [.account(other)])
            try await others.start()
            try await stage.settle()
            #expect(others.systems.isEmpty)
            for watcher in [all, ours, others] { await watcher.stop() }
        }
    }
}
