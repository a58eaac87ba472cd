// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What linked accounts, which can certify any number of systems, can make a browser do, without network or waiting
/// (issue 10).
@Suite struct SystemBrowserLinkedTests {
    typealias Rules = SystemBrowserStateMachineTests

    private static func host(_ number: Int) -> Endpoint {
        Endpoint(host: "10.2.\(number / 250).\(number % 250 + 1)", port: 4000)
    }

    private static func system(_ number: Int) throws -> SystemID {
        try #require(SystemID(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }))
    }

    private static func account(_ number: UInt8) throws -> AccountID {
        try #require(AccountID(bytes: [UInt8](repeating: number, count: 32)))
    }

    /// Lets a new system of a linked account appear and prove itself.
    ///
    /// - Returns: whether its connection is kept.
    private static func connect(_ number: Int, of account: UInt8, at machine: inout Rules.Machine) throws -> Bool {
        let name = "l\(number)"
        _ = machine.seen(name, endpoints: [Self.host(number)], by: .proximal, standing: .linked)
        let actions = machine.connected(
            name,
            to: try Self.system(number + 10),
            standing: .linked,
            account: try Self.account(account)
        )
        return !actions.texts.contains("disconnect \(name)")
    }

    @Test func `a linked account has a limited number of processes, and all linked accounts together`() throws {
        var machine = try Rules.machine()
        for account in UInt8(1)...5 {
            var kept = 0
            for number in 0..<100 {
                let isKept = try Self.connect(1000 * Int(account) + number, of: account, at: &machine)
                kept += isKept ? 1 : 0
            }
            #expect(kept == (account < 5 ? LinkedLimits.perAccount : 0))
        }
        #expect(machine.instances.linked.count == LinkedLimits.total)
        // The own account is not affected.
        _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
        _ = machine.connected("b", to: try #require(Rules.television))
        #expect(machine.described("b", Rules.description("TV")).texts == ["added TV [com.example.player]"])
    }

    @Test func `a process beyond the limit is tried again after a while, and may then take a place that is free`()
        throws
    {
        var machine = try Rules.machine()
        for number in 0..<LinkedLimits.perAccount { _ = try Self.connect(number, of: 1, at: &machine) }
        #expect(machine.instances.linked.count == LinkedLimits.perAccount)
        let surplus = LinkedLimits.perAccount
        let isKept = try Self.connect(surplus, of: 1, at: &machine)
        #expect(!isKept)
        // The same advertisement causes no attempt meanwhile.
        let again = machine.seen("l\(surplus)", endpoints: [Self.host(surplus)], by: .proximal, standing: .linked)
        #expect(again.texts == [])
        let time = Rules.start + BrowserTimes.surplus
        #expect(!machine.tick(now: time - .seconds(1)).texts.contains { $0.hasPrefix("connect") })
        // A process that was lost keeps its place while it is advertised.
        _ = machine.lost("l0", orderly: true, now: Rules.start)
        #expect(machine.instances.linked.count == LinkedLimits.perAccount)
        _ = machine.unseen("l0")
        #expect(machine.tick(now: time).texts.contains { $0.hasPrefix("connect l\(surplus) ") })
        let actions = machine.connected(
            "l\(surplus)",
            to: try Self.system(surplus + 10),
            standing: .linked,
            account: try Self.account(1)
        )
        #expect(actions.texts == [])
        #expect(machine.instances.linked.count == LinkedLimits.perAccount)
    }

    @Test func `processes of a linked account beyond the limit leave places for others`() throws {
        var machine = try Rules.machine()
        for number in 0..<10_000 { _ = try Self.connect(number, of: 1, at: &machine) }
        #expect(machine.instances.linked.count == LinkedLimits.perAccount)
        #expect(machine.instances.count <= BrowserLimits.unprovedHints + LinkedLimits.perAccount)
        #expect(machine.seen("b", endpoints: [Rules.other], by: .proximal).texts.last?.hasPrefix("connect b ") == true)
    }

    @Test func `the programs of a lost host of a linked account count for that account`() throws {
        var machine = try Rules.machine()
        _ = try Self.connect(0, of: 1, at: &machine)
        _ = machine.described("l0", DescribedProgramTests.daemon((0..<100).map { "x\($0)" }))
        var texts = machine.lost("l0", orderly: false, now: Rules.start + .seconds(20)).texts
        texts += machine.failed("l0", isAuthentic: true, now: Rules.start + .seconds(20), jitter: 0.5).texts
        let programs = texts.count { $0.hasPrefix("connect >") }
        #expect(programs == LinkedLimits.perAccount - 1)
        #expect(machine.instances.linked.count == LinkedLimits.perAccount)
        #expect(machine.standing(of: ">x0@l0") == .linked)
    }
}
