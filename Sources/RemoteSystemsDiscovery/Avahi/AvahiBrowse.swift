// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// One browse with its resolvers, for any number of listeners. Confined to the session's queue; obeys its state machine.
final class AvahiBrowse {
    private let logger: Logger
    private let onFailure: (AvahiError) -> Void
    private var machine: StateMachine
    private var timer: QueueTimer?
    private var connection: (any AvahiConnection)?
    private var listeners: [UInt64: DiscoveryEvents.Feed] = [:]
    private var browsers: [Int32: AnyObject] = [:]
    private var resolvers: [Sighting: AnyObject] = [:]
    /// Sightings that are resolved once, a few at a time: a daemon allows only so many objects.
    private var resolvedOnce: Set<Sighting> = []
    private var waiting: [Sighting] = []
    private static let resolvedOnceAtATime = 64
    /// Browsers that have not yet told all they know from the start.
    private var starting: Set<Int32> = []

    /// - Parameter onFailure: Called when a browser failed and the connection is best made anew.
    init(queue: DispatchQueue, openResolvers: Int, logger: Logger, onFailure: @escaping (AvahiError) -> Void) {
        self.logger = logger
        self.onFailure = onFailure
        machine = StateMachine(limits: StateMachine.Limits(openResolvers: openResolvers), now: .now)
        timer = QueueTimer(queue: queue) { [unowned self] in
            for sighting in machine.movedOn(now: .now) where resolvers[sighting] != nil {
                resolvers[sighting] = nil
                resolve(sighting)
            }
            for (sighting, action) in machine.unfollowed(now: .now) { obey(action, for: sighting) }
            tell(machine.tick(now: .now))
        }
        setTimer()
    }

    var hasListeners: Bool { !listeners.isEmpty }

    /// Tells a new listener what is known already, then what comes.
    func add(_ listener: DiscoveryEvents.Feed, id: UInt64) {
        for hint in machine.hints { listener.yield(.appeared(hint)) }
        if machine.settled { listener.yield(.settled) }
        listeners[id] = listener
    }

    func removeListener(_ id: UInt64) {
        listeners[id] = nil
    }

    func tell(_ events: [DiscoveryEvent]) {
        for event in events {
            for listener in listeners.values { listener.yield(event) }
        }
        setTimer()
    }

    private func setTimer() {
        if let deadline = machine.deadline {
            timer?.set(after: deadline - .now)
        } else {
            timer?.unset()
        }
    }

    // MARK: The connection

    /// Browses on these interfaces and no others.
    func browse(through connection: any AvahiConnection, on interfaces: [Int32]) {
        if self.connection == nil { machine.resumed(now: .now) }
        self.connection = connection
        for interface in browsers.keys where !interfaces.contains(interface) {
            browsers[interface] = nil
            starting.remove(interface)
            for sighting in machine.sightings(on: interface) { gone(sighting) }
        }
        for interface in interfaces where browsers[interface] == nil {
            starting.insert(interface)
            do throws(AvahiError) {
                browsers[interface] = try connection.browse(interface: interface) { [unowned self] report in
                    received(report, from: interface)
                }
            } catch {
                starting.remove(interface)
                onFailure(error)
            }
        }
        setTimer()
    }

    func disconnect() {
        guard connection != nil else { return }
        browsers = [:]
        resolvers = [:]
        resolvedOnce = []
        waiting = []
        starting = []
        connection = nil
        machine.lost(now: .now)
        setTimer()
    }

    // MARK: Reports

    private func received(_ report: BrowserReport, from interface: Int32) {
        switch report {
        case .seen(let sighting):
            obey(machine.seen(sighting), for: sighting)
            if let event = machine.crowding() { tell([event]) }
        case .gone(let sighting):
            gone(sighting)
        case .allForNow:
            starting.remove(interface)
            if starting.isEmpty { tell(machine.allTold(now: .now)) }
        case .failed(let error):
            onFailure(error)
        }
    }

    /// A host has answered a question of our own.
    func answered(_ sighting: Sighting, _ resolution: Resolution) {
        guard connection != nil, let event = machine.answered(sighting, resolution, now: .now) else { return }
        tell([event])
        if let event = machine.crowding() { tell([event]) }
    }

    private func gone(_ sighting: Sighting) {
        let gone = machine.gone(sighting)
        resolvers[sighting] = nil
        if resolvedOnce.remove(sighting) != nil { resolveWaiting() }
        tell(gone.events)
        if let event = machine.crowding() { tell([event]) }
    }

    private func resolve(_ sighting: Sighting) {
        guard let connection else { return }
        do throws(AvahiError) {
            resolvers[sighting] = try connection.resolve(sighting) { [unowned self] report in
                switch report {
                case .found(let resolution): obey(machine.resolved(sighting, resolution, now: .now))
                case .failed: obey(machine.unresolved(sighting))
                }
                if !machine.knows(sighting) { resolvers[sighting] = nil }
                if resolvedOnce.remove(sighting) != nil {
                    resolvers[sighting] = nil
                    resolveWaiting()
                }
            }
        } catch {
            // A stranger's name that cannot be looked up, or too many objects: this instance stays unknown.
            logger.debug("cannot resolve an instance", metadata: ["error": "\(error)"])
            resolvedOnce.remove(sighting)
            machine.released(sighting)
            obey(machine.unresolved(sighting))
        }
    }

    private func resolveWaiting() {
        while resolvedOnce.count < Self.resolvedOnceAtATime, let sighting = waiting.popLast() {
            guard machine.knows(sighting), resolvers[sighting] == nil else { continue }
            resolvedOnce.insert(sighting)
            resolve(sighting)
        }
    }

    private func obey(_ action: StateMachine.OnSeen, for sighting: Sighting) {
        switch action {
        case .resolve: resolve(sighting)
        case .resolveOnce:
            waiting.append(sighting)
            resolveWaiting()
        case .tell(let event): tell([event])
        case .nothing: break
        }
    }

    private func obey(_ action: StateMachine.OnResolved) {
        switch action {
        case .tell(let event): tell([event])
        case .nothing: break
        }
        tell(machine.tick(now: .now))
    }
}
