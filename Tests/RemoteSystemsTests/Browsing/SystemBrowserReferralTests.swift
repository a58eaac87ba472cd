// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What a watcher does with the applications that a host daemon reports as running, without network or
/// waiting.
@Suite struct SystemBrowserReferralTests {
    typealias Rules = SystemBrowserStateMachineTests

    static func daemon(running: [String], installed: [String] = []) -> SystemDescription {
        var description = Rules.description(application: "host")
        description.running = running
        description.installed = installed.map { SystemDescription.Application(id: $0, displayName: $0) }
        return description
    }

    static func machine(running: [String], installed: [String] = []) throws -> (Rules.Machine, reported: [String]) {
        var machine = try Rules.machine()
        _ = machine.seen("a", endpoints: [Rules.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Rules.speaker))
        let reported = machine.described("a", Self.daemon(running: running, installed: installed)).texts
        return (machine, reported)
    }

    @Test func `a reported application is contacted through the host, and listed once it has described itself (R-19)`()
        throws
    {
        var (machine, reported) = try Self.machine(running: ["x"])
        #expect(reported == ["connect >x@a to 10.0.0.2:4000", "added Living room [host]"])
        let referral = try #require(machine.referral(of: ">x@a"))
        #expect(referral.application == "x")
        #expect(referral.system == Rules.speaker)
        #expect(machine.referral(of: "a") == nil)
        _ = machine.connected(">x@a", to: referral.system)
        #expect(
            machine.described(">x@a", Rules.description(application: "x")).texts == ["updated Living room [host, x]"]
        )
        // A repeated report changes nothing.
        #expect(machine.described("a", Self.daemon(running: ["x"])).texts == [])
        // As with every instance, the connection decides whether the application is present.
        #expect(machine.lost(">x@a", orderly: true, now: Rules.start).texts == ["updated Living room [host]"])
    }

    @Test func `the enumeration is not complete before the reported applications were contacted`() throws {
        var (machine, _) = try Self.machine(running: ["x"])
        #expect(machine.settled().texts == [])
        let failed = machine.failed(">x@a", isAuthentic: true, now: Rules.start, jitter: 0.5).texts
        #expect(failed == ["enumeration completed"])
    }

    @Test func `an application that also advertises itself is contacted once, and its referral is dropped (R-20)`()
        throws
    {
        var (machine, _) = try Self.machine(running: ["x"])
        let speaker = try #require(Rules.speaker)
        _ = machine.connected(">x@a", to: speaker)
        _ = machine.described(">x@a", Rules.description(application: "x"))
        _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
        _ = machine.connected("b", to: speaker)
        let reported = machine.described("b", Rules.description(application: "x")).texts
        #expect(reported == ["disconnect >x@a", "updated Living room [host, x]"])
        #expect(!machine.knows(">x@a"))
        #expect(machine.described("a", Self.daemon(running: ["x"])).texts == [])
    }

    @Test func `a withdrawn referral is dropped, and probed if it is connected`()
        throws
    {
        var (machine, _) = try Self.machine(running: ["x", "y"])
        _ = machine.connected(">y@a", to: try #require(Rules.speaker))
        _ = machine.described(">y@a", Rules.description(application: "y"))
        let reported = machine.described("a", Self.daemon(running: [])).texts
        #expect(Set(reported) == ["disconnect >x@a", "probe >y@a"])
        #expect(!machine.knows(">x@a"))
    }

    @Test func `when a host is lost, so are the referrals that depend on it`() throws {
        var (machine, _) = try Self.machine(running: ["x"])
        _ = machine.failed(">x@a", isAuthentic: true, now: Rules.start, jitter: 0.5)
        let reported = machine.lost("a", orderly: true, now: Rules.start).texts
        #expect(reported.contains("disconnect >x@a"))
        #expect(!machine.knows(">x@a"))
    }

    @Test func `an unreachable referral is retried with backoff, and does not explain an empty list`() throws {
        var (machine, _) = try Self.machine(running: ["x"])
        _ = machine.failed(">x@a", isAuthentic: true, now: Rules.start, jitter: 0.5)
        #expect(machine.nextWakeUp.map { $0 > Rules.start } == true)
        #expect(machine.tick(now: Rules.start + .seconds(1)).texts == ["connect >x@a to 10.0.0.2:4000"])
        #expect(machine.unreported.isEmpty)
    }

    @Test func `another application behind a referral reports nothing about the expected one`() throws {
        var (machine, _) = try Self.machine(running: ["x"])
        _ = machine.connected(">x@a", to: try #require(Rules.speaker))
        #expect(machine.described(">x@a", Rules.description(application: "z")).texts == [])
        #expect(!machine.isDescribed(">x@a"))
    }

    @Test func `anonymous systems and referred applications cannot refer to others`() throws {
        var (machine, _) = try Self.machine(running: ["x"])
        _ = machine.connected(">x@a", to: try #require(Rules.speaker))
        var further = Rules.description(application: "x")
        further.running = ["z"]
        #expect(machine.described(">x@a", further).texts == ["updated Living room [host, x]"])
        var other = try Rules.anonymous()
        _ = other.connected("x", to: try #require(Rules.speaker), standing: .anonymous)
        #expect(other.described("x", Self.daemon(running: ["z"])).texts == ["added Living room [host]"])
    }

    @Test func `an installed application that is reported as running is listed as running (R-20)`() throws {
        var (machine, _) = try Self.machine(running: [], installed: ["x"])
        guard
            case .emit(.updated(let system))? = machine.described("a", Self.daemon(running: ["x"], installed: ["x"]))
                .last
        else {
            Issue.record("It was not updated.")
            return
        }
        #expect(system.application("x")?.isRunning == true)
    }
}
