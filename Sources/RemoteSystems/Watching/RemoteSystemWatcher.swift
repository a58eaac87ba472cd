// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// Tells which systems of the account can be talked to, and when that changes.
///
/// A system is *added* when it has been connected to, has proved that it belongs to the account and has described
/// itself: what is listed is reachable. The watcher stays connected, so changes come at once; a system is *removed* within
/// a second when its process ends, and within 15 seconds when its network falls silent. Systems are told apart by id,
/// never by name; several processes of one machine are one system with several applications.
///
/// ```swift
/// let watcher = RemoteSystemWatcher(filters: [.kind(.desktop)])
/// watcher.onAdded { print("+", $0.displayName) }
/// watcher.onRemoved { print("-", $0.displayName) }
/// try await watcher.start()
/// ```
///
/// Listeners are called one after the other, in the order of events, from a task of the watcher's own. They stay
/// registered until cancelled, over stops and starts.
///
/// The watchers of a process that have the same state directory, network and discovery sources share one browse and one
/// connection to each process that they list; ``Options/silenceTime`` is then the shortest of theirs.
///
/// A watcher uses the network until it stops: by ``stop()``, when it is released, or when the last sequence of its
/// events ends (``events``).
public final class RemoteSystemWatcher: Sendable {
    /// How a watcher works.
    public struct Options: Sendable {
        /// At the latest after this time what was there at the start counts as told
        /// (``RemoteSystemEvent/enumerationCompleted``). Earlier, when discovery has settled and every system it found
        /// has been added or has failed to answer. Defaults to 2 s. Valid range: 0–1 h.
        public var enumerationTime = Duration.seconds(2)
        /// Silence after which a listed system counts as gone. Defaults to 12 s, which keeps `removed` below 15 s. Valid range:
        /// 1 s–1 h.
        public var silenceTime = Duration.seconds(12)
        /// Whether the watcher stops when the last sequence of its events ends and no listener is registered. Defaults
        /// to `true`. Set it to `false` for a watcher that runs until ``RemoteSystemWatcher/stop()``, for example
        /// because ``RemoteSystemWatcher/systems`` is needed after the loop.
        public var stopsWithLastSequence = true

        /// The defaults.
        public init() {}
    }

    private typealias Listener = @Sendable (RemoteSystemEvent) -> Void

    private struct State {
        var listeners: [(id: Int, listener: Listener)] = []
        var nextID = 0
        var feeds: [Int: CoalescingEvents<RemoteSystemEvent>.Feed] = [:]
        var task: Task<Void, Never>?
        var run: WatcherRun?
        /// Set from when the run is to end until its task has ended. Nothing is reported meanwhile.
        var isEnding = false
        var startTime: ContinuousClock.Instant?
        var systems: [RemoteSystem.ID: RemoteSystem] = [:]
        var hasEnumerated = false
        /// Whether a sequence that was read has ended in this run.
        var hasLostReader = false
    }

    private let filters: [RemoteSystemFilter]
    private let options: Options
    private let context: ApplicationContext
    private let state = Mutex(State())
    private let metrics: WatcherMetrics

    /// A watcher with the default configuration.
    ///
    /// - Parameter filters: which systems to tell of; none for every system.
    public convenience init(filters: [RemoteSystemFilter] = []) {
        self.init(RemoteSystemsConfiguration(applicationID: "watcher"), filters: filters)
    }

    /// A watcher with a configuration of its own.
    public convenience init(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = [],
        options: Options = Options()
    ) {
        self.init(ApplicationContext(configuration), filters: filters, options: options)
    }

    /// A watcher for the program that has the context.
    init(_ context: ApplicationContext, filters: [RemoteSystemFilter] = [], options: Options = Options()) {
        self.filters = filters
        self.options = options
        self.context = context
        self.metrics = WatcherMetrics(application: context.configuration.applicationID)
    }

    deinit {
        let (task, feeds, count) = self.state.withLock { ($0.task, $0.feeds, $0.systems.count) }
        task?.cancel()
        self.metrics.stopped(listing: count)
        for feed in feeds.values { feed.finish() }
    }

    // MARK: Running

    /// Starts watching. A watcher that has stopped can be started again; it then reports every system again as added.
    ///
    /// - Throws: ``RemoteSystemError`` when this system's account cannot be used, the watcher is running, or an option, a filter
    ///   or the configuration is not valid (``RemoteSystemError/Code/invalidArgument``).
    public func start() async throws(RemoteSystemError) {
        try self.options.validate()
        for filter in self.filters { try filter.validate() }
        // A run that was told to end by the last sequence may not have ended yet.
        if let ending = self.state.withLock({ $0.isEnding ? $0.task : nil }) { await self.finish(ending) }
        let run = try WatcherRun(
            context: self.context,
            filters: self.filters,
            options: self.options,
            metrics: self.metrics
        ) { [weak self] in self?.emit($0) }
        let isFirst = self.state.withLock { state in
            guard state.task == nil else { return false }
            state.task = Task(executorPreference: self.context.environment.taskExecutor) { [weak self] in
                await run.run()
                self?.ended(run)
            }
            state.run = run
            state.startTime = self.context.environment.time.now
            return true
        }
        guard isFirst else {
            throw RemoteSystemError(.misuse, "The watcher is running already.", side: .local)
        }
    }

    /// Stops watching. When it returns nothing more is sent on the network, and no listener is called any more; sequences
    /// of events end. Does nothing when the watcher is not running; waits when it is stopping already.
    public func stop() async {
        let (task, feeds) = self.state.withLock { state in
            let task = self.beginToEnd(&state) ?? state.task
            defer { if task != nil { state.feeds = [:] } }
            return (task, task == nil ? [:] : state.feeds)
        }
        guard let task else { return }
        await self.finish(task)
        for feed in feeds.values { feed.finish() }
    }

    /// - Returns: the task of the run that is to end; `nil` when there is none, or it is ending already.
    private func beginToEnd(_ state: inout State) -> Task<Void, Never>? {
        guard let task = state.task, !state.isEnding else { return nil }
        state.isEnding = true
        self.metrics.stopped(listing: state.systems.count)
        state.systems = [:]
        state.hasEnumerated = false
        state.hasLostReader = false
        return task
    }

    /// Ends the run of a task and waits for it.
    private func finish(_ task: Task<Void, Never>) async {
        task.cancel()
        await task.value
        self.state.withLock { state in
            // Somebody else may have waited for the same run, and the watcher may run again already.
            guard state.task == task else { return }
            state.task = nil
            state.run = nil
            state.isEnding = false
        }
    }

    /// A run is over, and unless it was told to end this system has left its account.
    private func ended(_ run: WatcherRun) {
        let feeds = self.state.withLock { state -> [Int: CoalescingEvents<RemoteSystemEvent>.Feed] in
            guard state.run === run, self.beginToEnd(&state) != nil else { return [:] }
            state.task = nil
            state.run = nil
            state.isEnding = false
            defer { state.feeds = [:] }
            return state.feeds
        }
        for feed in feeds.values { feed.finish() }
    }

    /// A sequence of events has no reader any more.
    private func sequenceEnded(_ id: Int, wasRead: Bool) {
        let task = self.state.withLock { state -> Task<Void, Never>? in
            // One that was ended by the watcher itself is none of its sequences any more.
            guard state.feeds.removeValue(forKey: id) != nil, state.task != nil else { return nil }
            if wasRead { state.hasLostReader = true }
            guard self.options.stopsWithLastSequence, state.hasLostReader, state.feeds.isEmpty,
                state.listeners.isEmpty
            else { return nil }
            return self.beginToEnd(&state)
        }
        guard let task else { return }
        // In a task of its own: the reader is being cancelled, or let go of, at this moment.
        Task(executorPreference: self.context.environment.taskExecutor) { await self.finish(task) }
    }

    /// The systems that are listed now, in no particular order. Empty while the watcher is stopped.
    public var systems: [RemoteSystem] {
        self.state.withLock { Array($0.systems.values) }
    }

    /// What the watcher has seen and does not list; nothing while it is stopped. Looked at when asked for, so it costs nothing else.
    ///
    /// ``RemoteSystemsDiagnosis/likelyReason(whyEmpty:)`` makes a sentence of it.
    public var unlisted: Unlisted {
        get async { await self.state.withLock { $0.run }?.unlisted ?? Unlisted() }
    }

    /// Whether it has been started and has not stopped yet.
    var isRunning: Bool { self.state.withLock { $0.task != nil } }

    /// What the watcher has counted since it was made.
    public var statistics: WatcherStatistics {
        var statistics = self.metrics.counts
        statistics.systems = self.state.withLock { $0.systems.count }
        return statistics
    }

    var network: RemoteSystemsConfiguration.Network { self.context.configuration.network }

    // MARK: Listening

    /// The events from now on, after an `added` for each system that is listed already. Each call makes a sequence of
    /// its own. See ``RemoteSystemEvents`` for what happens to slow readers.
    ///
    /// The sequence ends when the watcher stops, and the watcher stops when the sequence ends:
    ///
    /// ```swift
    /// func kitchen() async throws -> RemoteSystem? {
    ///     try await watcher.start()
    ///     for await case .added(let system) in watcher.events where system.displayName == "Kitchen" {
    ///         return system  // The watcher stops: nothing is sent on the network any more.
    ///     }
    ///     return nil
    /// }
    /// ```
    ///
    /// A sequence ends when its loop ends (by `break`, `return` or a thrown error), when its task is cancelled, or when
    /// it is released unread. The watcher then stops unless something else uses it: another sequence that has not
    /// ended, read or not yet, or a registered listener. It stops in the background; ``stop()`` waits until it has
    /// stopped, and ``start()`` may be called at once. A watcher of which no sequence was ever read runs until
    /// ``stop()``, and so does one with ``Options/stopsWithLastSequence`` set to `false`. Cancelling a listener never
    /// stops the watcher.
    ///
    /// In top-level code (`main.swift`) Swift keeps the iterator of a loop until the program ends, so leaving the loop is
    /// not noticed. Put the loop into a function there, or call ``stop()``.
    public var events: RemoteSystemEvents {
        let (events, feed) = CoalescingEvents<RemoteSystemEvent>.make(limit: .max) { nil }
        let reading = RemoteSystemEvents.Reading { feed.end() }
        let id = self.state.withLock { state -> Int in
            for system in state.systems.values { feed.yield(.added(system)) }
            if state.hasEnumerated { feed.yield(.enumerationCompleted) }
            state.nextID += 1
            state.feeds[state.nextID] = feed
            return state.nextID
        }
        feed.onEnd { [weak self] in self?.sequenceEnded(id, wasRead: reading.wasRead) }
        return RemoteSystemEvents(events: events, reading: reading)
    }

    /// Calls back for each system that is added.
    @discardableResult
    public func onAdded(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .added(let system) = $0 { listener(system) } }
    }

    /// Calls back for each change of a listed system.
    @discardableResult
    public func onUpdated(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .updated(let system) = $0 { listener(system) } }
    }

    /// Calls back for each system that is removed.
    @discardableResult
    public func onRemoved(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .removed(let system) = $0 { listener(system) } }
    }

    /// Calls back once after each start, when what was there has been told.
    @discardableResult
    public func onEnumerationCompleted(_ listener: @escaping @Sendable () -> Void) -> ListenerRegistration {
        self.add { if case .enumerationCompleted = $0 { listener() } }
    }

    /// Calls back when something keeps the watcher from seeing all there is.
    @discardableResult
    public func onError(_ listener: @escaping @Sendable (RemoteSystemWatcherError) -> Void) -> ListenerRegistration {
        self.add { if case .error(let error) = $0 { listener(error) } }
    }

    private func add(_ listener: @escaping Listener) -> ListenerRegistration {
        let id = self.state.withLock { state in
            state.nextID += 1
            state.listeners.append((state.nextID, listener))
            return state.nextID
        }
        return ListenerRegistration { [weak self] in
            self?.state.withLock { $0.listeners.removeAll { $0.id == id } }
        }
    }

    private func emit(_ event: RemoteSystemEvent) {
        let (listeners, startTime) = self.state.withLock {
            state -> ([(id: Int, listener: Listener)], ContinuousClock.Instant?) in
            guard !state.isEnding else { return ([], nil) }
            switch event {
            case .added(let system), .updated(let system): state.systems[system.id] = system
            case .removed(let system): state.systems[system.id] = nil
            case .enumerationCompleted: state.hasEnumerated = true
            case .error: break
            }
            // In the same lock as `events` takes its snapshot, so that no reader misses or hears twice.
            for feed in state.feeds.values { feed.yield(event) }
            return (state.listeners, state.startTime)
        }
        guard let startTime else { return }
        self.metrics.reported(event, sinceStart: self.context.environment.time.now - startTime)
        for (_, listener) in listeners { listener(event) }
    }
}
