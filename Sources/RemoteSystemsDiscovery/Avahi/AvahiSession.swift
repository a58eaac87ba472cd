// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization

/// Everything one ``AvahiDiscovery`` does with Avahi: one connection, one browse, any number of announcements. It lives while
/// there is something to do, and starts anew afterwards.
///
/// The actor runs on the queue on which Avahi calls back, so no lock is needed and no object of Avahi's is touched elsewhere.
actor AvahiSession {
    private nonisolated let executor = QueueExecutor(label: "remote-systems.discovery.avahi")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private nonisolated let chosen = Mutex<AvahiDiscovery.Selection?>(nil)
    private let mode: AvahiDiscovery.Mode
    private let allowed: AvahiDiscovery.Interfaces
    private let asksDirectly: Bool
    private let logger: Logger

    private var loop: AvahiEventLoop?
    private var monitor: NetworkMonitor?
    private var retry: QueueTimer?
    private var backoff = Backoff(first: .milliseconds(50), longest: .seconds(5))
    private var connection: (any AvahiConnection)?
    private var isReady = false
    private var attempt: UInt64 = 0

    private var browse: AvahiBrowse?
    /// By interface: those on which was asked since browsing began there.
    private var questions: [Int32: OneShotQuery] = [:]
    private var advertisers: [UInt64: AvahiAdvertiser] = [:]
    private var troubles: [DiscoveryProblem.Code: DiscoveryProblem] = [:]
    private var lastID: UInt64 = 0

    init(mode: AvahiDiscovery.Mode, interfaces: AvahiDiscovery.Interfaces, asksDirectly: Bool = true, logger: Logger) {
        self.mode = mode
        self.allowed = interfaces
        self.asksDirectly = asksDirectly
        self.logger = logger
    }

    /// A session of its own that hears only what is said to all.
    nonisolated func listening() -> AvahiSession {
        AvahiSession(mode: mode, interfaces: allowed, asksDirectly: false, logger: logger)
    }

    /// Which Avahi is used, once that is known.
    nonisolated var selection: AvahiDiscovery.Selection? { chosen.withLock { $0 } }

    // MARK: What users of the source do

    /// Adds a listener without waiting. Steps onto the queue are in order, so its end cannot overtake its beginning.
    nonisolated func addListener(_ listener: DiscoveryEvents.Feed) {
        executor.queue.async {
            self.assumeIsolated { session in
                let id = session.add(listener)
                listener.onEnd { [executor = session.executor] in
                    executor.queue.async { session.assumeIsolated { $0.removeListener(id) } }
                }
            }
        }
    }

    private func add(_ listener: DiscoveryEvents.Feed) -> UInt64 {
        lastID += 1
        start()
        let browse = browse ?? makeBrowse()
        for trouble in troubles.values { listener.yield(.trouble(trouble)) }
        browse.add(listener, id: lastID)
        return lastID
    }

    private func removeListener(_ id: UInt64) {
        browse?.removeListener(id)
        if browse?.hasListeners == false {
            browse?.disconnect()
            browse = nil
            questions = [:]
        }
        stopIfIdle()
    }

    /// Announces until ``endAdvertising(_:)`` is called with the result.
    func beginAdvertising(_ advertisement: DiscoveryAdvertisement) -> UInt64 {
        lastID += 1
        start()
        let advertiser = AvahiAdvertiser(
            advertisement,
            queue: executor.queue,
            logger: logger,
            onProblem: { self.begin($0) },
            onRecovered: { self.end($0) }
        )
        advertisers[lastID] = advertiser
        update(advertiser)
        return lastID
    }

    /// Withdraws an announcement and returns when the goodbye is on its way.
    func endAdvertising(_ id: UInt64) async {
        advertisers.removeValue(forKey: id)?.disconnect()
        stopIfIdle()
        guard connection is EmbeddedConnection else { return }
        // The embedded stack sends it on a later turn of its loop; the process may be about to end.
        let queue = executor.queue
        await withCheckedContinuation { continuation in
            queue.asyncAfter(deadline: .now() + .milliseconds(20)) { continuation.resume() }
        }
    }

    /// Finds out which Avahi would be used now, for a diagnosis.
    func select() -> AvahiDiscovery.Selection {
        if connection != nil, let selection { return selection }
        let loop = AvahiEventLoop(queue: executor.queue)
        return choose(loop: loop)
    }

    // MARK: Life

    private func start() {
        guard loop == nil else { return }
        let loop = AvahiEventLoop(queue: executor.queue)
        self.loop = loop
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
        loop = nil
        monitor = nil
        retry = nil
        troubles = [:]
        backoff.reset()
    }

    private func makeBrowse() -> AvahiBrowse {
        let isDaemon = connection is DaemonConnection
        let browse = AvahiBrowse(
            queue: executor.queue,
            openResolvers: isDaemon ? DaemonConnection.openResolvers : 4 * DiscoveryLimits.hints,
            logger: logger,
            onFailure: { self.browseFailed($0) }
        )
        self.browse = browse
        updateBrowse()
        return browse
    }

    // MARK: The connection

    private func choose(loop: AvahiEventLoop) -> AvahiDiscovery.Selection {
        let selection: AvahiDiscovery.Selection
        switch mode.value {
        case .daemon:
            selection = .init(backend: .daemon, reason: "the daemon was asked for")
        case .embedded:
            selection = .init(backend: .embedded, reason: "the embedded stack was asked for")
        case .automatic where allowed.isLoopbackOnly:
            selection = .init(
                backend: .embedded,
                reason: "only the loopback interface may be used, which a daemon does not promise"
            )
        case .automatic:
            do throws(AvahiError) {
                let trial = try DaemonConnection(loop: loop, waitsForDaemon: false) { _ in }
                try trial.start()
                selection = .init(
                    backend: .daemon,
                    reason: "avahi-daemon answers on the system bus",
                    version: trial.version
                )
            } catch {
                selection = .init(backend: .embedded, reason: "no avahi-daemon answers on the system bus: \(error)")
            }
        }
        chosen.withLock { $0 = selection }
        return selection
    }

    private func connect() {
        guard let loop, connection == nil else { return }
        attempt += 1
        let attempt = attempt
        // A daemon that was once chosen is waited for; a stack that failed is chosen anew.
        var selection = selection ?? choose(loop: loop)
        if selection.backend == .embedded { selection = choose(loop: loop) }
        do throws(AvahiError) {
            let connection: any AvahiConnection
            switch selection.backend {
            case .daemon:
                connection = try DaemonConnection(loop: loop, waitsForDaemon: true) {
                    self.received($0, attempt: attempt)
                }
            case .embedded:
                connection = try embeddedConnection(loop) { self.received($0, attempt: attempt) }
            }
            self.connection = connection
            try connection.start()
        } catch {
            lost(error, selection.backend)
        }
    }

    private func embeddedConnection(
        _ loop: AvahiEventLoop,
        report: @escaping (ConnectionReport) -> Void
    ) throws(AvahiError) -> EmbeddedConnection {
        try EmbeddedConnection(
            loop: loop,
            interfaces: allowed.names,
            usesIPv6: !allowed.isLoopbackOnly,
            logger: logger,
            report: report
        )
    }

    private func received(_ report: ConnectionReport, attempt: UInt64) {
        guard attempt == self.attempt else { return }
        switch report {
        case .ready:
            backoff.reset()
            end(.daemonUnavailable)
            end(.stackUnavailable)
            isReady = true
            update()
        case .waiting:
            begin(.daemonUnavailable)
        case .lost(let error):
            // Avahi forbids to free a connection while it calls back.
            executor.queue.async {
                self.assumeIsolated { session in
                    if attempt == session.attempt { session.lost(error) }
                }
            }
        }
    }

    private func lost(_ error: AvahiError, _ backend: AvahiDiscovery.Selection.Backend) {
        isReady = false
        questions = [:]
        browse?.disconnect()
        for advertiser in advertisers.values { advertiser.disconnect() }
        connection = nil
        switch backend {
        case .daemon: begin(error.missing.map(DiscoveryProblem.libraryMissing) ?? .daemonUnavailable)
        case .embedded: begin(error.missing.map(DiscoveryProblem.libraryMissing) ?? .stackUnavailable(error))
        }
        retry?.set(after: backoff.next())
    }

    private func lost(_ error: AvahiError) {
        lost(error, connection is EmbeddedConnection ? .embedded : .daemon)
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
        guard let monitor, isReady, let connection, let browse else { return }
        browse.browse(through: connection, on: scopes(usableInterfaces(monitor)) ?? [anyInterface])
        if asksDirectly { ask(on: usableInterfaces(monitor), for: browse) }
    }

    /// Asks on interfaces that are new, where a daemon would ask too.
    private func ask(on interfaces: [NetworkInterface], for browse: AvahiBrowse) {
        var settings = AvahiDaemonSettings()
        if connection is DaemonConnection { settings = .read() ?? settings }
        if allowed.isLoopbackOnly { settings.usesIPv6 = false }
        questions = questions.filter { index, _ in interfaces.contains { $0.index == index } }
        for interface in interfaces where questions[interface.index] == nil && settings.uses(interface.name) {
            questions[interface.index] = OneShotQuery(
                on: interface,
                families: settings.families,
                queue: executor.queue
            ) { [unowned browse] in browse.answered($0, $1) }
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
        allowed.names != nil && connection is DaemonConnection ? usable.map(\.index) : nil
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
