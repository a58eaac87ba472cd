// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The rules for processes of systems that were met before, without network or waiting.
@Suite struct SystemBrowserRememberedTests {
    typealias Rules = SystemBrowserStateMachineTests

    static let endpoint = Rules.endpoint
    /// Another address of the same process.
    static let sixth = Endpoint(host: "fe80::2%eth0", port: 4000)

    static func process(_ endpoints: Endpoint...) throws -> KnownProcess {
        KnownProcess(system: try #require(Rules.speaker), endpoints: endpoints)
    }

    static func machine() throws -> WatchingRules {
        WatchingRules(
            filters: [],
            ownSystem: try #require(Rules.own),
            sources: 1,
            awaitsRecall: true,
            enumerationEnds: Rules.start + .seconds(2)
        )
    }

    /// A machine with a connection to a remembered process that has described itself, and the instance's name.
    static func connected(running: [String] = []) throws -> (WatchingRules, String) {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint)
        _ = machine.recalled(process)
        _ = machine.connected(process.instance, to: process.system, at: Self.endpoint)
        var description = Rules.description()
        description.running = running
        let texts = machine.described(process.instance, description).texts
        #expect(texts.first?.hasPrefix("added Living room") == true || texts.last?.hasPrefix("added") == true)
        return (machine, process.instance)
    }

    @Test func `a remembered process is connected to at once, and listed when it has described itself`() throws {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint, Self.sixth)
        #expect(
            machine.recalled(process).texts == ["connect \(process.instance) to 10.0.0.2:4000,fe80::2%eth0:4000"]
        )
        #expect(machine.browser.expected(of: process.instance) == process.system)
        #expect(machine.connected(process.instance, to: process.system, at: Self.sixth).texts == [])
        #expect(
            machine.described(process.instance, Rules.description()).texts == [
                "added Living room [com.example.player]"
            ]
        )
        // Only the endpoint in use is listed.
        #expect(machine.systems[process.system]?.parts.flatMap(\.endpoints) == [Self.sixth])
        #expect(machine.browser.expected(of: process.instance) == process.system)
        #expect(machine.recalled(process).texts == [])
    }

    @Test func `a remembered process that does not respond is given up at the first attempt`() throws {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint)
        _ = machine.recalled(process)
        #expect(machine.unreported.isEmpty)
        let failed = machine.failed(process.instance, isAuthentic: true, now: Rules.start, jitter: 0.5)
        #expect(failed.texts == [])
        #expect(!machine.knows(process.instance))
        #expect(machine.browser.nextWakeUp == nil)
        // The next network is a reason for another attempt.
        #expect(machine.recalled(process).texts == ["connect \(process.instance) to 10.0.0.2:4000"])
    }

    @Test func `the enumeration waits for the remembered processes, for a limited time`() throws {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint)
        #expect(machine.settled().texts == [])
        #expect(machine.recalled(process).texts == ["connect \(process.instance) to 10.0.0.2:4000"])
        var other = machine
        #expect(machine.recallEnds().texts == ["enumeration completed"])
        #expect(machine.knows(process.instance))
        let failed = other.failed(process.instance, isAuthentic: true, now: Rules.start, jitter: 0.5)
        #expect(failed.texts == ["enumeration completed"])
        // It also ends when the files cannot be read in time.
        var stuck = try Self.machine()
        _ = stuck.settled()
        #expect(stuck.recallEnds().texts == ["enumeration completed"])
    }

    @Test func `64 remembered processes are tried at a time, the newest first`() throws {
        var machine = SystemBrowserStateMachine(sources: 1, awaitsRecall: true)
        let system = try #require(Rules.speaker)
        let processes = (1...200).map {
            KnownProcess(system: system, endpoints: [Endpoint(host: "10.0.0.2", port: $0)])
        }
        var connecting = machine.recalled(processes).count
        #expect(connecting == 64)
        for process in processes.prefix(136) {
            connecting += machine.failed(process.instance, isAuthentic: true, now: Rules.start, jitter: 0.5).count
        }
        #expect(connecting == 200)
    }

    @Test func `a discovered instance takes over the connection, and the watcher sees no change`() throws {
        var (machine, remembered) = try Self.connected(running: ["com.example.mixer"])
        let mixer = ">com.example.mixer@\(remembered)"
        #expect(machine.knows(mixer))
        _ = machine.connected(mixer, to: try #require(Rules.speaker))
        _ = machine.described(mixer, Rules.description(application: "com.example.mixer"))
        #expect(
            machine.seen("a", endpoints: [Self.sixth, Self.endpoint], by: .proximal).texts == [
                "rename \(remembered) to a", "rename \(mixer) to >com.example.mixer@a",
            ]
        )
        #expect(!machine.knows(remembered) && machine.isDescribed("a") && !machine.knows(mixer))
        #expect(machine.referral(of: ">com.example.mixer@a")?.host == "a")
        #expect(machine.browser.expected(of: "a") == nil)
        #expect(machine.seen("a", endpoints: [Self.sixth, Self.endpoint], by: .proximal).texts == [])
        // From now on it is like any other: it reconnects to the endpoints that discovery found.
        let lost = machine.lost("a", orderly: false, now: Rules.start).texts
        #expect(lost == ["connect a to fe80::2%eth0:4000,10.0.0.2:4000"])
    }

    @Test func `an attempt that a discovered instance took over is repeated at its own endpoints when it fails`() throws
    {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint)
        _ = machine.recalled(process)
        #expect(
            machine.seen("a", endpoints: [Self.endpoint, Self.sixth], by: .proximal).texts == [
                "rename \(process.instance) to a"
            ]
        )
        // Another system of the account may have the address now. It must not be punished for that.
        #expect(machine.browser.expected(of: "a") == process.system)
        let failed = machine.failed("a", isAuthentic: false, now: Rules.start, jitter: 0.5).texts
        #expect(failed == ["connect a to 10.0.0.2:4000,fe80::2%eth0:4000"])
        #expect(machine.browser.expected(of: "a") == nil)
        #expect(machine.connected("a", to: try #require(Rules.television)).texts == [])
    }

    @Test func `of two connections to one process, the remembered one stays if it is listed`() throws {
        var (machine, remembered) = try Self.connected()
        // Found at another address first.
        #expect(machine.seen("a", endpoints: [Self.sixth], by: .proximal).texts == ["connect a to fe80::2%eth0:4000"])
        _ = machine.connected("a", to: try #require(Rules.speaker))
        #expect(
            machine.described("a", Rules.description()).texts == ["disconnect a", "rename \(remembered) to a"]
        )
        #expect(machine.isDescribed("a") && !machine.knows(remembered))
    }

    @Test func `of two connections to one process, the discovered one stays if it is listed`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.sixth], by: .proximal)
        let process = try Self.process(Self.endpoint)
        _ = machine.recalled(process)
        _ = machine.connected("a", to: process.system)
        _ = machine.described("a", Rules.description())
        _ = machine.connected(process.instance, to: process.system, at: Self.endpoint)
        #expect(
            machine.described(process.instance, Rules.description()).texts == ["disconnect \(process.instance)"]
        )
        #expect(!machine.knows(process.instance) && machine.isDescribed("a"))
    }

    @Test func `two processes of a system at different ports are two`() throws {
        var (machine, remembered) = try Self.connected()
        let other = Endpoint(host: "10.0.0.2", port: 5000)
        _ = machine.seen("a", endpoints: [other], by: .proximal)
        _ = machine.connected("a", to: try #require(Rules.speaker))
        #expect(machine.described("a", Rules.description()).texts == ["updated Living room [com.example.player]"])
        #expect(machine.isDescribed("a") && machine.isDescribed(remembered))
    }

    @Test func `a process that discovery has found is not tried again, unless its attempts have failed`() throws {
        var machine = try Self.machine()
        let process = try Self.process(Self.endpoint)
        _ = machine.seen("a", endpoints: [Self.endpoint, Self.sixth], by: .proximal)
        #expect(machine.recalled(process).texts == [])
        #expect(!machine.knows(process.instance))
        _ = machine.failed("a", isAuthentic: true, now: Rules.start, jitter: 0.5)
        #expect(machine.recalled(process).texts == ["connect a to 10.0.0.2:4000,fe80::2%eth0:4000"])
    }

    @Test func `a hint of another account, or of a list of peers, takes nothing over`() throws {
        var (machine, remembered) = try Self.connected()
        let anonymous = machine.seen("a", endpoints: [Self.endpoint], by: .proximal, standing: .anonymous)
        #expect(anonymous.texts == ["connect a to 10.0.0.2:4000"])
        #expect(machine.seen("b", endpoints: [Self.endpoint], by: .cloud).texts == ["connect b to 10.0.0.2:4000"])
        #expect(machine.isDescribed(remembered))
    }

    @Test func `a remembered process that restarts is tried for about a minute`() throws {
        var (machine, remembered) = try Self.connected()
        var now = Rules.start
        #expect(machine.lost(remembered, orderly: true, now: now).texts == ["removed Living room [com.example.player]"])
        var attempts = 0
        while let next = machine.browser.nextWakeUp {
            now = next
            attempts += machine.tick(now: now).texts.count { $0.hasPrefix("connect \(remembered)") }
            _ = machine.failed(remembered, isAuthentic: true, now: now, jitter: 0.5)
        }
        #expect(attempts == SystemBrowserStateMachine.maxReturns)
        #expect((30...90).contains((now - Rules.start) / .seconds(1)))
        #expect(!machine.knows(remembered))
    }

    @Test func `a waiting remembered process is connected to at once when discovery finds it`() throws {
        var (machine, remembered) = try Self.connected()
        _ = machine.lost(remembered, orderly: true, now: Rules.start)
        #expect(
            machine.seen("a", endpoints: [Self.endpoint], by: .proximal).texts == [
                "rename \(remembered) to a", "connect a to 10.0.0.2:4000",
            ]
        )
    }

    @Test func `a revoked system is given up at once`() throws {
        var (machine, remembered) = try Self.connected()
        // Its connection is closed, and the attempt to reconnect fails.
        #expect(
            machine.lost(remembered, orderly: false, now: Rules.start).texts == [
                "connect \(remembered) to 10.0.0.2:4000"
            ]
        )
        let failed = machine.failed(remembered, isAuthentic: false, now: Rules.start, jitter: 0.5)
        #expect(failed.texts == ["removed Living room [com.example.player]"])
        #expect(!machine.knows(remembered))
    }

    @Test func `only a nearby process with a port of its own is remembered`() throws {
        var (machine, remembered) = try Self.connected(running: ["com.example.mixer"])
        #expect(machine.browser.isMemorable(remembered))
        let mixer = ">com.example.mixer@\(remembered)"
        _ = machine.connected(mixer, to: try #require(Rules.speaker))
        _ = machine.described(mixer, Rules.description(application: "com.example.mixer"))
        #expect(machine.isDescribed(mixer) && !machine.browser.isMemorable(mixer))
        for (name, type, standing, application) in [
            ("far", RemoteSystemDiscoveryType.cloud, Standing.Kind.sameAccount, "test"),
            ("foreign", .proximal, .anonymous, "test"), ("diagnosis", .proximal, .sameAccount, Diagnosis.service),
        ] {
            _ = machine.seen(name, endpoints: [Rules.other], by: type, standing: standing)
            _ = machine.connected(name, to: try #require(Rules.television), standing: standing)
            _ = machine.described(name, Rules.description(application: application))
            #expect(machine.isDescribed(name) && !machine.browser.isMemorable(name), "\(name)")
        }
    }
}
