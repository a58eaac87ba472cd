// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystemsIdentity
import RemoteSystemsTransport
import Testing

@testable import RemoteSystems

/// The rules by which hints become systems, without network or waiting.
@Suite struct SystemBrowserStateMachineTests {
    typealias Machine = WatchingRules

    static let start = ContinuousClock.now
    static let own = SystemID(bytes: [UInt8](repeating: 1, count: 32))
    static let speaker = SystemID(bytes: [UInt8](repeating: 2, count: 32))
    static let television = SystemID(bytes: [UInt8](repeating: 3, count: 32))
    static let endpoint = Endpoint(host: "10.0.0.2", port: 4000)
    static let other = Endpoint(host: "10.0.0.3", port: 4001)

    static func machine(filters: [RemoteSystemFilter] = [], sources: Int = 1) throws -> Machine {
        Machine(
            filters: filters,
            ownSystem: try #require(own),
            sources: sources,
            enumerationEnds: start + .seconds(2)
        )
    }

    static func description(
        _ name: String = "Living room",
        application: String = "com.example.player",
        services: [String] = ["com.example.ping"],
        kind: RemoteSystemKind = .desktop
    ) -> SystemDescription {
        SystemDescription(
            displayName: name,
            kind: kind,
            platform: .linux,
            isAuthority: false,
            application: SystemDescription.Application(
                id: application,
                displayName: application,
                attributes: [:],
                services: services.map { RemoteSystemApplication.Service(name: $0) }
            )
        )
    }

    @Test func `a hint causes a connection and nothing else`() throws {
        var machine = try Self.machine()
        #expect(machine.seen("a", endpoints: [Self.endpoint], by: .proximal).texts == ["connect a to 10.0.0.2:4000"])
        #expect(machine.seen("a", endpoints: [Self.endpoint], by: .proximal).texts == [])
    }

    @Test func `a system is added only when it is connected and has described itself`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        #expect(machine.described("a", Self.description()).texts == [])
        _ = machine.connected("a", to: try #require(Self.speaker))
        #expect(machine.described("a", Self.description()).texts == ["added Living room [com.example.player]"])
    }

    @Test func `a system that is seen at another address, or no longer seen, is probed`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Self.speaker))
        _ = machine.described("a", Self.description())
        #expect(machine.seen("a", endpoints: [Self.endpoint, Self.other], by: .proximal).texts == [])
        let moved = ["probe a", "updated Living room [com.example.player]"]
        #expect(machine.seen("a", endpoints: [Self.other], by: .proximal).texts == moved)
        #expect(machine.seen("a", endpoints: [Self.endpoint], by: .proximal).texts == moved)
        #expect(machine.unseen("a").texts == ["probe a"])
        #expect(machine.lost("a", orderly: false, now: Self.start).texts == ["connect a to 10.0.0.2:4000"])
        #expect(machine.seen("a", endpoints: [Self.other], by: .proximal).texts == [])
    }

    @Test func `a system that moves is reported once as updated, with its new address (X-34)`() throws {
        var machine = try Self.connected()
        var texts = machine.unseen("a").texts
        texts += machine.seen("a", endpoints: [Self.other], by: .proximal).texts
        // Its old connection ends later, and the browser reconnects to the new address.
        texts += machine.lost("a", orderly: false, now: Self.start).texts
        texts += machine.connected("a", to: try #require(Self.speaker)).texts
        texts += machine.described("a", Self.description()).texts
        #expect(
            texts == [
                "probe a", "probe a", "updated Living room [com.example.player]",
                "connect a to 10.0.0.3:4001,10.0.0.2:4000",
            ]
        )
    }

    @Test func `a system's name does not depend on the random names of its processes (X-34)`() throws {
        for names in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
            var machine = try Self.machine()
            let speaker = try #require(Self.speaker)
            for (instance, (name, application)) in zip(
                names,
                [("host", "a.first"), ("Attic", RemoteSystemHost.machineApplicationID), ("host", "z.last")]
            ) {
                _ = machine.seen(instance, endpoints: [Self.endpoint], by: .proximal)
                _ = machine.connected(instance, to: speaker)
                _ = machine.described(instance, Self.description(name, application: application))
            }
            let fewer = machine.lost(names[2], orderly: true, now: Self.start).texts
            #expect(fewer == ["updated Attic [a.first, remote-systems.host]"])
            #expect(machine.lost(names[1], orderly: true, now: Self.start).texts == ["updated host [a.first]"])
        }
    }

    @Test func `two systems of one name are added, updated and removed apart (R-15)`() throws {
        var machine = try Self.machine()
        for (instance, system, application) in [("a", Self.speaker, "one"), ("b", Self.television, "two")] {
            _ = machine.seen(instance, endpoints: [Self.endpoint], by: .proximal)
            _ = machine.connected(instance, to: try #require(system))
            let added = machine.described(instance, Self.description("TV", application: application)).texts
            #expect(added == ["added TV [\(application)]"])
        }
        let updated = machine.described("a", Self.description("TV", application: "three")).texts
        #expect(updated == ["updated TV [three]"])
        #expect(machine.lost("b", orderly: true, now: Self.start).texts == ["removed TV [two]"])
        #expect(machine.lost("a", orderly: true, now: Self.start).texts == ["removed TV [three]"])
    }

    @Test func `a second process of a system updates it, and its end removes only its application`() throws {
        var machine = try Self.machine()
        let speaker = try #require(Self.speaker)
        for (instance, application) in [("a", "one"), ("b", "two")] {
            _ = machine.seen(instance, endpoints: [Self.endpoint], by: .proximal)
            _ = machine.connected(instance, to: speaker)
            _ = machine.described(instance, Self.description(application: application))
        }
        #expect(machine.lost("b", orderly: true, now: Self.start).texts == ["updated Living room [one]"])
        #expect(machine.lost("a", orderly: true, now: Self.start).texts == ["removed Living room [one]"])
    }

    @Test func `a refusal's text is kept until the next attempt replaces it`() throws {
        var machine = try Self.machine()
        func fail(_ refusal: String?) -> String? {
            _ = machine.failed("a", isAuthentic: true, refusal: refusal, now: Self.start, jitter: 0.5)
            return machine.unreported.first?.refusal
        }
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        #expect(machine.unreported.first?.refusal == nil)
        #expect(fail("Full.") == "Full.")
        _ = machine.tick(now: Self.start + .seconds(40))
        #expect(machine.unreported.first?.refusal == "Full.")
        #expect(fail(nil) == nil)
        #expect(fail("Full.") == "Full.")
        // Connected, and lost again.
        _ = machine.connected("a", to: try #require(Self.speaker))
        _ = machine.described("a", Self.description())
        #expect(machine.unreported.isEmpty)
        _ = machine.lost("a", orderly: true, now: Self.start)
        #expect(machine.unreported.map(\.endpoint) == [Self.endpoint] && machine.unreported.first?.refusal == nil)
        // A refusal's text from a stranger is not kept.
        _ = machine.seen("b", endpoints: [Self.other], by: .proximal, standing: .anonymous)
        _ = machine.failed("b", isAuthentic: true, refusal: "Pay.", now: Self.start, jitter: 0.5)
        #expect(machine.unreported.allSatisfy { $0.refusal == nil })
    }

    @Test func `a diagnosis that advertises itself for a moment is neither a system nor an application`() throws {
        var machine = try Self.machine()
        let (speaker, television) = (try #require(Self.speaker), try #require(Self.television))
        for (instance, system) in [("a", speaker), ("b", television), ("c", speaker)] {
            _ = machine.seen(instance, endpoints: [Self.endpoint], by: .proximal)
            _ = machine.connected(instance, to: system)
        }
        #expect(machine.described("a", Self.description()).texts == ["added Living room [com.example.player]"])
        for instance in ["b", "c"] {
            let reported = machine.described(instance, Self.description(application: "remote-systems.diagnosis")).texts
            #expect(reported == [])
        }
        #expect(machine.unreported.isEmpty && machine.excluded.isEmpty)
        #expect(machine.lost("b", orderly: true, now: Self.start).texts == [])
        #expect(machine.lost("c", orderly: false, now: Self.start).texts == ["connect c to 10.0.0.2:4000"])
        #expect(machine.lost("a", orderly: true, now: Self.start).texts == ["removed Living room [com.example.player]"])
    }

    @Test func `an orderly goodbye removes at once`() throws {
        var machine = try Self.connected()
        #expect(machine.lost("a", orderly: true, now: Self.start).texts == ["removed Living room [com.example.player]"])
    }

    @Test func `a lost connection is retried once before the system is removed`() throws {
        var machine = try Self.connected()
        #expect(machine.lost("a", orderly: false, now: Self.start).texts == ["connect a to 10.0.0.2:4000"])
        #expect(machine.isReconnecting("a"))
        #expect(
            machine.failed("a", isAuthentic: true, now: Self.start, jitter: 0.5).texts
                == ["removed Living room [com.example.player]"]
        )
    }

    @Test func `a system that returns at once is not reported as removed`() throws {
        var machine = try Self.connected()
        _ = machine.lost("a", orderly: false, now: Self.start)
        _ = machine.connected("a", to: try #require(Self.speaker))
        #expect(machine.described("a", Self.description()).texts == [])
    }

    @Test func `another system behind the same hint replaces the lost one`() throws {
        var machine = try Self.connected()
        _ = machine.lost("a", orderly: false, now: Self.start)
        let replaced = machine.connected("a", to: try #require(Self.television)).texts
        #expect(replaced == ["removed Living room [com.example.player]"])
        #expect(machine.described("a", Self.description("TV")).texts == ["added TV [com.example.player]"])
    }

    @Test func `the connection decides: a hint that vanishes removes nothing`() throws {
        var machine = try Self.connected()
        #expect(machine.unseen("a").texts == ["probe a"])
        #expect(
            machine.failedAfterLoss("a", now: Self.start) == [
                "connect a to 10.0.0.2:4000", "removed Living room [com.example.player]",
            ]
        )
        #expect(machine.tick(now: Self.start + .seconds(60)).texts.filter { $0.hasPrefix("connect") } == [])
    }

    @Test func `a process with a new name is connected once, and its endpoints are reported once`() throws {
        var machine = try Self.connected()
        let speaker = try #require(Self.speaker)
        _ = machine.seen("b", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.connected("b", to: speaker)
        #expect(machine.described("b", Self.description()).texts == [])
        #expect(machine.unseen("a").texts == ["disconnect a"])
        #expect(!machine.knows("a"))
        #expect(machine.lost("b", orderly: true, now: Self.start).texts == ["removed Living room [com.example.player]"])
    }

    @Test func `failed attempts are repeated with backoff, up to half a minute`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.settled()
        var now = Self.start
        var waits: [Duration] = []
        for _ in 0..<10 {
            _ = machine.failed("a", isAuthentic: true, now: now, jitter: 0.5)
            let next = try #require(machine.nextWakeUp)
            waits.append(next - now)
            now = next
            #expect(machine.tick(now: now).texts == ["connect a to 10.0.0.2:4000"])
        }
        #expect(waits.prefix(4) == [.milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2)])
        #expect(waits.max() == .seconds(30))
        #expect(waits == waits.sorted())
    }

    @Test func `a system that responds but is not of the account is not retried for minutes`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.settled()
        _ = machine.failed("a", isAuthentic: false, now: Self.start, jitter: 0.5)
        #expect(machine.nextWakeUp == Self.start + .seconds(300))
    }

    @Test func `a new address ends the backoff`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.failed("a", isAuthentic: true, now: Self.start, jitter: 0.5)
        #expect(machine.seen("a", endpoints: [Self.other], by: .proximal).texts == ["connect a to 10.0.0.3:4001"])
    }

    @Test func `the enumeration completes when discovery has settled and each system responded or failed (X-32)`()
        throws
    {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.seen("b", endpoints: [Self.other], by: .proximal)
        #expect(machine.settled().texts == [])
        _ = machine.connected("a", to: try #require(Self.speaker))
        #expect(machine.described("a", Self.description()).texts == ["added Living room [com.example.player]"])
        #expect(
            machine.failed("b", isAuthentic: true, now: Self.start, jitter: 0).texts == ["enumeration completed"]
        )
        #expect(machine.settled().texts == [])
    }

    @Test func `the enumeration completes after its timeout even with silent systems (X-32)`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        #expect(machine.nextWakeUp == Self.start + .seconds(2))
        #expect(machine.tick(now: Self.start + .seconds(2)).texts == ["enumeration completed"])
        #expect(machine.tick(now: Self.start + .seconds(3)).texts == [])
    }

    @Test func `a system that no longer matches the filters is reported as removed (R-07)`() throws {
        var machine = try Self.machine(filters: [.application("com.example.player"), .service("com.example.ping")])
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Self.speaker))
        #expect(machine.described("a", Self.description()).texts == ["added Living room [com.example.player]"])
        #expect(
            machine.described("a", Self.description(services: [])).texts == ["removed Living room [com.example.player]"]
        )
    }

    @Test func `a host that accepts and drops connections is retried with backoff`() throws {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        let system = try #require(Self.speaker)
        func connectAndLose(at time: Duration) -> [String] {
            _ = machine.connected("a", to: system)
            _ = machine.described("a", Self.description())
            return machine.lost("a", orderly: false, now: Self.start + time).texts
        }
        #expect(connectAndLose(at: .seconds(1)) == ["connect a to 10.0.0.2:4000"])
        #expect(connectAndLose(at: .seconds(2)).allSatisfy { !$0.hasPrefix("connect") })
        #expect(machine.nextWakeUp != nil)
        _ = machine.tick(now: Self.start + .seconds(3))
        #expect(connectAndLose(at: .seconds(60)) == ["connect a to 10.0.0.2:4000"])
    }

    @Test func `filters of one kind widen, filters of two kinds narrow (R-07, R-09, X-29)`() throws {
        func reported(_ filters: [RemoteSystemFilter], kind: RemoteSystemKind) throws -> [String] {
            var machine = try Self.machine(filters: filters)
            _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
            _ = machine.connected("a", to: try #require(Self.speaker))
            return machine.described("a", Self.description(kind: kind)).texts
        }
        #expect(try reported([.kind(.desktop), .kind(.laptop)], kind: .laptop).count == 1)
        #expect(try reported([.kind(.desktop), .kind(.laptop)], kind: .tablet).isEmpty)
        #expect(try reported([.kind(.desktop), .platform(.windows)], kind: .desktop).isEmpty)
        #expect(
            try reported([.discoveryType(.any), .status(.available), .authorizationKind(.sameUser)], kind: .hub).count
                == 1
        )
        #expect(try reported([.discoveryType(.cloud)], kind: .hub).isEmpty)
        #expect(try reported([.authorizationKind(.anonymous)], kind: .hub).isEmpty)
        #expect(try reported([.remoteOnly], kind: .hub).count == 1)
        #expect(try reported([.localVisibility(.hideLocalApp)], kind: .hub).count == 1)
    }

    @Test func `predicates of the application narrow further, and non-matching systems are removed (R-07)`()
        throws
    {
        let hasPing = RemoteSystemFilter.matching { system in
            system.applications.contains { $0.services.contains { $0.name == "com.example.ping" } }
        }
        let isRoom = RemoteSystemFilter.matching { $0.displayName.hasSuffix("room") }
        var machine = try Self.machine(filters: [.kind(.desktop), hasPing, isRoom])
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Self.speaker))
        #expect(machine.described("a", Self.description("Attic")).texts.isEmpty)
        #expect(machine.described("a", Self.description(services: [])).texts.isEmpty)
        #expect(machine.excluded.count == 1)
        #expect(machine.described("a", Self.description()).texts == ["added Living room [com.example.player]"])
        #expect(
            machine.described("a", Self.description(services: [])).texts == ["removed Living room [com.example.player]"]
        )
        #expect(Set([hasPing, hasPing, isRoom]).count == 2)
    }

    @Test(arguments: [("test", false), ("com.example.player", true)])
    func `this machine is hidden when only the watching application is on it (X-29)`(
        application: String,
        isReported: Bool
    ) throws {
        for (kind, expected) in [(RemoteSystemLocalVisibilityKind.showAll, true), (.hideLocalApp, isReported)] {
            var machine = try Self.machine(filters: [.localVisibility(kind)])
            _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
            _ = machine.connected("a", to: try #require(Self.own))
            let reported = machine.described("a", Self.description(application: application)).texts
            #expect(reported.isEmpty != expected)
        }
    }

    // MARK: Systems of other accounts (X-31)

    static func anonymous() throws -> Machine {
        var machine = try Self.machine(filters: [.authorizationKind(.anonymous), .authorizationKind(.sameUser)])
        _ = machine.seen("x", endpoints: [Self.endpoint], by: .proximal, standing: .anonymous)
        return machine
    }

    @Test func `a system of another account is listed as anonymous, and so are its applications`() throws {
        var machine = try Self.anonymous()
        _ = machine.connected("x", to: try #require(Self.speaker), standing: .anonymous)
        guard case .emit(.added(let system))? = machine.described("x", Self.description()).first else {
            Issue.record("It was not added.")
            return
        }
        #expect(system.authorizationKind == .anonymous)
        #expect(!system.applications.contains { $0.standing != .anonymous })
    }

    @Test func `a system of another account is tried three times, and again when its address changes`() throws {
        var machine = try Self.anonymous()
        var now = Self.start
        var attempts = 1
        for _ in 0..<20 {
            _ = machine.failed("x", isAuthentic: true, now: now, jitter: 0.5)
            guard let next = machine.nextWakeUp else { break }
            now = next
            attempts += machine.tick(now: now).texts.count { $0.hasPrefix("connect") }
        }
        #expect(attempts == 3)
        let again = machine.seen("x", endpoints: [Self.other], by: .proximal, standing: .anonymous)
        #expect(again.texts == ["connect x to 10.0.0.3:4001"])
    }

    @Test func `a system of another account that drops connections is retried with backoff, and not for ever`() throws {
        var machine = try Self.anonymous()
        var now = Self.start
        var connections = 0
        for _ in 0..<20 {
            _ = machine.connected("x", to: try #require(Self.speaker), standing: .anonymous)
            connections += 1
            #expect(machine.lost("x", orderly: false, now: now).texts.allSatisfy { !$0.hasPrefix("connect") })
            guard let next = machine.nextWakeUp else { break }
            #expect(next > now)
            now = next
            guard machine.tick(now: now).texts.contains(where: { $0.hasPrefix("connect") }) else { break }
        }
        #expect(connections == 3)
    }

    @Test func `the number of known processes of other accounts is limited, and does not reduce ours`() throws {
        var machine = try Self.machine()
        var connects = 0
        for number in 0..<200 {
            let name = "x\(number)"
            connects += machine.seen(name, endpoints: [Self.endpoint], by: .proximal, standing: .anonymous).count
        }
        #expect(connects == 64)
        #expect(machine.seen("ours", endpoints: [Self.endpoint], by: .proximal).count == 1)
    }

    @Test func `descriptions from strangers do not change a system of our account`() throws {
        var machine = try Self.connected()
        _ = machine.seen("x", endpoints: [Self.other], by: .proximal, standing: .anonymous)
        _ = machine.connected("x", to: try #require(Self.speaker), standing: .anonymous)
        let reported = machine.described("x", Self.description("Bathroom", application: "evil"))
        #expect(reported.texts == [])
    }

    static func connected() throws -> Machine {
        var machine = try Self.machine()
        _ = machine.seen("a", endpoints: [Self.endpoint], by: .proximal)
        _ = machine.connected("a", to: try #require(Self.speaker))
        _ = machine.described("a", Self.description())
        return machine
    }
}

extension WatchingRules {
    fileprivate mutating func failedAfterLoss(_ instance: String, now: ContinuousClock.Instant) -> [String] {
        let lost = self.lost(instance, orderly: false, now: now).texts
        return lost + self.failed(instance, isAuthentic: true, now: now, jitter: 0.5).texts
    }
}

extension [WatchingRules.Action] {
    /// The actions as text, to compare.
    var texts: [String] {
        self.map { action in
            switch action {
            case .connect(let instance, let endpoints):
                "connect \(instance) to \(endpoints.map { "\($0.host):\($0.port)" }.joined(separator: ","))"
            case .disconnect(let instance):
                "disconnect \(instance)"
            case .rename(let old, let new):
                "rename \(old) to \(new)"
            case .probe(let instance):
                "probe \(instance)"
            case .emit(.added(let system)):
                "added \(system.displayName) \(system.applications.map(\.id))".replacing("\"", with: "")
            case .emit(.updated(let system)):
                "updated \(system.displayName) \(system.applications.map(\.id))".replacing("\"", with: "")
            case .emit(.removed(let system)):
                "removed \(system.displayName) \(system.applications.map(\.id))".replacing("\"", with: "")
            case .emit(.enumerationCompleted):
                "enumeration completed"
            case .emit(.error(let error)):
                "error \(error)"
            }
        }
    }
}
