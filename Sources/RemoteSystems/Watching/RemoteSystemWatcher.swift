// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// Reports which systems of the account are available, and their changes.
///
/// A system is *added* when the watcher has connected to it and authenticated it as a system of the account, and the
/// system has described itself: every listed system is reachable. The watcher stays connected, so changes are reported
/// at once. A system is *removed* within one second when its process ends, and by default within 15 seconds when it
/// stops responding. Systems are identified by id, never by name. Several processes of one user on one machine are one
/// system with several applications.
///
/// ```swift
/// let watcher = RemoteSystemWatcher(filters: [.kind(.desktop)])
/// watcher.onAdded { print("+", $0.displayName) }
/// watcher.onRemoved { print("-", $0.displayName) }
/// try await watcher.start()
/// ```
///
/// Callbacks are called one at a time, in the order of the events, from a task of the watcher. They must not block,
/// because the watcher waits for them. They stay registered until cancelled, even when the watcher is stopped and
/// started again.
///
/// The watchers of a process that have the same state directory, network and discovery sources share one browse
/// operation and one connection to each process that they list. The shortest ``Options/silenceTime`` among them then
/// applies.
///
/// A watcher uses the network until it stops: by ``stop()``, when it is released, or when the last sequence of its
/// events ends (``events``).
public final class RemoteSystemWatcher: Sendable {
    /// The times of a watcher, and when it stops by itself.
    public struct Options: Sendable {
        /// The maximum time until ``RemoteSystemEvent/enumerationCompleted``. Defaults to 2 s. Valid range: 0–1 h.
        ///
        /// The event comes earlier when discovery has settled and every system that was found has been added or has
        /// failed to respond.
        public var enumerationTime = Duration.seconds(2)
        /// The time without any data from a listed system after which the system is removed. Defaults to 12 s, which
        /// reports the removal within 15 s. Valid range: 1 s–1 h.
        public var silenceTime = Duration.seconds(12)
        /// Whether the watcher stops when the last sequence of its events ends and no callback is registered. Defaults
        /// to `true`.
        ///
        /// Set it to `false` for a watcher that runs until ``RemoteSystemWatcher/stop()``, for example to read
        /// ``RemoteSystemWatcher/systems`` after the loop.
        public var stopsWithLastSequence = true

        /// Creates options with the default values.
        public init() {}
    }

    private typealias Listener = @Sendable (RemoteSystemEvent) -> Void

    private struct State {
        var listeners = ListenerTable<Listener>()
        var feeds = ListenerTable<CoalescingEvents<RemoteSystemEvent>.Feed>()
        var task: Task<Void, Never>?
        var run: WatcherRun?
        /// Whether the run is ending. Set until its task has ended; no events are reported meanwhile.
        var isEnding = false
        var startTime: ContinuousClock.Instant?
        var systems: [RemoteSystem.ID: RemoteSystem] = [:]
        var hasEnumerated = false
        /// Whether a sequence of events from which events were read has ended during this run.
        var hasLostReader = false
    }

    private let filters: [RemoteSystemFilter]
    private let options: Options
    private let topics: FollowedTopics
    private let context: ApplicationContext
    private let state = Mutex(State())
    private let metrics: WatcherMetrics

    /// Creates a watcher with the default configuration and options.
    ///
    /// - Parameter filters: the filters that choose which systems are reported; ``RemoteSystemFilter`` describes how
    ///   several filters combine. Defaults to no filter: every system of the account is reported.
    public convenience init(filters: [RemoteSystemFilter] = []) {
        self.init(RemoteSystemsConfiguration(applicationID: "watcher"), filters: filters)
    }

    /// Creates a watcher. ``start()`` checks the arguments and uses the network.
    ///
    /// - Parameters:
    ///   - configuration: this process's configuration.
    ///   - filters: the filters that choose which systems are reported; ``RemoteSystemFilter`` describes how several
    ///     filters combine. Defaults to no filter: every system of the account is reported.
    ///   - options: the watcher's times, and when it stops by itself. Defaults to `Options()`.
    public convenience init(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = [],
        options: Options = Options()
    ) {
        self.init(ApplicationContext(configuration), filters: filters, options: options)
    }

    /// Creates a watcher for the process of an application context.
    init(
        _ context: ApplicationContext,
        filters: [RemoteSystemFilter] = [],
        options: Options = Options(),
        topics: FollowedTopics = FollowedTopics()
    ) {
        self.filters = filters
        self.options = options
        self.topics = topics
        self.context = context
        self.metrics = WatcherMetrics(application: context.configuration.applicationID)
    }

    deinit {
        let (task, feeds, count) = self.state.withLock { ($0.task, $0.feeds.all, $0.systems.count) }
        task?.cancel()
        self.metrics.stopped(listing: count)
        for feed in feeds { feed.finish() }
    }

    // MARK: Running

    /// Starts watching. A stopped watcher can be started again; it then reports every system again as added.
    ///
    /// Returns before any system is reported.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when this system's account cannot be
    ///   used or was left (its cause then has ``IdentityError/Code/accountLeft``), with
    ///   ``RemoteSystemError/Code/misuse`` when the watcher is running, with
    ///   ``RemoteSystemError/Code/invalidArgument`` when an option, a filter or the configuration is not valid.
    public func start() async throws(RemoteSystemError) {
        try self.options.validate()
        for filter in self.filters { try filter.validate() }
        // A run that ends because its last sequence ended may not have finished yet.
        if let ending = self.state.withLock({ $0.isEnding ? $0.task : nil }) { await self.finish(ending) }
        let run = try WatcherRun(
            context: self.context,
            filters: self.filters,
            options: self.options,
            topics: self.topics,
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

    /// Stops watching and waits until the watcher has stopped. Has no effect when the watcher is not running.
    ///
    /// When the method returns, the watcher sends nothing more on the network and calls no callback; sequences of
    /// events have ended.
    public func stop() async {
        let (task, feeds) = self.state.withLock { state in
            let task = self.beginToEnd(&state) ?? state.task
            return (task, task == nil ? [] : state.feeds.removeAll())
        }
        guard let task else { return }
        await self.finish(task)
        for feed in feeds { feed.finish() }
    }

    /// Marks the run as ending.
    ///
    /// - Returns: the task of the run; `nil` when none is running, or it is ending already.
    private func beginToEnd(_ state: inout State) -> Task<Void, Never>? {
        guard let task = state.task, !state.isEnding else { return nil }
        state.isEnding = true
        self.metrics.stopped(listing: state.systems.count)
        state.systems = [:]
        state.hasEnumerated = false
        state.hasLostReader = false
        return task
    }

    /// Cancels the task of a run and waits until it has ended.
    private func finish(_ task: Task<Void, Never>) async {
        task.cancel()
        await task.value
        self.state.withLock { state in
            // Another caller may have waited for the same run, and the watcher may have been started again.
            guard state.task == task else { return }
            state.task = nil
            state.run = nil
            state.isEnding = false
        }
    }

    /// Handles the end of a run. If the run was not ended by the watcher, this system has left its account.
    private func ended(_ run: WatcherRun) {
        let feeds = self.state.withLock { state -> [CoalescingEvents<RemoteSystemEvent>.Feed] in
            guard state.run === run, self.beginToEnd(&state) != nil else { return [] }
            state.task = nil
            state.run = nil
            state.isEnding = false
            return state.feeds.removeAll()
        }
        for feed in feeds { feed.finish() }
    }

    /// Handles the end of a sequence of events: it has no reader any more.
    private func sequenceEnded(_ id: ListenerID, wasRead: Bool) {
        let task = self.state.withLock { state -> Task<Void, Never>? in
            // A sequence that the watcher itself ended is no longer in `feeds`.
            guard state.feeds.remove(id) != nil, state.task != nil else { return nil }
            if wasRead { state.hasLostReader = true }
            guard self.options.stopsWithLastSequence, state.hasLostReader, state.feeds.isEmpty,
                state.listeners.isEmpty
            else { return nil }
            return self.beginToEnd(&state)
        }
        guard let task else { return }
        // In a new task: the reader is being cancelled or released at this moment.
        Task(executorPreference: self.context.environment.taskExecutor) { await self.finish(task) }
    }

    /// The systems that are listed now. Unordered. Empty while the watcher is stopped.
    public var systems: [RemoteSystem] {
        self.state.withLock { Array($0.systems.values) }
    }

    /// The systems and advertisements that the watcher sees but does not list. Empty while the watcher is stopped.
    ///
    /// Computed on each access. ``RemoteSystemsDiagnosis/likelyReason(whyEmpty:)`` explains the value in a sentence.
    public var unlisted: Unlisted {
        get async { await self.state.withLock { $0.run }?.unlisted ?? Unlisted() }
    }

    /// Whether discovery should find this system: a process of it listens, and discovery does not only read addresses
    /// that were configured. Blocks while it reads a few small files.
    package var expectsOwnSystem: Bool {
        let account = self.context.account
        guard account.sources.contains(where: { $0.origin == .announced }) else { return false }
        return account.running?.listening.contains { process in
            process.application != Diagnosis.service
                && (process.isOnLoopback != true || self.context.configuration.network == .loopback)
        } ?? false
    }

    /// Waits until each process that was found by now has described itself or failed to respond, without waiting for
    /// discovery. ``systems`` then has those that were found. Returns at once while the watcher is stopped.
    package func waitForFoundSystems() async { await self.state.withLock { $0.run }?.waitForFoundSystems() }

    /// Whether the watcher was started and has not stopped yet.
    var isRunning: Bool { self.state.withLock { $0.task != nil } }

    /// The counts of the watcher since it was created.
    public var statistics: WatcherStatistics {
        var statistics = self.metrics.counts
        statistics.systems = self.state.withLock { $0.systems.count }
        return statistics
    }

    var network: RemoteSystemsConfiguration.Network { self.context.configuration.network }

    /// Whether this system's account is linked with another one.
    package var hasLinks: Bool { self.context.hasLinks }

    /// Whether the filters choose systems of linked accounts, and none of this account.
    var listsOnlyLinked: Bool {
        self.filters.contains(.authorizationKind(.linked)) && !self.filters.contains(.authorizationKind(.sameUser))
    }

    // MARK: Listening

    /// The events from now on, after an `added` for each system that is already listed. Each access returns a new
    /// sequence. ``RemoteSystemEvents`` describes its buffer policy.
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
    /// it is released unread. The watcher then stops, unless another sequence has not ended (even an unread one) or a
    /// listener is registered. It stops in the background; ``stop()`` waits until it has stopped, and ``start()`` may
    /// be called at once. A watcher runs until ``stop()`` if none of its sequences was ever read, or if
    /// ``Options/stopsWithLastSequence`` is `false`. Cancelling a listener never stops the watcher.
    ///
    /// In top-level code (`main.swift`) Swift keeps the iterator of a loop until the program ends, so the sequence does
    /// not end with the loop. Put the loop into a function, or call ``stop()``.
    public var events: RemoteSystemEvents {
        let (events, feed) = CoalescingEvents<RemoteSystemEvent>.make(limit: .max) { nil }
        let reading = RemoteSystemEvents.Reading { feed.end() }
        let id = self.state.withLock { state in
            for system in state.systems.values { feed.yield(.added(system)) }
            if state.hasEnumerated { feed.yield(.enumerationCompleted) }
            return state.feeds.add(feed)
        }
        feed.onEnd { [weak self] in self?.sequenceEnded(id, wasRead: reading.wasRead) }
        return RemoteSystemEvents(events: events, reading: reading)
    }

    /// Registers a callback for added systems.
    ///
    /// Systems that are listed already are not reported; ``systems`` holds them.
    ///
    /// - Parameter listener: receives the added system. Called from a task of the watcher, which it must not block.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onAdded(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .added(let system) = $0 { listener(system) } }
    }

    /// Registers a callback for changes of listed systems.
    ///
    /// - Parameter listener: receives the system with its new values. Called from a task of the watcher, which it must
    ///   not block.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onUpdated(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .updated(let system) = $0 { listener(system) } }
    }

    /// Registers a callback for removed systems.
    ///
    /// - Parameter listener: receives the system as it was last listed. Called from a task of the watcher, which it
    ///   must not block.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onRemoved(_ listener: @escaping @Sendable (RemoteSystem) -> Void) -> ListenerRegistration {
        self.add { if case .removed(let system) = $0 { listener(system) } }
    }

    /// Registers a callback for the end of the first enumeration after each start.
    ///
    /// - Parameter listener: called once after each start, when the systems that were present have been reported.
    ///   Called from a task of the watcher, which it must not block.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onEnumerationCompleted(_ listener: @escaping @Sendable () -> Void) -> ListenerRegistration {
        self.add { if case .enumerationCompleted = $0 { listener() } }
    }

    /// Registers a callback for errors that make the watcher miss systems.
    ///
    /// - Parameter listener: receives the error. Called from a task of the watcher, which it must not block.
    /// - Returns: a registration that removes the callback. It may be discarded.
    @discardableResult
    public func onError(_ listener: @escaping @Sendable (RemoteSystemWatcherError) -> Void) -> ListenerRegistration {
        self.add { if case .error(let error) = $0 { listener(error) } }
    }

    private func add(_ listener: @escaping Listener) -> ListenerRegistration {
        let id = self.state.withLock { $0.listeners.add(listener) }
        return ListenerRegistration { [weak self] in self?.state.withLock { _ = $0.listeners.remove(id) } }
    }

    private func emit(_ event: RemoteSystemEvent) {
        let (listeners, startTime) = self.state.withLock { state -> ([Listener], ContinuousClock.Instant?) in
            guard !state.isEnding else { return ([], nil) }
            switch event {
            case .added(let system), .updated(let system): state.systems[system.id] = system
            case .removed(let system): state.systems[system.id] = nil
            case .enumerationCompleted: state.hasEnumerated = true
            case .error: break
            }
            // Inside the lock in which `events` takes its snapshot, so that no reader misses an event or receives it
            // twice.
            for feed in state.feeds.all { feed.yield(event) }
            return (state.listeners.all, state.startTime)
        }
        guard let startTime else { return }
        self.metrics.reported(event, sinceStart: self.context.environment.time.now - startTime)
        for listener in listeners { listener(event) }
    }
}
