// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// What other machines can make a browser do, without network or waiting (issue 10 §1.1 to §1.3).
@Suite struct SystemBrowserFloodTests {
    typealias Rules = SystemBrowserStateMachineTests
    typealias Referrals = SystemBrowserReferralTests

    static let victim = Endpoint(host: "10.0.0.66", port: 80)

    private static func host(_ number: Int) -> Endpoint {
        Endpoint(host: "10.1.\(number / 250).\(number % 250 + 1)", port: 4000)
    }

    private static func system(_ number: Int) throws -> SystemID {
        try #require(SystemID(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }))
    }

    // MARK: Announced addresses

    @Test func `an announced address at which a process was not authenticated is a hint, also after a loss`() throws {
        var (machine, _) = try Referrals.machine(running: [])
        let endpoints = [Self.victim, Rules.endpoint]
        _ = machine.seen("a", endpoints: endpoints, by: .proximal)
        #expect(machine.browser.cause(of: "a") == .known)
        #expect(machine.browser.hints(among: endpoints, of: "a") == [Self.victim])
        _ = machine.lost("a", orderly: false, now: Rules.start + .seconds(20))
        #expect(machine.browser.cause(of: "a") == .loss)
        #expect(machine.browser.hints(among: endpoints, of: "a") == [Self.victim])
    }

    @Test func `no address that this machine's owner configured is a hint`() throws {
        var machine = try Rules.machine()
        let endpoints = [Self.victim, Rules.endpoint]
        _ = machine.seen("a", endpoints: endpoints, by: .proximal, isConfigured: true)
        #expect(machine.browser.hints(among: endpoints, of: "a").isEmpty)
    }

    // MARK: Referrals

    @Test func `referrals go to the address that was authenticated, wherever their host is advertised now`() throws {
        var (machine, _) = try Referrals.machine(running: [])
        _ = machine.seen("a", endpoints: [Self.victim], by: .proximal)
        for number in 0..<100 {
            let update = Referrals.daemon(running: (0..<256).map { "x\(number).\($0)" })
            let time = Rules.start + .milliseconds(100 * number)
            for text in machine.described("a", update, now: time).texts where text.hasPrefix("connect") {
                #expect(text.hasSuffix("to 10.0.0.2:4000"))
            }
        }
        // Also when the host is lost, and the programs that it has described are tried directly.
        var described = Referrals.daemon(running: [])
        described.programs = [
            SystemDescription.Program(
                application: SystemDescription.Application(id: "y", displayName: "y"),
                number: 1,
                epoch: 0,
                port: 4444
            )
        ]
        _ = machine.described("a", described)
        var texts = machine.lost("a", orderly: false, now: Rules.start + .seconds(20)).texts
        #expect(texts.first?.hasSuffix(",10.0.0.2:4000") == true)
        texts += machine.failed("a", isAuthentic: true, now: Rules.start + .seconds(20), jitter: 0.5).texts
        #expect(texts.contains("connect >y@a to 10.0.0.2:4444"))
    }

    @Test func `a host that names new programs all the time causes few connections`() throws {
        var (machine, _) = try Referrals.machine(running: [])
        var connections = 0
        for number in 0..<200 {
            let update = Referrals.daemon(running: (0..<256).map { "x\(number).\($0)" })
            let time = Rules.start + .milliseconds(100 * number)
            connections += machine.described("a", update, now: time).texts.count { $0.hasPrefix("connect") }
            connections += machine.tick(now: time).texts.count { $0.hasPrefix("connect") }
        }
        #expect(connections <= Int(BrowserLimits.referrals + 20 * BrowserLimits.referralRate) + 1)
    }

    @Test func `referrals beyond the rate are followed later, and none is lost`() throws {
        let running = (0..<200).map { "x\($0)" }
        var (machine, reported) = try Referrals.machine(running: running)
        var connected = Set(reported.filter { $0.hasPrefix("connect") })
        #expect(connected.count == Int(BrowserLimits.referrals))
        for _ in 0..<1000 {
            guard connected.count < running.count, let next = machine.nextWakeUp else { break }
            connected.formUnion(machine.tick(now: next).texts.filter { $0.hasPrefix("connect") })
        }
        #expect(connected.count == running.count)
        #expect(machine.nextWakeUp.map { $0 >= Rules.start + .seconds(60) } ?? true)
    }

    // MARK: Processes of one system

    @Test func `a system has a limited number of connections, and other systems are not affected`() throws {
        var machine = try Rules.machine()
        let speaker = try #require(Rules.speaker)
        for number in 0..<200 {
            _ = machine.seen("a\(number)", endpoints: [Self.host(number)], by: .proximal)
            _ = machine.connected("a\(number)", to: speaker)
            _ = machine.described("a\(number)", Rules.description(application: "x\(number)"))
        }
        #expect(machine.instances.names(on: speaker).count == BrowserLimits.processes)
        _ = machine.seen("b", endpoints: [Rules.other], by: .proximal)
        _ = machine.connected("b", to: try #require(Rules.television))
        #expect(machine.described("b", Rules.description("TV")).texts == ["added TV [com.example.player]"])
    }

    @Test func `many names for one process lead to few connections`() throws {
        var machine = try Rules.machine()
        let speaker = try #require(Rules.speaker)
        var disconnected = 0
        for number in 0..<50 {
            _ = machine.seen("a\(number)", endpoints: [Rules.endpoint], by: .proximal)
            _ = machine.connected("a\(number)", to: speaker)
            let reported = machine.described("a\(number)", Rules.description()).texts
            disconnected += reported.count { $0 == "disconnect a\(number)" }
        }
        #expect(machine.instances.names(on: speaker).count == BrowserLimits.namesOfProcess)
        #expect(disconnected == 50 - BrowserLimits.namesOfProcess)
        // Another process of the machine is listed.
        _ = machine.seen("b", endpoints: [Endpoint(host: "10.0.0.2", port: 4001)], by: .proximal)
        _ = machine.connected("b", to: speaker)
        #expect(machine.described("b", Rules.description(application: "other")).texts.count == 1)
    }

    @Test func `a process that describes itself and drops the connection is tried less and less often`() throws {
        var machine = try Rules.machine()
        _ = machine.seen("a", endpoints: [Rules.endpoint], by: .proximal)
        var now = Rules.start
        var connections = 0
        while now < Rules.start + .seconds(60), connections < 1000 {
            connections += 1
            _ = machine.connected("a", to: try #require(Rules.speaker), now: now)
            _ = machine.described("a", Rules.description(), now: now)
            guard machine.lost("a", orderly: true, now: now).texts.contains(where: { $0.hasPrefix("removed") }),
                let next = machine.nextWakeUp
            else { break }
            now = next
            _ = machine.tick(now: now)
        }
        #expect(connections <= 10)
    }

    // MARK: Hints

    @Test func `hints that lead to no system leave places for others`() throws {
        var machine = try Rules.machine()
        for number in 0..<10_000 {
            let name = "forged \(number)"
            _ = machine.seen(name, endpoints: [Self.host(number % 5000)], by: .proximal)
            _ = machine.failed(name, isAuthentic: true, now: Rules.start, jitter: 0.5)
        }
        #expect(machine.instances.count <= BrowserLimits.unprovedHints)
        // A host that appears now is tried, and its place is kept while others come.
        #expect(
            machine.seen("a", endpoints: [Rules.endpoint], by: .proximal).texts.last == "connect a to 10.0.0.2:4000"
        )
        for number in 10_000..<20_000 {
            let name = "forged \(number)"
            _ = machine.seen(name, endpoints: [Self.host(number % 5000)], by: .proximal)
            if number.isMultiple(of: 2) {
                _ = machine.failed(name, isAuthentic: true, now: Rules.start, jitter: 0.5)
            }
        }
        #expect(machine.knows("a"))
        _ = machine.connected("a", to: try #require(Rules.speaker))
        #expect(machine.described("a", Rules.description()).texts == ["added Living room [com.example.player]"])
        #expect(machine.instances.count <= BrowserLimits.unprovedHints + 1)
    }

    @Test func `hints of one machine are limited, and that is reported once`() throws {
        var machine = try Rules.machine()
        for number in 0..<BrowserLimits.unprovedHintsOfMachine {
            let endpoint = Endpoint(host: "10.0.0.2", port: number + 1)
            #expect(machine.seen("\(number)", endpoints: [endpoint], by: .proximal).count == 1)
        }
        let reported = machine.seen("one more", endpoints: [Rules.endpoint], by: .proximal).texts
        #expect(reported.count == 1)
        #expect(reported.first?.hasPrefix("error More processes are advertised") == true)
        #expect(machine.seen("and another", endpoints: [Rules.endpoint], by: .proximal).texts == [])
        // A failed attempt makes room. Configured peers are not limited.
        _ = machine.failed("7", isAuthentic: true, now: Rules.start, jitter: 0.5)
        #expect(
            machine.seen("new", endpoints: [Rules.endpoint], by: .proximal).texts
                == ["disconnect 7", "connect new to 10.0.0.2:4000"]
        )
        let configured = machine.seen("peer", endpoints: [Rules.endpoint], by: .proximal, isConfigured: true).texts
        #expect(configured == ["connect peer to 10.0.0.2:4000"])
    }

    @Test func `two thousand systems are listed`() throws {
        var machine = try Rules.machine()
        for number in 0..<2000 {
            let name = "a\(number)"
            #expect(machine.seen(name, endpoints: [Self.host(number)], by: .proximal).count == 1)
        }
        for number in 0..<2000 {
            _ = machine.connected("a\(number)", to: try Self.system(number + 10))
            #expect(machine.described("a\(number)", Rules.description()).texts.count == 1)
        }
        #expect(machine.instances.unprovedCount == 0)
    }

    // MARK: The table

    @Test func `the indexes of the table agree with its instances after random changes`() throws {
        var table = InstanceTable()
        let account = try #require(AccountID(bytes: [UInt8](repeating: 1, count: 32)))
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let name = "\(Int.random(in: 0..<60, using: &random))"
            guard Int.random(in: 0..<4, using: &random) > 0 else {
                table[name] = nil
                continue
            }
            var instance = SystemBrowserStateMachine.Instance(
                endpoints: [Self.host(Int.random(in: 0..<5, using: &random))],
                discoveryType: .proximal
            )
            let system = try Self.system(Int.random(in: 1..<4, using: &random))
            let time = Rules.start + .seconds(Int.random(in: 0..<50, using: &random))
            instance.phase =
                [.connecting, .abandoned, .waiting(until: time), .connected(system, nil)][
                    Int.random(in: 0..<4, using: &random)
                ]
            instance.hasConnected = Bool.random(using: &random)
            instance.standing = Bool.random(using: &random) ? .linked : .sameAccount
            instance.account = Bool.random(using: &random) ? account : nil
            instance.isFirstAttempt = Bool.random(using: &random)
            instance.expected = Bool.random(using: &random) ? system : nil
            instance.isHinted = Bool.random(using: &random)
            table[name] = instance
            if Bool.random(using: &random) { table.refreshWait() }
        }
        for number in 1..<4 {
            let system = try Self.system(number)
            let expected = table.filter { if case .connected(system, _) = $0.value.phase { true } else { false } }
            #expect(table.names(on: system) == Set(expected.map(\.key)))
        }
        #expect(table.unprovedCount == table.values.count(where: \.isUnproved))
        #expect(table.remembered == Set(table.filter(\.value.isRemembered).map(\.key)))
        #expect(table.linked.count == table.values.count(where: { $0.linkedAccount != nil }))
        #expect(table.firstAttempts == table.values.count(where: \.isFirstAttempt))
        #expect(table.nextWait == table.values.compactMap(\.phase.waitsUntil).min())
        for number in 0..<5 {
            let expected = table.filter { $0.value.endpoints == [Self.host(number)] }
            #expect(table.names(at: [Self.host(number)]) == Set(expected.map(\.key)))
        }
        for name in table.map(\.key) { table[name] = nil }
        #expect(table.nextWait == nil && table.unprovedCount == 0 && table.dispensable(at: nil) == nil)
        #expect(table.linked.count == 0)
    }
}
