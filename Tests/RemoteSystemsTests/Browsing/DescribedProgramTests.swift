// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What a watcher does with the programs that a host daemon describes itself, without network or waiting.
@Suite struct DescribedProgramTests {
    typealias Rules = SystemBrowserStateMachineTests

    static func daemon(_ programs: String...) -> SystemDescription { Self.daemon(programs) }

    static func daemon(_ programs: [String]) -> SystemDescription {
        var description = Rules.description(application: "remote-systems.host")
        description.programs = programs.enumerated().map { index, id in
            SystemDescription.Program(
                application: SystemDescription.Application(id: id, displayName: id, attributes: ["of": id]),
                number: index,
                epoch: 1,
                port: 5000 + index
            )
        }
        return description
    }

    /// A machine that has connected to the daemon as the instance `a`.
    static func machine(_ programs: String...) throws -> (Rules.Machine, reported: [String]) {
        var machine = try Rules.machine()
        _ = machine.seen("a", endpoints: [Rules.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Rules.speaker))
        let reported = machine.described("a", Self.daemon(programs)).texts
        return (machine, reported)
    }

    @Test func `described programs are listed as running, without connections of their own`() throws {
        var (machine, reported) = try Self.machine("x", "y")
        #expect(reported == ["added Living room [remote-systems.host, x, y]"])
        guard case .emit(.updated(let system))? = machine.described("a", Self.daemon("x")).last else {
            Issue.record("It was not updated.")
            return
        }
        #expect(system.applications.map(\.id) == ["remote-systems.host", "x"])
        let application = try #require(system.application("x"))
        #expect(application.isRunning)
        #expect(application.attributes == ["of": "x"])
        #expect(application.endpoints == [Rules.endpoint])
    }

    @Test func `the connection to a program ends when the daemon describes it and its advertisement is withdrawn`()
        throws
    {
        for withdrawsFirst in [true, false] {
            var (machine, _) = try Self.machine()
            _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
            _ = machine.connected("b", to: try #require(Rules.speaker))
            _ = machine.described("b", Rules.description(application: "x"))
            var texts: [String] = []
            if withdrawsFirst { texts += machine.unseen("b").texts }
            texts += machine.described("a", Self.daemon("x")).texts
            if !withdrawsFirst { texts += machine.unseen("b").texts }
            #expect(texts.contains("disconnect b"))
            #expect(!machine.knows("b"))
            #expect(!texts.contains { $0.hasPrefix("removed") })
            #expect(texts.filter { $0.hasPrefix("updated") } == ["updated Living room [remote-systems.host, x]"])
        }
    }

    @Test func `when the daemon is killed, its programs stay listed and are connected to directly`() throws {
        var (machine, _) = try Self.machine("x", "y")
        #expect(machine.lost("a", orderly: false, now: Rules.start).texts == ["connect a to 10.0.0.2:4000"])
        let later = Rules.start + .milliseconds(20)
        let failed = machine.failed("a", isAuthentic: true, now: later, jitter: 0.5).texts
        #expect(
            failed == ["connect >x@a to 10.0.0.2:5000", "connect >y@a to 10.0.0.2:5001", "updated Living room [x, y]"]
        )
        let speaker = try #require(Rules.speaker)
        #expect(machine.connected(">x@a", to: speaker).texts == [])
        #expect(machine.described(">x@a", Rules.description(application: "x")).texts.count <= 1)
        // One that has ended, too.
        #expect(
            machine.failed(">y@a", isAuthentic: true, now: later, jitter: 0.5).texts == ["updated Living room [x]"]
        )
        // The next daemon describes the program again.
        _ = machine.seen("c", endpoints: [Rules.endpoint], by: .proximal)
        _ = machine.connected("c", to: speaker)
        let back = machine.described("c", Self.daemon("x")).texts
        #expect(back == ["disconnect >x@a", "updated Living room [remote-systems.host, x]"])
    }

    @Test func `a program that advertises itself after the daemon's end is connected to once`() throws {
        var (machine, _) = try Self.machine("x")
        _ = machine.lost("a", orderly: true, now: Rules.start)
        let speaker = try #require(Rules.speaker)
        _ = machine.connected(">x@a", to: speaker)
        _ = machine.described(">x@a", Rules.description(application: "x"))
        _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
        _ = machine.connected("b", to: speaker)
        let texts = machine.described("b", Rules.description(application: "x")).texts
        #expect(texts == ["disconnect >x@a", "updated Living room [x]"])
    }

    @Test func `when the daemon changes its port, its programs stay listed at the new one`() throws {
        var (machine, _) = try Self.machine("x")
        _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
        _ = machine.connected("b", to: try #require(Rules.speaker))
        _ = machine.described("b", Self.daemon("x"))
        _ = machine.unseen("a")
        let actions = machine.lost("a", orderly: true, now: Rules.start)
        #expect(actions.texts == ["updated Living room [remote-systems.host, x]"])
        guard case .emit(.updated(let system))? = actions.last else {
            Issue.record("It was not updated.")
            return
        }
        #expect(system.application("x")?.endpoints == [Rules.other])
    }

    @Test func `a machine that does not respond any more is removed without further attempts`() throws {
        var (machine, _) = try Self.machine("x")
        _ = machine.lost("a", orderly: false, now: Rules.start)
        let texts = machine.failed("a", isAuthentic: true, now: Rules.start + .milliseconds(700), jitter: 0.5).texts
        #expect(texts == ["removed Living room [remote-systems.host, x]"])
    }

    @Test func `a restarted daemon that names a program before it describes it again changes nothing`() throws {
        for isFast in [true, false] {
            var (machine, _) = try Self.machine("x")
            let speaker = try #require(Rules.speaker)
            _ = machine.lost("a", orderly: false, now: Rules.start)
            _ = machine.connected("a", to: speaker)
            var named = Self.daemon()
            named.running = ["x"]
            #expect(machine.described("a", named).texts == ["connect >x@a to 10.0.0.2:4000"])
            if !isFast {
                _ = machine.connected(">x@a", to: speaker)
                #expect(machine.described(">x@a", Self.daemon("x").programs[0].alone).texts == [])
            }
            #expect(machine.described("a", Self.daemon("x")).texts == ["disconnect >x@a"])
            #expect(!machine.knows(">x@a"))
        }
    }

    @Test func `a program that is only named and does not respond is no longer listed`() throws {
        var (machine, _) = try Self.machine("x")
        var named = Self.daemon()
        named.running = ["x"]
        _ = machine.described("a", named)
        let texts = machine.failed(">x@a", isAuthentic: true, now: Rules.start, jitter: 0.5).texts
        #expect(texts == ["updated Living room [remote-systems.host]"])
    }

    @Test func `a daemon that reconnects in time changes nothing`() throws {
        var (machine, _) = try Self.machine("x")
        _ = machine.lost("a", orderly: false, now: Rules.start)
        #expect(machine.connected("a", to: try #require(Rules.speaker)).texts == [])
        #expect(machine.described("a", Self.daemon("x")).texts == [])
    }
}

extension SystemDescription.Program {
    /// The program's own description.
    fileprivate var alone: SystemDescription {
        var description = SystemBrowserStateMachineTests.description(application: self.application.id)
        description.application = self.application
        return description
    }
}
