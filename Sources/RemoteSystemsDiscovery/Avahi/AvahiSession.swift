// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Logging
import Synchronization

/// The Avahi state of one ``AvahiDiscovery``: one connection, one browse, any number of advertisements. The connection
/// is open while there is a browse or an advertisement.
///
/// Avahi itself runs on another queue (``AvahiWorker``), and nothing here waits for it. So responses to our own query
/// are read while Avahi is busy.
actor AvahiSession {
    private nonisolated let executor = QueueExecutor(label: "remote-systems.discovery")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// The maximum time that stopping an advertisement waits for the withdrawal.
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
    /// The queries of this browse, by interface index.
    private var questions: [Int32: OneShotQuery] = [:]
    /// The timer that repeats the query. A daemon whose cache is nearly full is busy with other hosts' packets and
    /// loses advertisements.
    private var crowdTimer: QueueTimer?
    private var crowdBackoff = Backoff(first: .seconds(1), longest: .seconds(600))
    /// Receive announcements beside Avahi while the network is crowded, by interface index.
    private var announcements: [Int32: AnnouncementListener] = [:]
    private var advertisers: [UInt64: AvahiAdvertiser] = [:]
    private var troubles: [DiscoveryProblem.Code: DiscoveryProblem] = [:]
    private var lastAdvertiserID: UInt64 = 0

    private var allowed: AvahiDiscovery.Interfaces { options.interfaces }
    private var logger: Logger { options.logger }

    init(mode: AvahiDiscovery.Mode, interfaces: AvahiDiscovery.Interfaces, asksDirectly: Bool = true, logger: Logger) {
        self.options = AvahiWorker.Options(mode: mode, interfaces: interfaces, logger: logger)
        self.asksDirectly = asksDirectly
    }

    /// A new session that sends no one-shot query, so it receives multicast only.
    nonisolated func listening() -> AvahiSession {
        AvahiSession(mode: options.mode, interfaces: options.interfaces, asksDirectly: false, logger: options.logger)
    }

    nonisolated func allows(_ interface: String) -> Bool { options.interfaces.contains(interface) }

    /// The Avahi that is used; `nil` until it is selected.
    nonisolated var selection: AvahiDiscovery.Selection? { chosen.withLock { $0 } }

    nonisolated var identity: DiscoverySourceIdentity {
        let interfaces = options.interfaces.names?.sorted().joined(separator: ",") ?? "*"
        return DiscoverySourceIdentity("avahi \(options.mode.value) \(interfaces) \(asksDirectly)")
    }

    // MARK: Browsing and advertising

    /// Adds a listener without waiting. Steps run on the queue in order, so a listener is never removed before it is
    /// added.
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
    ) -> ListenerID {
        start()
        let browse = browse ?? makeBrowse()
        for trouble in troubles.values { listener.yield(.trouble(trouble)) }
        return browse.add(listener, isRelevant: isRelevant)
    }

    private func removeListener(_ id: ListenerID) {
        browse?.removeListener(id)
        if browse?.hasListeners == false {
            browse?.disconnect()
            browse = nil
            questions = [:]
            crowdTimer = nil
            announcements = [:]
        }
        stopIfIdle()
    }

    /// Advertises until ``endAdvertising(_:)`` is called with the result.
    func beginAdvertising(
        _ advertisement: DiscoveryAdvertisement,
        reporting report: @escaping @Sendable (Bool) -> Void
    ) -> UInt64 {
        lastAdvertiserID += 1
        start()
        let advertiser = AvahiAdvertiser(
            advertisement,
            queue: executor.queue,
            logger: logger,
            onProblem: { self.begin($0) },
            onRecovered: { self.endProblem($0) },
            onEffect: report
        )
        advertisers[lastAdvertiserID] = advertiser
        update(advertiser)
        return lastAdvertiserID
    }

    /// Withdraws an advertisement. Returns when the goodbye packet is sent, or after ``withdrawing``.
    func endAdvertising(_ id: UInt64) async {
        guard let advertiser = advertisers.removeValue(forKey: id) else { return }
        let worker = isReady ? connection?.worker : nil
        advertiser.disconnect()
        for code in advertiser.troubles { endProblem(code) }
        stopIfIdle()
        if let worker { await withdrawn(by: worker) }
    }

    /// Waits until the worker has performed all queued actions, for at most ``withdrawing``. It waits in a cancelled
    /// task, too.
    private func withdrawn(by worker: AvahiWorker) async {
        // The embedded stack sends the goodbye on a later turn of its loop, and the process may be about to exit.
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

    /// Resumes a continuation once, at the first of several events.
    private final class Wait: Sendable {
        private let continuation: Mutex<CheckedContinuation<Void, Never>?>

        init(_ continuation: CheckedContinuation<Void, Never>) {
            self.continuation = Mutex(continuation)
        }

        func end() {
            continuation.withLock { $0.take() }?.resume()
        }
    }

    /// Returns which Avahi would be used now, for a diagnosis.
    func select() async -> AvahiDiscovery.Selection {
        if connection != nil, let selection { return selection }
        let selection = await AvahiWorker(options) { _ in }.select()
        chosen.withLock { $0 = selection }
        return selection
    }

    // MARK: Life cycle

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
        // The session waits for a daemon that was chosen before. After a failure of the embedded stack, it chooses
        // again.
        connection.open(selection.flatMap { $0.backend == .daemon ? $0 : nil })
    }

    private func received(_ report: AvahiWorker.Report, attempt: UInt64) {
        guard attempt == self.attempt else { return }
        switch report {
        case .selected(let selection):
            chosen.withLock { $0 = selection }
            // The selected Avahi may not be the daemon whose settings were applied so far.
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
        // Queries that started before there was a connection go on.
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

    /// Applies the state of the connection and the interfaces to the browse and the advertisements.
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
        // The query is sent first, without waiting for the connection, which takes seconds while a daemon is busy.
        if asksDirectly {
            ask(on: usable, for: browse)
            listen(on: usable, for: browse)
        }
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
        updateBrowse()
        guard isCrowded else { return }
        crowdBackoff.reset()
        crowdTimer = QueueTimer(queue: executor.queue) { self.askCrowd() }
        setCrowdTimer()
    }

    /// The delay is random, so that the hosts of a crowded network do not all send queries at once.
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

    /// Sends a query on interfaces that are new and that the daemon would use, too.
    private func ask(
        on interfaces: [NetworkInterface],
        for browse: AvahiBrowse,
        moments: [Duration] = OneShotQuery.repeatedly
    ) {
        questions = questions.filter { index, _ in interfaces.contains { $0.index == index } }
        let new = interfaces.filter { questions[$0.index] == nil }
        // After a loss of the connection, known instances are kept until it is restored.
        guard !new.isEmpty, isReady || !browse.wasConnected else { return }
        let settings = settings
        for interface in new where settings.uses(interface.name) {
            questions[interface.index] = OneShotQuery(
                on: interface,
                families: settings.families,
                moments: moments,
                queue: executor.queue
            ) { [unowned browse] in
                // Avahi has missed this instance and may be missing others.
                if browse.answered($0, $1) { self.askCrowdSooner() }
            }
        }
    }

    /// Receives announcements on the interfaces while the network is crowded.
    private func listen(on interfaces: [NetworkInterface], for browse: AvahiBrowse) {
        guard browse.isCrowded else { return announcements = [:] }
        announcements = announcements.filter { index, _ in interfaces.contains { $0.index == index } }
        let settings = settings
        for interface in interfaces where announcements[interface.index] == nil && settings.uses(interface.name) {
            announcements[interface.index] = AnnouncementListener(
                on: interface,
                families: settings.families,
                queue: executor.queue
            ) { [unowned browse] in browse.announced($0, $1) }
        }
    }

    /// The settings of the daemon in use, or those of the embedded stack.
    private var settings: AvahiDaemonSettings {
        var settings = AvahiDaemonSettings()
        let isEmbedded = selection.map { $0.backend == .embedded } ?? (options.mode == .embedded)
        if !isEmbedded, !allowed.isLoopbackOnly { settings = .read() ?? settings }
        if allowed.isLoopbackOnly { settings.usesIPv6 = false }
        return settings
    }

    private func update(_ advertiser: AvahiAdvertiser) {
        guard let monitor, isReady, let connection else { return }
        let usable = usableInterfaces(monitor)
        advertiser.publish(through: connection, on: usable, scopes: scopes(usable) ?? [nil])
    }

    private func usableInterfaces(_ monitor: NetworkMonitor) -> [NetworkInterface] {
        monitor.interfaces.filter { allowed.contains($0.name) && $0.canMulticast && !$0.addresses.isEmpty }
    }

    /// The interfaces that must be named to Avahi one by one; nil if Avahi may use all its own. The embedded stack uses
    /// only the allowed interfaces, or all if the list of them is empty; a daemon must be given each.
    private func scopes(_ usable: [NetworkInterface]) -> [Int32]? {
        guard let names = allowed.names, names.isEmpty || selection?.backend == .daemon else { return nil }
        return usable.map(\.index)
    }

    // MARK: Problems

    private func begin(_ trouble: DiscoveryProblem) {
        guard troubles[trouble.code] != trouble else { return }
        troubles[trouble.code] = trouble
        logger.notice("discovery has a problem", metadata: ["trouble": "\(trouble)"])
        browse?.emit([.trouble(trouble)])
    }

    /// Ends a problem of an advertisement, unless another one has it, too.
    private func endProblem(_ code: DiscoveryProblem.Code) {
        guard !advertisers.values.contains(where: { $0.troubles.contains(code) }) else { return }
        end(code)
    }

    private func end(_ code: DiscoveryProblem.Code) {
        guard troubles.removeValue(forKey: code) != nil else { return }
        logger.notice("discovery has recovered from a problem", metadata: ["from": "\(code)"])
        browse?.emit([.recovered(code)])
    }
}

extension DiscoveryProblem {
    static let daemonUnavailable = DiscoveryProblem(
        code: .daemonUnavailable,
        message: "avahi-daemon does not respond on the system bus.",
        advice: "Start it (systemctl start avahi-daemon) or use the embedded stack. Discovery retries automatically.",
        recoversByItself: true
    )

    static func libraryMissing(_ library: String) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .stackUnavailable,
            message: "\(library) is not installed.",
            advice: "Install libavahi-core7 for the embedded stack, libavahi-client3 for avahi-daemon. "
                + "Discovery retries automatically.",
            recoversByItself: true
        )
    }

    static func stackUnavailable(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .stackUnavailable,
            message: "The embedded mDNS stack does not work: \(error).",
            advice: (error.lacksFiles
                ? "Raise the limit (ulimit -n, LimitNOFILE=)."
                : "Check whether another program uses UDP port 5353 exclusively (ss -ulpn).")
                + " Discovery retries automatically.",
            recoversByItself: true
        )
    }

    static func browseFailed(_ error: AvahiError) -> DiscoveryProblem {
        DiscoveryProblem(
            code: .browseFailed,
            message: "Avahi ended the browse: \(error).",
            advice: "Discovery retries automatically.",
            recoversByItself: true
        )
    }

    static func noInterface(_ allowed: AvahiDiscovery.Interfaces) -> DiscoveryProblem {
        let which =
            allowed.names.map { "None of the allowed interfaces (\($0.joined(separator: ", ")))" } ?? "No interface"
        return DiscoveryProblem(
            code: .noInterface,
            message: "\(which) is up with an address.",
            advice: "Bring one up. Discovery detects it automatically.",
            recoversByItself: true
        )
    }
}
