// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import RemoteSystemsDiscovery

/// Issue 2 §5: the events of browsers and resolvers become events about instances.
@Suite struct BrowseStateMachineTests {
    typealias Machine = AvahiBrowse.StateMachine

    private let start = ContinuousClock.now
    private func machine(openResolvers: Int = 100, instances: Int = 100) -> Machine {
        Machine(limits: Machine.Limits(openResolvers: openResolvers, instances: instances), now: start)
    }

    private func serviceInstance(_ name: String, on interface: Int32 = 2, _ family: ServiceInstance.Family = .ipv4)
        -> ServiceInstance
    {
        ServiceInstance(interface: interface, family: family, instance: name)
    }

    private func found(
        _ address: String,
        port: Int = 7,
        _ properties: [String: [UInt8]] = [:],
        at hostName: String = "host.local"
    ) -> Resolution {
        Resolution(
            hostName: hostName,
            endpoint: DiscoveryEndpoint(address: address, port: port),
            properties: properties
        )
    }

    private func hint(_ name: String, _ endpoints: [(String, Int)], _ properties: [String: [UInt8]] = [:])
        -> DiscoveryHint
    {
        DiscoveryHint(
            id: name,
            instance: name,
            endpoints: endpoints.map { DiscoveryEndpoint(address: $0.0, port: $0.1) },
            properties: properties
        )
    }

    @Test func `an instance appears once it is resolved`() {
        var machine = machine()
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(
            machine.resolved(serviceInstance("a"), found("10.0.0.1")) == .emit(.appeared(hint("a", [("10.0.0.1", 7)])))
        )
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1")) == .nothing)
    }

    @Test func `service instances of one instance are one hint, link-local addresses last`() {
        var machine = machine()
        let v6 = serviceInstance("a", on: 2, .ipv6)
        let v4 = serviceInstance("a", on: 3)
        _ = machine.seen(v6)
        _ = machine.seen(v4)
        #expect(machine.resolved(v6, found("fe80::1%eth0")) == .emit(.appeared(hint("a", [("fe80::1%eth0", 7)]))))
        let both = hint("a", [("10.0.0.1", 7), ("fe80::1%eth0", 7)])
        #expect(machine.resolved(v4, found("10.0.0.1")) == .emit(.changed(both)))
    }

    @Test func `the same address on two interfaces is one endpoint`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a", on: 2))
        _ = machine.seen(serviceInstance("a", on: 3))
        _ = machine.resolved(serviceInstance("a", on: 2), found("10.0.0.1"))
        #expect(machine.resolved(serviceInstance("a", on: 3), found("10.0.0.1")) == .nothing)
        #expect(machine.gone(serviceInstance("a", on: 2)) == Machine.OnGone(stopResolving: true, events: []))
    }

    @Test func `a service that returns on another port is a change`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1", port: 7))
        #expect(
            machine.resolved(serviceInstance("a"), found("10.0.0.1", port: 8))
                == .emit(.changed(hint("a", [("10.0.0.1", 8)])))
        )
    }

    @Test func `a resolver's result about a second host is not used, and another resolver is created`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1", port: 7))
        // Avahi first combines the new host's port with the old address, and corrects that later or never.
        let half = found("10.0.0.1", port: 8, at: "other.local")
        #expect(machine.resolved(serviceInstance("a"), half, now: start) == .nothing)
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.2", port: 8, at: "other.local")) == .nothing)
        #expect(machine.hints == [hint("a", [("10.0.0.1", 7)])])
        #expect(machine.movedOn(now: start).isEmpty)
        #expect(machine.movedOn(now: start + Machine.moving) == [serviceInstance("a")])
        #expect(machine.movedOn(now: start + Machine.moving).isEmpty)
        let moved = machine.resolved(serviceInstance("a"), found("10.0.0.2", port: 8, at: "other.local"))
        #expect(moved == .emit(.changed(hint("a", [("10.0.0.2", 8)]))))
    }

    @Test func `an instance that is gone before it is resolved again is forgotten`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1", at: "other.local"), now: start)
        _ = machine.gone(serviceInstance("a"))
        #expect(machine.movedOn(now: start + Machine.moving).isEmpty)
    }

    @Test func `an instance vanishes with its last service instance`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a", on: 2))
        _ = machine.seen(serviceInstance("a", on: 3))
        _ = machine.resolved(serviceInstance("a", on: 2), found("10.0.0.1"))
        _ = machine.resolved(serviceInstance("a", on: 3), found("10.1.0.1"))
        #expect(machine.gone(serviceInstance("a", on: 3)).events == [.changed(hint("a", [("10.0.0.1", 7)]))])
        #expect(machine.gone(serviceInstance("a", on: 2)).events == [.vanished("a")])
        #expect(machine.gone(serviceInstance("a", on: 2)) == Machine.OnGone())
        #expect(machine.hints.isEmpty)
    }

    @Test func `an instance that was never resolved vanishes without an event`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        #expect(machine.unresolved(serviceInstance("a")) == .nothing)
        #expect(machine.gone(serviceInstance("a")) == Machine.OnGone(stopResolving: true, events: []))
    }

    @Test func `an instance that can no longer be resolved vanishes, and appears again when it can`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        #expect(machine.unresolved(serviceInstance("a")) == .emit(.vanished("a")))
        #expect(
            machine.resolved(serviceInstance("a"), found("10.0.0.1")) == .emit(.appeared(hint("a", [("10.0.0.1", 7)])))
        )
    }

    @Test func `resolver results for vanished service instances are ignored`() {
        var machine = machine()
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1")) == .nothing)
        #expect(machine.unresolved(serviceInstance("a")) == .nothing)
    }

    @Test func `the service instances of an interface that is no longer browsed are removed`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a", on: 2))
        _ = machine.seen(serviceInstance("a", on: 3))
        #expect(machine.serviceInstances(on: 3) == [serviceInstance("a", on: 3)])
    }

    // MARK: Settling

    @Test func `the browse settles when every instance is reported and resolved`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        #expect(machine.enumerationCompleted(now: start).isEmpty)
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        #expect(machine.tick(now: start) == [.settled])
        #expect(machine.tick(now: start).isEmpty)
        #expect(machine.enumerationCompleted(now: start).isEmpty)
    }

    @Test func `the browse settles at once without instances`() {
        var machine = machine()
        #expect(machine.enumerationCompleted(now: start) == [.settled])
        #expect(machine.deadline == nil)
    }

    @Test func `after a late enumeration, settling waits a little for further instances`() {
        var machine = machine()
        #expect(machine.enumerationCompleted(now: start + .seconds(1)).isEmpty)
        #expect(machine.deadline == start + Machine.patience)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.tick(now: start + Machine.patience).isEmpty)
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        #expect(machine.tick(now: start + Machine.patience) == [.settled])
    }

    @Test func `an instance that cannot be resolved delays settling for a bounded time`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        #expect(machine.enumerationCompleted(now: start).isEmpty)
        #expect(machine.deadline == start + Machine.resolving)
        #expect(machine.tick(now: start + Machine.resolving) == [.settled])
    }

    @Test func `the browse settles in bounded time even without any event`() {
        var machine = machine()
        #expect(machine.deadline == start + Machine.settling)
        #expect(machine.tick(now: start + Machine.settling / 2).isEmpty)
        #expect(machine.tick(now: start + Machine.settling) == [.settled])
    }

    // MARK: A restarted daemon

    @Test func `known instances survive a restart of the daemon`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        machine.lost(now: start)
        machine.resumed(openResolvers: 100, now: start + .seconds(1))
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1")) == .nothing)
        #expect(machine.tick(now: start + .seconds(1) + Machine.grace) == [.settled])
        #expect(machine.hints.map(\.id) == ["a"])
    }

    @Test func `instances that do not return vanish after a grace period`() {
        var machine = machine()
        _ = machine.enumerationCompleted(now: start)
        for name in ["a", "b"] {
            _ = machine.seen(serviceInstance(name))
            _ = machine.resolved(serviceInstance(name), found("10.0.0.1"))
        }
        machine.lost(now: start)
        machine.resumed(openResolvers: 100, now: start + .seconds(1))
        _ = machine.seen(serviceInstance("a"))
        let end = start + .seconds(1) + Machine.grace
        #expect(machine.deadline == end)
        #expect(machine.tick(now: end - .milliseconds(1)).isEmpty)
        #expect(machine.tick(now: end) == [.vanished("b")])
        #expect(machine.deadline == nil)
    }

    @Test func `without a daemon instances are kept for the lifetime of their mDNS records`() {
        var machine = machine()
        _ = machine.enumerationCompleted(now: start)
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"))
        machine.lost(now: start)
        #expect(machine.tick(now: start + .seconds(119)).isEmpty)
        #expect(machine.tick(now: start + .seconds(120)) == [.vanished("a")])
    }

    // MARK: Limits

    @Test func `beyond the limit of open resolvers instances are resolved once`() {
        var machine = machine(openResolvers: 1)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.seen(serviceInstance("b")) == .resolveOnce)
        #expect(machine.gone(serviceInstance("b")).stopResolving == false)
        #expect(machine.gone(serviceInstance("a")).stopResolving == true)
        #expect(machine.seen(serviceInstance("c")) == .resolve)
    }

    @Test func `a resolver that could not be created does not count`() {
        var machine = machine(openResolvers: 1)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        machine.released(serviceInstance("a"))
        machine.released(serviceInstance("a"))
        #expect(machine.seen(serviceInstance("b")) == .resolve)
        #expect(machine.seen(serviceInstance("c")) == .resolveOnce)
    }

    /// Tables fed by peers grew without a bound (GHSA-qc2x-6f54-m6h9, GHSA-gcq9-qqwx-rgj3).
    @Test func `too many instances are reported as trouble, once`() {
        var machine = machine(instances: 1)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.seen(serviceInstance("b")) == .emit(.trouble(.tooManyHints)))
        #expect(machine.seen(serviceInstance("c")) == .nothing)
        #expect(machine.problems.map(\.code) == [.tooManyHints])
        #expect(machine.seen(serviceInstance("a", on: 3)) == .resolve)
    }

    @Test func `the number of service instances per instance is bounded`() {
        var machine = machine(openResolvers: 1000)
        for interface in 1...100 { _ = machine.seen(serviceInstance("a", on: Int32(interface))) }
        #expect(machine.serviceInstances(on: 32).count == 1)
        #expect(machine.serviceInstances(on: 33).isEmpty)
    }

    @Test func `the beginning and the end of crowding are both reported`() {
        var machine = machine(openResolvers: 5000, instances: 5000)
        machine.resumed(openResolvers: 5000, now: start)
        let services = Machine.crowdedServices
        for number in 1..<services {
            _ = machine.seen(serviceInstance("\(number)"))
            #expect(machine.crowding() == nil)
        }
        _ = machine.seen(serviceInstance("0"))
        #expect(machine.crowding() == .trouble(.cacheLimit))
        #expect(machine.problems.map(\.code) == [.cacheLimit])
        _ = machine.seen(serviceInstance("x"))
        #expect(machine.crowding() == nil)
        var recovered: [DiscoveryEvent] = []
        for number in 0..<services {
            _ = machine.gone(serviceInstance("\(number)"))
            if let event = machine.crowding() { recovered.append(event) }
        }
        _ = machine.gone(serviceInstance("x"))
        #expect(machine.crowding() == nil)
        #expect(recovered == [.recovered(.cacheLimit)])
        #expect(machine.problems.isEmpty)
    }

    @Test func `the end of stale instances ends crowding`() {
        var machine = machine(instances: 5000)
        machine.resumed(openResolvers: 100, now: start)
        for number in 0..<Machine.crowdedServices { _ = machine.seen(serviceInstance("\(number)")) }
        #expect(machine.crowding() == .trouble(.cacheLimit))
        machine.lost(now: start)
        machine.resumed(openResolvers: 100, now: start + .seconds(1))
        _ = machine.tick(now: start + .seconds(4))
        #expect(machine.crowding() == .recovered(.cacheLimit))
    }

    // MARK: Responses to the one-shot query

    @Test func `a response is reported at once, and a browser's later event for it adds none`() {
        var machine = machine()
        let appeared = DiscoveryEvent.appeared(hint("a", [("10.0.0.1", 7)]))
        #expect(machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start) == appeared)
        #expect(machine.answered(serviceInstance("a"), found("10.0.0.2"), now: start) == nil)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1"), now: start) == .nothing)
        #expect(machine.unfollowed(now: start + .seconds(10)).isEmpty)
        #expect(machine.gone(serviceInstance("a")).events == [.vanished("a")])
    }

    @Test func `a response that no browser follows is resolved, and forgotten if that fails`() {
        var machine = machine()
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start)
        #expect(machine.unfollowed(now: start + .seconds(2)).isEmpty)
        #expect(machine.unfollowed(now: start + .seconds(3)) == [serviceInstance("a"): .resolve])
        #expect(machine.unfollowed(now: start + .seconds(4)).isEmpty)
        #expect(machine.unresolved(serviceInstance("a")) == .emit(.vanished("a")))
        #expect(!machine.knows(serviceInstance("a")))
    }

    @Test func `a response that no browser follows but a resolver confirms lasts as long as its records`() {
        var machine = machine()
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start)
        _ = machine.unfollowed(now: start + .seconds(3))
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1"), now: start + .seconds(3)) == .nothing)
        #expect(machine.knows(serviceInstance("a")))
        #expect(machine.unresolved(serviceInstance("a")) == .emit(.vanished("a")))
    }

    @Test func `a response about an instance that a browser has seen is reported before it is resolved`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        let appeared = DiscoveryEvent.appeared(hint("a", [("10.0.0.1", 7)]))
        #expect(machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start) == appeared)
        #expect(machine.needsResolver(serviceInstance("a")))
        #expect(machine.enumerationCompleted(now: start) == [.settled])
        let changed = DiscoveryEvent.changed(hint("a", [("10.0.0.1", 8)]))
        #expect(machine.resolved(serviceInstance("a"), found("10.0.0.1", port: 8), now: start) == .emit(changed))
    }

    @Test func `a response about a resolved instance changes nothing`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"), now: start)
        #expect(machine.answered(serviceInstance("a"), found("10.0.0.9"), now: start) == nil)
        #expect(machine.hints == [hint("a", [("10.0.0.1", 7)])])
    }

    @Test func `a response overrides a resolver's failure for a while`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start)
        let end = start + Machine.trusting
        #expect(machine.unresolved(serviceInstance("a"), now: end - .milliseconds(1)) == .nothing)
        #expect(machine.unresolved(serviceInstance("a"), now: end) == .emit(.vanished("a")))
    }

    @Test func `a response after a resolver's failure is reported`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        #expect(machine.unresolved(serviceInstance("a")) == .nothing)
        let appeared = DiscoveryEvent.appeared(hint("a", [("10.0.0.1", 7)]))
        #expect(machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start) == appeared)
    }

    @Test func `without a connection to Avahi no response waits for a browser`() {
        var machine = machine()
        _ = machine.enumerationCompleted(now: start)
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start)
        #expect(machine.deadline == nil)
        machine.resumed(openResolvers: 100, now: start + .seconds(60))
        #expect(machine.deadline == start + .seconds(60) + Machine.following)
    }

    // MARK: Irrelevant instances

    @Test func `an irrelevant instance is reported, and needs no resolver once it is resolved`() {
        var machine = machine(openResolvers: 1)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        #expect(machine.needsResolver(serviceInstance("a")))
        let appeared = DiscoveryEvent.appeared(hint("a", [("10.0.0.1", 7)]))
        let reported = machine.resolved(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: start)
        #expect(reported == .emit(appeared))
        #expect(!machine.needsResolver(serviceInstance("a")))
        #expect(machine.seen(serviceInstance("b")) == .resolve)
        #expect(machine.gone(serviceInstance("a")).events == [.vanished("a")])
    }

    @Test func `an irrelevant instance that responded is not resolved once a browser has seen it`() {
        var machine = machine()
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: start)
        #expect(machine.seen(serviceInstance("a")) == .nothing)
        #expect(!machine.needsResolver(serviceInstance("a")))
        #expect(machine.unfollowed(now: start + .seconds(10)).isEmpty)
    }

    @Test func `a queued resolver is dropped if its instance responds and is irrelevant`() {
        var machine = machine(openResolvers: 1)
        #expect(machine.seen(serviceInstance("a")) == .resolve)
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: start)
        #expect(!machine.needsResolver(serviceInstance("a")))
        #expect(machine.seen(serviceInstance("b")) == .resolve)
    }

    @Test func `an irrelevant instance that no browser has seen is resolved once`() {
        var machine = machine()
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: start)
        let later = start + Machine.following
        #expect(machine.unfollowed(now: later) == [serviceInstance("a"): .resolveOnce])
        #expect(machine.needsResolver(serviceInstance("a")))
        // This repeats, since no other event would report its end.
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: later)
        #expect(machine.unfollowed(now: later + Machine.retention) == [serviceInstance("a"): .resolveOnce])
        #expect(machine.unresolved(serviceInstance("a")) == .emit(.vanished("a")))
    }

    @Test func `an instance that becomes relevant is resolved`() {
        var machine = machine()
        _ = machine.seen(serviceInstance("a"))
        _ = machine.resolved(serviceInstance("a"), found("10.0.0.1"), isRelevant: false, now: start)
        #expect(machine.irrelevant.map(\.0) == [serviceInstance("a")])
        #expect(machine.becameRelevant(serviceInstance("a")) == .resolve)
        #expect(machine.becameRelevant(serviceInstance("a")) == .nothing)
        #expect(machine.irrelevant.isEmpty)
    }

    @Test func `responses cannot exceed the limit of instances (GHSA-gcq9-qqwx-rgj3, GHSA-qc2x-6f54-m6h9)`() {
        var machine = machine(instances: 2)
        for name in ["a", "b", "c"] { _ = machine.answered(serviceInstance(name), found("10.0.0.1"), now: start) }
        #expect(machine.hints.map(\.id) == ["a", "b"])
    }

    @Test func `responses from before the loss of the daemon expire like the rest`() {
        var machine = machine()
        _ = machine.answered(serviceInstance("a"), found("10.0.0.1"), now: start)
        machine.lost(now: start)
        #expect(machine.unfollowed(now: start + .seconds(5)).isEmpty)
        #expect(machine.tick(now: start + Machine.retention).contains(.vanished("a")))
    }
}

extension AvahiBrowse.StateMachine {
    fileprivate mutating func resolved(_ serviceInstance: ServiceInstance, _ resolution: Resolution) -> OnResolved {
        resolved(serviceInstance, resolution, now: .now)
    }
    fileprivate mutating func unresolved(_ serviceInstance: ServiceInstance) -> OnResolved {
        unresolved(serviceInstance, now: .now)
    }
}
