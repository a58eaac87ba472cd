// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization

/// Everything one ``AvahiDiscovery`` does with Avahi: one connection, one browse, any number of announcements. It lives while
/// there is something to do, and starts anew afterwards.
///
/// Avahi itself works on another queue (``AvahiWorker``), for which nothing here waits: responses to our own question
/// are read while it is busy.
actor AvahiSession {
    private nonisolated let executor = QueueExecutor(label: "remote-systems.discovery")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// How long a host that ends waits at most for its announcement to be withdrawn.
    private static let withdrawing = DispatchTimeInterval.milliseconds(300)

    private nonisolated let chosen = Mutex<AvahiDiscovery.Selection?>(nil)
    private nonisolated let options: AvahiWorker.Options
    private nonisolated let asksDirectly: Bool

    private var monitor: NetworkMonitor?
    private var retry: QueueTimer?
    private var backoff = Backoff(first: .milliseconds(50), longest: .seconds(5))
    private var connection: AvahiLink?
    private var isReady = false
    private var attempt: UInt64 = 0

    private var browse: AvahiBrowse?
    /// By interface: those on which was asked since browsing began there.
    private var questions: [Int32: OneShotQuery] = [:]
    /// When to ask again. A daemon whose cache is nearly full is busy with others' packets and loses announcements.
    private var crowdTimer: QueueTimer?
    private var crowdBackoff = Backoff(first: .seconds(5), longest: .seconds(600))
    private var advertisers: [UInt64: AvahiAdvertiser] = [:]
    private var troubles: [DiscoveryProblem.Code: DiscoveryProblem] = [:]
    private var lastID: UInt64 = 0

    private var allowed: AvahiDiscovery.Interfaces { options.interfaces }
    private var logger: Logger { options.logger }

    init(mode: AvahiDiscovery.Mode, interfaces: AvahiDiscovery.Interfaces, asksDirectly: Bool = true, logger: Logger) {
        self.options = AvahiWorker.Options(mode: mode, interfaces: interfaces, logger: logger)
        self.asksDirectly = asksDirectly
    }

    /// A session of its own that hears only what is said to all.
    nonisolated func listening() -> AvahiSession {
        AvahiSession(mode: options.mode, interfaces: options.interfaces, asksDirectly: false, logger: options.logger)
    }

    /// Whether an interface may be used.
    nonisolated func allows(_ interface: String) -> Bool { options.interfaces.contains(interface) }

    /// Which Avahi is used, once that is known.
    nonisolated var selection: AvahiDiscovery.Selection? { chosen.withLock { $0 } }

    nonisolated var identity: DiscoverySourceIdentity {
        let interfaces = options.interfaces.names?.sorted().joined(separator: ",") ?? "*"
        return DiscoverySourceIdentity("avahi \(options.mode.value) \(interfaces) \(asksDirectly)")
    }

    // MARK: What users of the source do

    /// Adds a listener without waiting. Steps onto the queue are in order, so its end cannot overtake its beginning.
    ///
    /// - Parameter isRelevant: Whether the listener follows changes of an instance.
    nonisolated func addListener(
        _ listener: DiscoveryEvents.Feed,
        isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool
    ) {
        executor.queue.async {
            self.assumeIsolated { session in
                let id = session.add(listener, isRelevant)
                listener.onEnd { [executor = session.executor] in
                    executor.queue.async { session.assumeIsolated { $0.removeListener(id) } }
                }
            }
        }
    }

    private func add(
        _ listener: DiscoveryEvents.Feed,
        _ isRelevant: @escaping @Sendable (DiscoveryHint) -> Bool
    ) -> UInt64 {
        lastID += 1
        start()
        let browse = browse ?? makeBrowse()
        for trouble in troubles.values { listener.yield(.trouble(trouble)) }
        browse.add(listener, id: lastID, isRelevant: isRelevant)
        return lastID
    }

    private func removeListener(_ id: UInt64) {
        browse?.removeListener(id)
        if browse?.hasListeners == false {
            browse?.disconnect()
            browse = nil
            questions = [:]
            crowdTimer = nil
        }
        stopIfIdle()
    }

    /// Announces until ``endAdvertising(_:)`` is called with the result.
    func beginAdvertising(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (Bool) -> Void
    ) -> UInt64 {
        lastID += 1
        start()
        let advertiser = AvahiAdvertiser(
            advertisement,
            queue: executor.queue,
            logger: logger,
            onProblem: { self.begin($0) },
            onRecovered: { self.end($0) },
            onEffect: report
        )
        advertisers[lastID] = advertiser
        update(advertiser)
        return lastID
    }

    /// Withdraws an announcement and returns when the goodbye is on its way, or has not got there in time.
    func endAdvertising(_ id: UInt64) async {
        guard let advertiser = advertisers.removeValue(forKey: id) else { return }
        let worker = isReady ? connection?.worker : nil
        advertiser.disconnect()
        stopIfIdle()
        if let worker { await withdrawn(by: worker) }
    }

    /// Waits until the worker has performed all requests, for a bounded time and even in a cancelled task.
    private func withdrawn(by worker: AvahiWorker) async {
        // The embedded stack sends it on a later turn of its loop; the process may be about to end.
        let isLater = selection?.backend == .embedded
        let queue = executor.queue
        await withCheckedContinuation { continuation in
            let wait = Wait(continuation)
            worker.perform { worker in
                if isLater { worker.perform(after: .milliseconds(20)) { wait.end() } } else { wait.end() }
            }
            queue.asyncAfter(deadline: .now() + Self.withdrawing) { wait.end() }
        }
    }

    /// Ends with the first of several reasons.
    private final class Wait: Sendable {
        private let continuation: Mutex<CheckedContinuation<Void, Never>?>

        init(_ continuation: CheckedContinuation<Void, Never>) {
            self.continuation = Mutex(continuation)
        }

        func end() {
            continuation.withLock { $0.take() }?.resume()
        }
    }

    /// Finds out which Avahi would be used now, for a diagnosis.
    func select() async -> AvahiDiscovery.Selection {
        if connection != nil, let selection { return selection }
        let selection = await AvahiWorker(options) { _ in }.select()
        chosen.withLock { $0 = selection }
        return selection
    }

    // MARK: Life

    private func start() {
        guard monitor == nil else { return }
        monitor = NetworkMonitor(queue: executor.queue) { _ in self.update() }
        retry = QueueTimer(queue: executor.queue) { self.connect() }
        connect()
        update()
    }

    private func stopIfIdle() {
        guard browse == nil, advertisers.isEmpty else { return }
        attempt += 1
        isReady = false
        connection = nil
        monitor = nil
        retry = nil
        troubles = [:]
        backoff.reset()
    }

    private func makeBrowse() -> AvahiBrowse {
        let browse = AvahiBrowse(
            queue: executor.queue,
            logger: logger,
            onFailure: { self.browseFailed($0) },
            onCrowding: { self.crowdingChanged($0) }
        )
        self.browse = browse
        updateBrowse()
        return browse
    }

    // MARK: The connection

    private func connect() {
        guard monitor != nil, connection == nil else { return }
        attempt += 1
        let worker = AvahiWorker(options) { [weak self, attempt] report in
            guard let self else { return }
            self.executor.queue.async { self.assumeIsolated { $0.received(report, attempt: attempt) } }
        }
        let connection = AvahiLink(worker)
        self.connection = connection
        // A daemon that was once chosen is waited for; a stack that failed is chosen anew.
        connection.open(selection.flatMap { $0.backend == .daemon ? $0 : nil })
    }

    private func received(_ report: AvahiWorker.Report, attempt: UInt64) {
        guard attempt == self.attempt else { return }
        switch report {
        case .selected(let selection):
            chosen.withLock { $0 = selection }
            // Perhaps not by the daemon whose settings were followed so far.
            updateBrowse()
        case .connection(let report): received(report)
        case .browser, .resolver, .publisher: connection?.deliver(report)
        }
    }

    private func received(_ report: ConnectionReport) {
        switch report {
        case .ready:
            backoff.reset()
            end(.daemonUnavailable)
            end(.stackUnavailable)
            isReady = true
            update()
        case .waiting: begin(.daemonUnavailable)
        case .lost(let error): lost(error)
        }
    }

    private func lost(_ error: AvahiError) {
        // What was asked before there was a connection goes on.
        if isReady { questions = [:] }
        isReady = false
        browse?.disconnect()
        for advertiser in advertisers.values { advertiser.disconnect() }
        connection = nil
        attempt += 1
        if selection?.backend == .embedded {
            begin(error.missing.map(DiscoveryProblem.libraryMissing) ?? .stackUnavailable(error))
        } else {
            begin(error.missing.map(DiscoveryProblem.libraryMissing) ?? .daemonUnavailable)
        }
        retry?.set(after: backoff.next())
    }

    private func browseFailed(_ error: AvahiError) {
        begin(.browseFailed(error))
        let attempt = attempt
        executor.queue.asyncAfter(deadline: .now() + .seconds(1)) {
            self.assumeIsolated { session in
                guard attempt == session.attempt, session.connection != nil else { return }
                session.end(.browseFailed)
                session.lost(error)
            }
        }
    }

    // MARK: Interfaces

    /// Brings browse and announcements in line with the connection and the interfaces.
    private func update() {
        guard let monitor else { return }
        let usable = usableInterfaces(monitor)
        if usable.isEmpty { begin(.noInterface(allowed)) } else { end(.noInterface) }
        updateBrowse()
        for advertiser in advertisers.values { update(advertiser) }
    }

    private func updateBrowse() {
        guard let monitor, let browse else { return }
        let usable = usableInterfaces(monitor)
        // First, and without waiting for the connection, which takes seconds while a daemon is busy.
        if asksDirectly { ask(on: usable, for: browse) }
        guard isReady, let connection else { return }
        let isDaemon = selection?.backend == .daemon
        browse.browse(
            through: connection,
            openResolvers: isDaemon ? DaemonConnection.openResolvers : 4 * DiscoveryLimits.hints,
            on: scopes(usable) ?? [anyInterface]
        )
    }

    private func crowdingChanged(_ isCrowded: Bool) {
        crowdTimer = nil
        guard isCrowded else { return }
        crowdBackoff.reset()
        crowdTimer = QueueTimer(queue: executor.queue) { self.askCrowd() }
        setCrowdTimer()
    }

    /// Spread, so that the members of a crowd do not all ask at once.
    private func setCrowdTimer() {
        crowdTimer?.set(after: crowdBackoff.next() * .random(in: 0.5...1.5))
    }

    private func askCrowdSooner() {
        guard crowdTimer != nil else { return }
        crowdBackoff.reset()
        setCrowdTimer()
    }

    private func askCrowd() {
        setCrowdTimer()
        guard asksDirectly, let monitor, let browse else { return }
        questions = [:]
        ask(on: usableInterfaces(monitor), for: browse, moments: OneShotQuery.once)
    }

    /// Asks on interfaces that are new, where a daemon would ask too.
    private func ask(
        on interfaces: [NetworkInterface],
        for browse: AvahiBrowse,
        moments: [Duration] = OneShotQuery.repeatedly
    ) {
        questions = questions.filter { index, _ in interfaces.contains { $0.index == index } }
        let new = interfaces.filter { questions[$0.index] == nil }
        // After a loss of the connection, what is known is kept until there is one again.
        guard !new.isEmpty, isReady || !browse.wasConnected else { return }
        var settings = AvahiDaemonSettings()
        let isEmbedded = selection.map { $0.backend == .embedded } ?? (options.mode == .embedded)
        if !isEmbedded, !allowed.isLoopbackOnly { settings = .read() ?? settings }
        if allowed.isLoopbackOnly { settings.usesIPv6 = false }
        for interface in new where settings.uses(interface.name) {
            questions[interface.index] = OneShotQuery(
                on: interface,
                families: settings.families,
                moments: moments,
                queue: executor.queue
            ) { [unowned browse] in
                // Avahi has missed it, and may be missing others.
                if browse.answered($0, $1) { self.askCrowdSooner() }
            }
        }
    }

    private func update(_ advertiser: AvahiAdvertiser) {
        guard let monitor, isReady, let connection else { return }
        let usable = usableInterfaces(monitor)
        advertiser.publish(through: connection, on: usable, scopes: scopes(usable) ?? [nil])
    }

    private func usableInterfaces(_ monitor: NetworkMonitor) -> [NetworkInterface] {
        monitor.interfaces.filter { allowed.contains($0.name) && $0.canMulticast && !$0.addresses.isEmpty }
    }

    /// The interfaces that must be named to Avahi one by one; nil when all are meant. The embedded stack keeps to the allowed ones
    /// by itself, the daemon must be told.
    private func scopes(_ usable: [NetworkInterface]) -> [Int32]? {
        allowed.names != nil && selection?.backend == .daemon ? usable.map(\.index) : nil
    }

    // MARK: Trouble

    private func begin(_ trouble: DiscoveryProblem) {
        guard troubles[trouble.code] != trouble else { return }
        troubles[trouble.code] = trouble
        logger.notice("discovery is in trouble", metadata: ["trouble": "\(trouble)"])
        browse?.emit([.trouble(trouble)])
    }

    private func end(_ code: DiscoveryProblem.Code) {
        guard troubles.removeValue(forKey: code) != nil else { return }
        logger.notice("discovery has recovered", metadata: ["from": "\(code)"])
        browse?.emit([.recovered(code)])
    }
}

extension DiscoveryProblem {
    static let daemonUnavailable = DiscoveryProblem(
        code: .daemonUnavailable,
        message: "avahi-daemon does not answer on the system bus.",
        advice: "Start it (systemctl start avahi-daemon), or choose the embedded stack. It is tried again by itself.",
        recoversByItself: true
    )

    static func libraryMissing(_ library: String) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .stackUnavailable,
            message: "\(library) is not installed.",
            advice:
                "Install libavahi-core7 for the embedded stack, libavahi-client3 for avahi-daemon. It is noticed by itself.",
            recoversByItself: true
        )
    }

    static func stackUnavailable(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .stackUnavailable,
            message: "the embedded mDNS stack does not work: \(error).",
            advice: (error.lacksFiles
                ? "Raise the limit (ulimit -n, LimitNOFILE=)."
                : "See whether another program holds UDP port 5353 for itself (ss -ulpn).")
                + " It is tried again by itself.",
            recoversByItself: true
        )
    }

    static func browseFailed(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .browseFailed,
            message: "Avahi ended the browse: \(error).",
            advice: "It is tried again by itself.",
            recoversByItself: true
        )
    }

    static func noInterface(_ allowed: AvahiDiscovery.Interfaces) -> DiscoveryProblem {
        let which =
            allowed.names.map { "None of the allowed interfaces (\($0.joined(separator: ", ")))" } ?? "No interface"
        return DiscoveryProblem(
            code: .noInterface,
            message: "\(which) is up with an address.",
            advice: "Bring one up; it is noticed by itself.",
            recoversByItself: true
        )
    }
}
