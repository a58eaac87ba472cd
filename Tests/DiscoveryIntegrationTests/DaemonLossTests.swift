// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import IntegrationSupport
import Testing

/// Issue 2 §5: the daemon and its bus may be absent at the start, be killed and come back. Any local user could end the
/// daemon: CVE-2007-3372, CVE-2021-3468, CVE-2021-3502, CVE-2021-36217, CVE-2023-1981, CVE-2023-38471, CVE-2023-38472.
@Suite(
    .serialized,
    .enabled(if: SimulatedNetwork.isToBeTried, "\(SimulatedNetwork.obstacle ?? "")"),
    .timeLimit(.minutes(2))
)
struct DaemonLossTests {
    @Test(arguments: [SIGTERM, SIGKILL])
    func `hints and advertisements survive a restart of Avahi (CVE-2021-3468, CVE-2021-3502, CVE-2023-1981)`(
        _ signal: Int32
    ) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await network.startDaemons(on: a, b)
            let onA = try await a.browse()
            let onB = try await b.browse()
            _ = try await a.advertise("from-a")
            _ = try await b.advertise("from-b")
            try await onB.appeared("from-a", at: a.address)
            try await onA.appeared("from-b", at: b.address)
            let reportedA = onA.events.count
            let reportedB = onB.events.count

            try await b.stopDaemon(signal)
            try await onB.event("trouble") { $0.code == "daemonUnavailable" }
            try await b.startDaemon()
            try await onB.event("recovered") { $0.code == "daemonUnavailable" }
            // Longer than the grace period in which known instances may reappear. Avahi runs in real time.
            try await Task.sleep(for: .seconds(4))
            #expect(!onB.printed("vanished", from: reportedB))
            // Whether the other hosts saw a removal depends on whether there was a goodbye. The instance is back in
            // both cases.
            let afterwards = try await a.browse()
            try await afterwards.appeared("from-b", at: b.address)
            if signal == SIGKILL { #expect(!onA.printed("vanished", from: reportedA)) }
        }
    }

    @Test func `an instance that vanished while the daemon was away is reported after the grace period`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await b.startDaemon()
            let onB = try await b.browse()
            let advertised = try await a.advertise("short-lived")
            try await onB.appeared("short-lived", at: a.address)
            try await b.stopDaemon(SIGKILL)
            try await onB.event("trouble")
            await advertised.stop()
            try await b.startDaemon()
            _ = try await onB.vanished("short-lived")
        }
    }

    @Test func `a daemon that is absent at the start is awaited`() async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            let onB = try await b.browse("mode=daemon")
            _ = try await b.advertise("from-b", port: 4000, "mode=daemon")
            try await onB.event("trouble") { $0.code == "daemonUnavailable" }
            try await onB.event("settled")
            _ = try await a.advertise("from-a")
            try await b.startDaemon()
            try await onB.event("recovered")
            try await onB.appeared("from-a", at: a.address)
            try await a.browse().appeared("from-b", at: b.address)
        }
    }

    @Test func `an advertisement is in effect only while the daemon has it, and reports so (X-38)`() async throws {
        try await SimulatedNetwork.with { network in
            let a = try await network.addHost("a")
            let advertised = try await a.advertise("from-a", port: 4000, "mode=daemon")
            #expect(!advertised.printed("in-effect"))
            try await a.startDaemon()
            try await advertised.event("in-effect")
            for signal in [SIGTERM, SIGKILL] {
                let reported = advertised.events.count
                try await a.stopDaemon(signal)
                try await advertised.event("not-in-effect", from: reported)
                let lost = advertised.events.count
                try await a.startDaemon()
                try await advertised.event("in-effect", from: lost)
            }
        }
    }

    @Test func `with a daemon that refuses to publish the advertisement is not in effect (X-38)`() async throws {
        try await SimulatedNetwork.with { network in
            let a = try await network.addHost("a")
            try await a.startDaemon(options: ["[publish]", "disable-user-service-publishing=yes"])
            let advertised = try await a.advertise("from-a")
            // Three times as long as Avahi needs to publish an advertisement, in real time.
            try await Task.sleep(for: .seconds(3))
            #expect(!advertised.printed("in-effect"))
        }
    }

    @Test func `a bus that is killed and returns with its daemon is used again (CVE-2007-3372, CVE-2021-36217)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await b.startDaemon()
            let onB = try await b.browse()
            _ = try await b.advertise("from-b")
            _ = try await a.advertise("from-a")
            try await onB.appeared("from-a", at: a.address)
            let reported = onB.events.count
            try await b.killBus()
            try await onB.event("trouble", from: reported) { $0.code == "daemonUnavailable" }
            try await b.startDaemon()
            try await onB.event("recovered", from: reported)
            try await a.browse().appeared("from-b", at: b.address)
            #expect(!onB.printed("vanished", from: reported))
        }
    }

    @Test func `calls with which a local user ended Avahi hide no instance (CVE-2023-38471, CVE-2023-38472)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let a = try await network.addHost("a")
            let b = try await network.addHost("b")
            try await network.startDaemons(on: a, b)
            let onB = try await b.browse()
            _ = try await a.advertise("before")
            try await onB.appeared("before", at: a.address)
            let reported = onB.events.count
            let caller = try b.start(Python.script("avahi_calls.py", "\(b.directory)/bus"))
            #expect(try await caller.exit(within: .seconds(60)) == 0)
            let lines = caller.lines
            #expect(lines.contains("refused SetHostName") || lines.contains("accepted SetHostName"))
            // A daemon with these weaknesses has ended. Its service manager starts it again.
            if !lines.contains("alive") {
                try await b.stopDaemon(SIGKILL)
                try await b.startDaemon()
            }
            _ = try await a.advertise("after")
            try await onB.appeared("after", at: a.address)
            #expect(!onB.printed("vanished", from: reported))
            #expect(onB.exitCode == nil)
        }
    }

    @Test func `without bus and daemon nothing is printed and the embedded stack is used`() async throws {
        try await SimulatedNetwork.with { network in
            let a = try await network.addHost("a")
            let output = try await a.output(of: [try builtProgram("discovery-probe"), "select"])
            #expect(output.split(separator: "\n").count == 1)
            #expect(output.contains("avahi-embedded"))
        }
    }
}
