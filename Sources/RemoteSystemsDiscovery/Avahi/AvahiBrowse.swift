// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging

/// One browse with its resolvers, for any number of listeners: performs the actions of its state machine. Confined to
/// the session's queue.
final class AvahiBrowse {
    private let logger: Logger
    private let onFailure: (AvahiError) -> Void
    private let onCrowding: (Bool) -> Void
    private var machine: StateMachine
    private var churn = ChurnMeter(now: .now)
    /// The value that `onCrowding` was last called with.
    private(set) var isCrowded = false
    private var timer: QueueTimer?
    private var connection: AvahiLink?
    private var listeners = ListenerTable<Listener>()
    private var browsers: [Int32: AnyObject] = [:]
    private var resolvers: [ServiceInstance: AnyObject] = [:]
    /// Service instances whose resolvers are requested next, the latest first: on a crowded network, the latest is
    /// probably the one that a user is waiting for. A busy daemon takes seconds for a request, and meanwhile other
    /// requests become unnecessary.
    private var waiting = ResolverQueue()
    /// The service instances whose resolvers are requested and have not started.
    private var starting: Set<ServiceInstance> = []
    private static let startingAtATime = 16
    /// The service instances that are resolved once, a few at a time, because a daemon limits the number of its
    /// objects.
    private var resolvedOnce: Set<ServiceInstance> = []
    private var waitingForOnce = ResolverQueue()
    private static let resolvedOnceAtATime = 64
    /// The interfaces whose browsers have not completed the initial enumeration.
    private var unsettled: Set<Int32> = []
    /// Whether there has been a connection to Avahi.
    private(set) var wasConnected = false

    private struct Listener {
        let feed: DiscoveryEvents.Feed
        let isRelevant: @Sendable (DiscoveryHint) -> Bool
    }

    /// Creates a browse without listeners.
    ///
    /// - Parameters:
    ///   - onFailure: Called when a browser failed. The connection should then be replaced.
    ///   - onCrowding: Called with `true` when an interface has so many services that Avahi may miss some, or when far
    ///     too many instances appear and vanish. Called with `false` when neither is so any more.
    init(
        queue: DispatchQueue,
        logger: Logger,
        onFailure: @escaping (AvahiError) -> Void,
        onCrowding: @escaping (Bool) -> Void
    ) {
        self.logger = logger
        self.onFailure = onFailure
        self.onCrowding = onCrowding
        machine = StateMachine(limits: StateMachine.Limits(openResolvers: 0), now: .now)
        timer = QueueTimer(queue: queue) { [unowned self] in
            for serviceInstance in machine.movedOn(now: .now) where resolvers[serviceInstance] != nil {
                resolvers[serviceInstance] = nil
                resolve(serviceInstance)
            }
            if connection != nil {
                for (serviceInstance, action) in machine.unfollowed(now: .now) { perform(action, for: serviceInstance) }
            }
            emit(machine.tick(now: .now))
            updateCrowding()
            if churn.end != nil { countChange(0) }
        }
        setTimer()
    }

    var hasListeners: Bool { !listeners.isEmpty }

    /// Adds a listener. It receives the known instances and problems first, then every event.
    ///
    /// - Parameter isRelevant: Whether the listener follows changes of an instance.
    /// - Returns: The id to pass to ``removeListener(_:)``.
    func add(
        _ listener: DiscoveryEvents.Feed,
        isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool
    ) -> ListenerID {
        for hint in machine.hints { listener.yield(.appeared(hint)) }
        if machine.settled { listener.yield(.settled) }
        for problem in problems { listener.yield(.trouble(problem)) }
        let id = listeners.add(Listener(feed: listener, isRelevant: isRelevant))
        for (serviceInstance, hint) in machine.irrelevant where isRelevant(hint) {
            perform(machine.becameRelevant(serviceInstance), for: serviceInstance)
        }
        return id
    }

    func removeListener(_ id: ListenerID) {
        _ = listeners.remove(id)
    }

    private func isRelevant(_ serviceInstance: ServiceInstance, _ resolution: Resolution) -> Bool {
        let hint = resolution.hint(of: serviceInstance)
        return listeners.all.contains { $0.isRelevant(hint) }
    }

    func emit(_ events: [DiscoveryEvent]) {
        for event in events {
            for listener in listeners.all { listener.feed.yield(event) }
        }
        setTimer()
    }

    private func setTimer() {
        if let deadline = [machine.deadline, churn.end].compactMap(\.self).min() {
            timer?.set(after: deadline - .now)
        } else {
            timer?.unset()
        }
    }

    // MARK: The connection

    /// Browses on exactly these interfaces, with at most this many open resolvers.
    func browse(through connection: AvahiLink, openResolvers: Int, on interfaces: [Int32]) {
        if self.connection == nil { machine.resumed(openResolvers: openResolvers, now: .now) }
        self.connection = connection
        wasConnected = true
        for interface in browsers.keys where !interfaces.contains(interface) {
            browsers[interface] = nil
            unsettled.remove(interface)
            for serviceInstance in machine.serviceInstances(on: interface) { gone(serviceInstance) }
        }
        for interface in interfaces where browsers[interface] == nil {
            unsettled.insert(interface)
            browsers[interface] = connection.browse(interface: interface) { [unowned self] report in
                received(report, from: interface)
            }
        }
        setTimer()
    }

    func disconnect() {
        guard connection != nil else { return }
        browsers = [:]
        resolvers = [:]
        waiting.removeAll()
        starting = []
        resolvedOnce = []
        waitingForOnce.removeAll()
        unsettled = []
        connection = nil
        machine.lost(now: .now)
        setTimer()
    }

    // MARK: Reports

    private func received(_ report: BrowserReport, from interface: Int32) {
        switch report {
        case .seen(let serviceInstance):
            if !machine.knows(serviceInstance) { countChange() }
            perform(machine.seen(serviceInstance), for: serviceInstance)
            updateCrowding()
        case .gone(let serviceInstance):
            countChange()
            gone(serviceInstance)
        case .allForNow:
            unsettled.remove(interface)
            if unsettled.isEmpty { emit(machine.enumerationCompleted(now: .now)) }
        case .failed(let error):
            unsettled.remove(interface)
            onFailure(error)
        }
    }

    /// Handles a host's response to a query of our own.
    ///
    /// - Returns: Whether the response contained a previously unknown instance that a listener follows.
    func answered(_ serviceInstance: ServiceInstance, _ resolution: Resolution) -> Bool {
        let isRelevant = isRelevant(serviceInstance, resolution)
        let isNews = isRelevant && !machine.knows(serviceInstance)
        let event = machine.answered(serviceInstance, resolution, isRelevant: isRelevant, now: .now)
        if !machine.needsResolver(serviceInstance) { stopResolving(serviceInstance) }
        if let event { emit([event]) }
        updateCrowding()
        return isNews
    }

    private func gone(_ serviceInstance: ServiceInstance) {
        let gone = machine.gone(serviceInstance)
        stopResolving(serviceInstance)
        emit(gone.events)
        updateCrowding()
    }

    /// Handles an announcement that this process has received itself. Only those that a listener follows count, however
    /// many others there are.
    func announced(_ serviceInstance: ServiceInstance, _ resolution: Resolution) {
        guard isRelevant(serviceInstance, resolution) else { return }
        _ = answered(serviceInstance, resolution)
    }

    /// The reported problems that are not over.
    private var problems: [DiscoveryProblem] {
        machine.problems + (churn.isFlooded ? [.announcementFlood] : [])
    }

    private func updateCrowding() {
        if let event = machine.crowding() { emit([event]) }
        let isCrowded = machine.isCrowded || churn.isFlooded
        guard isCrowded != self.isCrowded else { return }
        self.isCrowded = isCrowded
        onCrowding(isCrowded)
    }

    private func countChange(_ changes: Int = 1) {
        guard churn.count(changes, now: .now) else { return }
        emit([churn.isFlooded ? .trouble(.announcementFlood) : .recovered(.announcementFlood)])
        updateCrowding()
    }

    // MARK: Resolvers

    private func resolve(_ serviceInstance: ServiceInstance) {
        waiting.append(serviceInstance)
        startWaiting()
    }

    private func startWaiting() {
        while starting.count < Self.startingAtATime, let serviceInstance = waiting.popLast() {
            guard resolvers[serviceInstance] == nil, machine.needsResolver(serviceInstance) else { continue }
            startResolver(serviceInstance)
        }
        while resolvedOnce.count < Self.resolvedOnceAtATime, let serviceInstance = waitingForOnce.popLast() {
            guard resolvers[serviceInstance] == nil, machine.needsResolver(serviceInstance) else { continue }
            resolvedOnce.insert(serviceInstance)
            startResolver(serviceInstance)
        }
    }

    private func startResolver(_ serviceInstance: ServiceInstance) {
        guard let connection else { return }
        starting.insert(serviceInstance)
        resolvers[serviceInstance] = connection.resolve(serviceInstance) { [unowned self] report in
            received(report, about: serviceInstance)
        }
    }

    private func received(_ report: ResolverReport, about serviceInstance: ServiceInstance) {
        switch report {
        case .started:
            starting.remove(serviceInstance)
            return startWaiting()
        case .refused(let error):
            // The name cannot be looked up, or the daemon's objects are used up. The instance stays unknown.
            logger.debug("Avahi cannot resolve an instance", metadata: ["error": "\(error)"])
            machine.released(serviceInstance)
            perform(machine.unresolved(serviceInstance, now: .now))
        case .found(let resolution):
            let isRelevant = isRelevant(serviceInstance, resolution)
            perform(machine.resolved(serviceInstance, resolution, isRelevant: isRelevant, now: .now))
        case .failed:
            perform(machine.unresolved(serviceInstance, now: .now))
        }
        if resolvedOnce.contains(serviceInstance) { machine.released(serviceInstance) }
        if !machine.needsResolver(serviceInstance) { stopResolving(serviceInstance) }
    }

    private func stopResolving(_ serviceInstance: ServiceInstance) {
        waiting.remove(serviceInstance)
        waitingForOnce.remove(serviceInstance)
        guard resolvers.removeValue(forKey: serviceInstance) != nil else { return }
        starting.remove(serviceInstance)
        resolvedOnce.remove(serviceInstance)
        startWaiting()
    }

    private func perform(_ action: StateMachine.OnSeen, for serviceInstance: ServiceInstance) {
        switch action {
        case .resolve: resolve(serviceInstance)
        case .resolveOnce:
            waitingForOnce.append(serviceInstance)
            startWaiting()
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
        updateCrowding()
    }
}
