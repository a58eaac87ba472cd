// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsDiscovery
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// An empty list has a reason, derived from observations.
@Suite struct EmptyListTests {
    static let wired = InterfaceFacts(name: "eth0", isLoopback: false, canMulticast: true, addresses: ["192.0.2.1"])
    static let loopback = InterfaceFacts(name: "lo", isLoopback: true, canMulticast: true, addresses: ["127.0.0.1"])

    static func reason(
        _ network: RemoteSystemsConfiguration.Network = .all,
        interfaces: [InterfaceFacts] = [wired],
        _ change: (inout RemoteSystemWatcher.Unlisted) -> Void = { _ in }
    ) -> DiagnosisFinding {
        var unlisted = RemoteSystemWatcher.Unlisted()
        change(&unlisted)
        return EmptyListReason(unlisted: unlisted, interfaces: interfaces, network: network).finding
    }

    @Test func `that there is no other system is the last of the reasons`() {
        #expect(Self.reason().code == .systems)
        #expect(Self.reason().what.contains("No other system"))
        let loopback = Self.reason(.loopback, interfaces: [Self.loopback])
        #expect(loopback.what.contains("loopback"))
        // The reason for an empty list does not advise to make the same list.
        #expect("\(loopback.why) \(loopback.advice ?? "")".contains("remotesystems list") == false)
        #expect(loopback.advice?.contains("remotesystems serve --loopback") == true)
    }

    @Test func `a missing interface, or the loopback interface alone, is named`() {
        #expect(Self.reason(interfaces: []).code == .interfaces)
        #expect(Self.reason(.interfaces(["eth1"])).what.contains("eth1"))
        #expect(Self.reason(interfaces: [Self.loopback]).code == .interfaces)
        // Other visible systems prove that a network exists.
        #expect(Self.reason(interfaces: [Self.loopback]) { $0.otherAccounts = 1 }.code == .otherAccounts)
    }

    @Test func `observations take precedence over possibilities`() {
        #expect(Self.reason { $0.otherAccounts = 3 }.what.contains("3 programs of other accounts announce themselves"))
        #expect(Self.reason { $0.otherVersions = 1 }.code == .otherVersions)
        let silent = Self.reason {
            $0.otherAccounts = 3
            $0.unreachable = ["10.0.0.5:47474"]
        }
        #expect(silent.code == .systems && silent.what.contains("10.0.0.5:47474"))
        let hampered = Self.reason {
            $0.unreachable = ["10.0.0.5:47474"]
            $0.errors = [RemoteSystemWatcherError(.discoveryHampered, "No stack.", recoversByItself: true)]
        }
        #expect(hampered.code == .discovery && hampered.what.contains("No stack."))
        let impostor = Self.reason {
            $0.errors = [RemoteSystemWatcherError(.authenticationError, "Not it.", recoversByItself: false)]
        }
        #expect(impostor.code == .systems && impostor.status == .problem)
        // The same holds for a diagnosis with an empty or a partial list: no firewall is blamed.
        var unlisted = RemoteSystemWatcher.Unlisted()
        unlisted.unreachable = ["10.0.0.5:47474"]
        unlisted.errors = [RemoteSystemWatcherError(.authenticationError, "Not it.", recoversByItself: false)]
        for hasOthers in [false, true] {
            let finding = DiscoveryFindings(hasOthers: hasOthers, unlisted: unlisted, network: .all).systems
            #expect(finding.status == .problem && finding.what.contains("Not it."))
            #expect(finding.advice?.contains("firewall") == false)
        }
    }

    @Test(arguments: [FailureCode.certificateExpired, .certificateNotYetValid])
    func `an error that states its remedy gets no other advice`(code: FailureCode) {
        let finding = Self.untrusted("Check the clock.", code)
        #expect(finding.status == .problem && finding.what.hasSuffix("Check the clock."))
        #expect(finding.advice == nil)
    }

    @Test func `an invalid certificate gets advice that contradicts no remedy in its message`() {
        let advice = Self.untrusted("Join the account again.", .certificateInvalid).advice
        #expect(advice?.contains("If the message names no remedy") == true && advice?.contains("invite") == false)
    }

    @Test(arguments: [FailureCode.revoked, .otherAccount, nil])
    func `a system that is not trusted for another reason may leave and be invited again`(code: FailureCode?) throws {
        let advice = try #require(Self.untrusted("Not it.", code).advice)
        #expect(advice.contains("account leave") && advice.contains("account invite"))
    }

    @Test(arguments: [FailureCode.linkWithdrawn, .grantsChanged])
    func `the end of a link leads to no advice to invite a system of another account`(code: FailureCode) {
        let finding = Self.untrusted("The link was withdrawn.", code)
        #expect(finding.what.contains("a linked account") && finding.what.contains("The link was withdrawn."))
        #expect(finding.advice?.contains("pair --link") == true)
        #expect("\(finding.why) \(finding.advice ?? "")".contains("invite") == false)
    }

    private static func untrusted(_ message: String, _ code: FailureCode?) -> DiagnosisFinding {
        Self.reason {
            var error = RemoteSystemWatcherError(.authenticationError, message, recoversByItself: false)
            error.failureCode = code?.rawValue
            $0.errors = [error]
        }
    }

    @Test func `a refusal is reported verbatim, and no firewall is blamed`() throws {
        let full = "Your system has 23 connections here, as many as one system may have."
        var unlisted = RemoteSystemWatcher.Unlisted()
        unlisted.unreachable = ["10.0.0.6:47474"]
        unlisted.refusals = ["10.0.0.5:47474": full]
        for finding in [
            EmptyListReason(unlisted: unlisted, interfaces: [Self.wired], network: .all).finding,
            DiscoveryFindings(hasOthers: true, unlisted: unlisted, network: .all).systems,
        ] {
            #expect(finding.code == .systems && finding.status == .warning)
            #expect(finding.what == "The program of this account at 10.0.0.5:47474 answers and refuses: \(full)")
            #expect(finding.advice?.contains("firewall") == false)
        }
        unlisted.refusals["10.0.0.7:47474"] = "The application is shutting down."
        let finding = EmptyListReason(unlisted: unlisted, interfaces: [Self.wired], network: .all).finding
        #expect(finding.what.hasSuffix("\(full) (1 other program refuses, too.)"))
    }

    @Test func `a watcher refused for too many connections reports the host's message`() async throws {
        try await TwoMachines.with { machines in
            try await machines.join()
            var configuration = machines.configuration("first", application: "test.host")
            configuration.limits.connectionsPerSystem = 1
            let host = RemoteSystemHost(configuration, services: [])
            let running = Task { try await host.run() }
            defer { running.cancel() }
            let second = machines.configuration("second")
            try await DiagnosisServiceTests.ask(try await host.port, second) { _ in
                // A host counts a connection just after it has accepted it.
                try await until { host.openConnections == 1 }
                let watcher = RemoteSystemWatcher(second)
                try await watcher.start()
                try await until { await !watcher.unlisted.refusals.isEmpty }
                let unlisted = await watcher.unlisted
                #expect(unlisted.refusals.values.first?.contains("the maximum for one system") == true)
                #expect(unlisted.unreachable.isEmpty)
                let reason = await RemoteSystemsDiagnosis.likelyReason(whyUnlisted: watcher)
                #expect(reason?.what.contains("answers and refuses") == true)
                await watcher.stop()
            }
            running.cancel()
            _ = await running.result
        }
    }

    @Test func `filters that exclude everything are named, with the excluded systems`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { _ in
                let watcher = loopbackSystem.watcher(filters: [.kind(.holographic)])
                try await watcher.start()
                var unlisted = await watcher.unlisted
                // Polls, since an excluded system causes no event.
                for _ in 0..<2000 where unlisted.excluded.isEmpty {
                    try await Task.sleep(for: .milliseconds(5))
                    unlisted = await watcher.unlisted
                }
                #expect(watcher.systems.isEmpty)
                #expect(unlisted.excluded.count == 1)
                let reason = try #require(await RemoteSystemsDiagnosis.likelyReason(whyEmpty: watcher))
                #expect(reason.code == .filters)
                let system = try #require(unlisted.excluded.first)
                let list = ": \(system.id.short) “\(system.displayName)” (\(system.kind))."
                #expect(reason.what.contains("the only system that is there") && reason.what.hasSuffix(list))
                await watcher.stop()
                #expect(await watcher.unlisted == RemoteSystemWatcher.Unlisted())
            }
        }
    }

    @Test func `a machine of a linked account is not to be invited`() {
        for hasLinks in [false, true] {
            var unlisted = RemoteSystemWatcher.Unlisted()
            unlisted.otherAccounts = 8
            let reason = EmptyListReason(
                unlisted: unlisted,
                interfaces: [Self.wired],
                network: .all,
                hasLinks: hasLinks
            )
            let advice = reason.finding.advice
            #expect(advice?.contains("Do not invite a machine of an account that is linked") == hasLinks)
            #expect(advice?.contains("list --filter authorization=linked") == hasLinks)
        }
    }

    @Test func `a list of linked accounts' systems that is empty has a reason about links`() {
        for hasLinks in [false, true] {
            // What is seen of this account and of others is no reason.
            for network in [RemoteSystemsConfiguration.Network.all, .loopback] {
                var unlisted = RemoteSystemWatcher.Unlisted()
                unlisted.otherAccounts = 8
                unlisted.unreachable = ["10.0.0.5:47474"]
                let reason = EmptyListReason(
                    unlisted: unlisted,
                    interfaces: [Self.wired, Self.loopback],
                    network: network,
                    hasLinks: hasLinks,
                    listsOnlyLinked: true
                )
                let finding = reason.finding
                #expect(finding.what.contains("linked") && !finding.what.contains("serve"))
                #expect(finding.advice?.contains(hasLinks ? "doctor ADDRESS" : "pair --link") == true)
            }
        }
        var unlisted = RemoteSystemWatcher.Unlisted()
        unlisted.errors = [RemoteSystemWatcherError(.authenticationError, "Not it.", recoversByItself: false)]
        let reason = EmptyListReason(
            unlisted: unlisted,
            interfaces: [Self.wired],
            network: .all,
            hasLinks: true,
            listsOnlyLinked: true
        )
        #expect(reason.finding.what.contains("Not it."))
    }

    @Test func `a list with this system alone has the reasons of an empty one`() {
        var unlisted = RemoteSystemWatcher.Unlisted()
        unlisted.otherAccounts = 1
        let others = EmptyListReason(unlisted: unlisted, interfaces: [Self.wired], network: .all, listed: 1)
        #expect(others.finding.code == .otherAccounts)
        let none = EmptyListReason(unlisted: .init(), interfaces: [Self.wired], network: .all, listed: 1)
        #expect(none.finding.what == "No other system of this account announces itself here.")
    }

    @Test func `on the loopback interface no other system than this one is missed`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { _ in
                let watcher = loopbackSystem.watcher()
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                _ = try await recorder.added()
                #expect(watcher.systems.allSatisfy(\.isLocal) && watcher.network == .loopback)
                #expect(await RemoteSystemsDiagnosis.likelyReason(whyAlone: watcher) == nil)
                await watcher.stop()
            }
        }
    }

    @Test func `a list that is not empty has no reason to be`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            try await loopbackSystem.withHost([]) { _ in
                let watcher = loopbackSystem.watcher()
                let recorder = EventRecorder(watcher)
                try await watcher.start()
                _ = try await recorder.added()
                #expect(await RemoteSystemsDiagnosis.likelyReason(whyEmpty: watcher) == nil)
                await watcher.stop()
            }
        }
    }

    @Test func `other accounts, other versions and unreachable systems are counted`() async throws {
        try await LoopbackSystem.with { loopbackSystem in
            func appear(_ id: String, version: String?, port: Int = 9) {
                var properties: [String: [UInt8]] = ["t": [1, 2, 3, 4, 5, 6, 7, 8]]
                properties["v"] = version.map { Array($0.utf8) }
                loopbackSystem.segment.appear(
                    DiscoveryHint(
                        id: id,
                        instance: id,
                        endpoints: [DiscoveryEndpoint(address: "127.0.0.1", port: port)],
                        properties: properties
                    )
                )
            }
            appear("a", version: "1")
            appear("b", version: "1")
            appear("c", version: "2")
            appear("d", version: nil)
            let watcher = loopbackSystem.watcher()
            let recorder = EventRecorder(watcher)
            try await watcher.start()
            try await recorder.first { if case .enumerationCompleted = $0 { () } else { nil } }
            // On a suspended machine the enumeration may end by its timeout, before every system was checked.
            try await until {
                let unlisted = await watcher.unlisted
                return unlisted.otherAccounts == 2 && unlisted.otherVersions == 2
            }
            loopbackSystem.segment.vanish("a")
            try await until { await watcher.unlisted.otherAccounts == 1 }
            #expect(await watcher.unlisted.otherVersions == 2)
            await watcher.stop()
        }
    }

    @Test func `an excluded system is known until it goes, and listed when it matches`() throws {
        var machine = try SystemBrowserStateMachineTests.machine(filters: [.kind(.laptop)])
        let speaker = try #require(SystemBrowserStateMachineTests.speaker)
        let endpoint = SystemBrowserStateMachineTests.endpoint
        _ = machine.seen("a", endpoints: [endpoint], by: .proximal)
        #expect(machine.unreported.map(\.endpoint) == [endpoint])
        _ = machine.connected("a", to: speaker)
        _ = machine.described("a", SystemBrowserStateMachineTests.description(kind: .desktop))
        #expect(machine.unreported.isEmpty)
        #expect(Array(machine.excluded.keys) == [speaker])
        _ = machine.described("a", SystemBrowserStateMachineTests.description(kind: .laptop))
        #expect(machine.excluded.isEmpty)
        _ = machine.described("a", SystemBrowserStateMachineTests.description(kind: .desktop))
        _ = machine.lost("a", orderly: true, now: SystemBrowserStateMachineTests.start)
        #expect(machine.excluded.isEmpty)
        #expect(machine.unreported.map(\.endpoint) == [endpoint])
    }
}
