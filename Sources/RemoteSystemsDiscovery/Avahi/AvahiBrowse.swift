// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// One browse with its resolvers, for any number of listeners. Confined to the session's queue; performs its state machine.
final class AvahiBrowse {
    private let logger: Logger
    private let onFailure: (AvahiError) -> Void
    private var machine: StateMachine
    private var timer: QueueTimer?
    private var connection: (any AvahiConnection)?
    private var listeners: [UInt64: DiscoveryEvents.Feed] = [:]
    private var browsers: [Int32: AnyObject] = [:]
    private var resolvers: [ServiceInstance: AnyObject] = [:]
    /// Sightings that are resolved once, a few at a time: a daemon allows only so many objects.
    private var resolvedOnce: Set<ServiceInstance> = []
    private var waiting: [ServiceInstance] = []
    private static let resolvedOnceAtATime = 64
    /// Browsers that have not yet told all they know from the start.
    private var starting: Set<Int32> = []

    /// - Parameter onFailure: Called when a browser failed and the connection is best made anew.
    init(queue: DispatchQueue, openResolvers: Int, logger: Logger, onFailure: @escaping (AvahiError) -> Void) {
        self.logger = logger
        self.onFailure = onFailure
        machine = StateMachine(limits: StateMachine.Limits(openResolvers: openResolvers), now: .now)
        timer = QueueTimer(queue: queue) { [unowned self] in
            for serviceInstance in machine.movedOn(now: .now) where resolvers[serviceInstance] != nil {
                resolvers[serviceInstance] = nil
                resolve(serviceInstance)
            }
            for (serviceInstance, action) in machine.unfollowed(now: .now) { perform(action, for: serviceInstance) }
            emit(machine.tick(now: .now))
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

    func emit(_ events: [DiscoveryEvent]) {
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
            for serviceInstance in machine.serviceInstances(on: interface) { gone(serviceInstance) }
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
        case .seen(let serviceInstance):
            perform(machine.seen(serviceInstance), for: serviceInstance)
            if let event = machine.crowding() { emit([event]) }
        case .gone(let serviceInstance):
            gone(serviceInstance)
        case .allForNow:
            starting.remove(interface)
            if starting.isEmpty { emit(machine.enumerationCompleted(now: .now)) }
        case .failed(let error):
            onFailure(error)
        }
    }

    /// A host has answered a question of our own.
    func answered(_ serviceInstance: ServiceInstance, _ resolution: Resolution) {
        guard connection != nil, let event = machine.answered(serviceInstance, resolution, now: .now) else { return }
        emit([event])
        if let event = machine.crowding() { emit([event]) }
    }

    private func gone(_ serviceInstance: ServiceInstance) {
        let gone = machine.gone(serviceInstance)
        resolvers[serviceInstance] = nil
        if resolvedOnce.remove(serviceInstance) != nil { resolveWaiting() }
        emit(gone.events)
        if let event = machine.crowding() { emit([event]) }
    }

    private func resolve(_ serviceInstance: ServiceInstance) {
        guard let connection else { return }
        do throws(AvahiError) {
            resolvers[serviceInstance] = try connection.resolve(serviceInstance) { [unowned self] report in
                switch report {
                case .found(let resolution): perform(machine.resolved(serviceInstance, resolution, now: .now))
                case .failed: perform(machine.unresolved(serviceInstance))
                }
                if !machine.knows(serviceInstance) { resolvers[serviceInstance] = nil }
                if resolvedOnce.remove(serviceInstance) != nil {
                    resolvers[serviceInstance] = nil
                    resolveWaiting()
                }
            }
        } catch {
            // A stranger's name that cannot be looked up, or too many objects: this instance stays unknown.
            logger.debug("cannot resolve an instance", metadata: ["error": "\(error)"])
            resolvedOnce.remove(serviceInstance)
            machine.released(serviceInstance)
            perform(machine.unresolved(serviceInstance))
        }
    }

    private func resolveWaiting() {
        while resolvedOnce.count < Self.resolvedOnceAtATime, let serviceInstance = waiting.popLast() {
            guard machine.knows(serviceInstance), resolvers[serviceInstance] == nil else { continue }
            resolvedOnce.insert(serviceInstance)
            resolve(serviceInstance)
        }
    }

    private func perform(_ action: StateMachine.OnSeen, for serviceInstance: ServiceInstance) {
        switch action {
        case .resolve: resolve(serviceInstance)
        case .resolveOnce:
            waiting.append(serviceInstance)
            resolveWaiting()
        case .emit(let event): emit([event])
        case .nothing: break
        }
    }

    private func perform(_ action: StateMachine.OnResolved) {
        switch action {
        case .emit(let event): emit([event])
        case .nothing: break
        }
        emit(machine.tick(now: .now))
    }
}
