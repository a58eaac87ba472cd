// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
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
        var systems: [RemoteSystem.ID: RemoteSystem] = [:]
        var hasEnumerated = false
    }

    private let filters: [RemoteSystemFilter]
    private let options: Options
    private let accountContext: AccountContext
    private let state = Mutex(State())

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
        self.init(AccountContext(configuration), filters: filters, options: options)
    }

    /// A watcher that shares the identity and the sources of others in this process.
    init(_ accountContext: AccountContext, filters: [RemoteSystemFilter] = [], options: Options = Options()) {
        self.filters = filters
        self.options = options
        self.accountContext = accountContext
    }

    deinit {
        let (task, feeds) = self.state.withLock { ($0.task, $0.feeds) }
        task?.cancel()
        for feed in feeds.values { feed.finish() }
    }

    // MARK: Running

    /// Starts watching. A watcher that was stopped can be started again; every system is then told anew.
    ///
    /// - Throws: ``RemoteSystemError`` when this system's account cannot be used, the watcher is running, or an option, a filter
    ///   or the configuration is not valid (``RemoteSystemError/Code/invalidArgument``).
    public func start() async throws(RemoteSystemError) {
        try self.options.validate()
        for filter in self.filters { try filter.validate() }
        let security = try self.accountContext.security()
        let run = WatcherRun(
            accountContext: self.accountContext,
            security: security,
            filters: self.filters,
            options: self.options
        ) { [weak self] in self?.emit($0) }
        let isFirst = self.state.withLock { state in
            guard state.task == nil else { return false }
            state.task = Task(executorPreference: self.accountContext.environment.taskExecutor) { await run.run() }
            state.run = run
            return true
        }
        guard isFirst else {
            throw RemoteSystemError(.misuse, "The watcher is running already.", side: .local)
        }
    }

    /// Stops watching. When it returns nothing more is sent on the network, and no listener is called any more; sequences
    /// of events end.
    public func stop() async {
        guard let task = self.state.withLock({ $0.task }) else { return }
        task.cancel()
        await task.value
        let feeds = self.state.withLock { state -> [Int: CoalescingEvents<RemoteSystemEvent>.Feed] in
            // Another stop has been here first, and the watcher may run again already.
            guard state.task == task else { return [:] }
            state.task = nil
            state.run = nil
            state.systems = [:]
            state.hasEnumerated = false
            defer { state.feeds = [:] }
            return state.feeds
        }
        for feed in feeds.values { feed.finish() }
    }

    /// The systems that are listed now, in no particular order.
    public var systems: [RemoteSystem] {
        self.state.withLock { Array($0.systems.values) }
    }

    /// What the watcher has seen and does not list; nothing while it is stopped. Looked at when asked for, so it costs nothing else.
    ///
    /// ``RemoteSystemsDiagnosis/likelyReason(whyEmpty:)`` makes a sentence of it.
    public var unlisted: Unlisted {
        get async { await self.state.withLock { $0.run }?.unlisted ?? Unlisted() }
    }

    var network: RemoteSystemsConfiguration.Network { self.accountContext.configuration.network }

    // MARK: Listening

    /// What happens from now on, after an `added` for each system that is listed already. Each call makes a sequence of
    /// its own, which ends when the watcher is stopped. See ``RemoteSystemEvents`` for what happens to slow readers.
    public var events: RemoteSystemEvents {
        let (events, feed) = CoalescingEvents<RemoteSystemEvent>.make(limit: .max) { nil }
        let id = self.state.withLock { state -> Int in
            for system in state.systems.values { feed.yield(.added(system)) }
            if state.hasEnumerated { feed.yield(.enumerationCompleted) }
            state.nextID += 1
            state.feeds[state.nextID] = feed
            return state.nextID
        }
        feed.onEnd { [weak self] in
            self?.state.withLock { $0.feeds[id] = nil }
        }
        return RemoteSystemEvents(events: events)
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
        let listeners = self.state.withLock { state in
            switch event {
            case .added(let system), .updated(let system): state.systems[system.id] = system
            case .removed(let system): state.systems[system.id] = nil
            case .enumerationCompleted: state.hasEnumerated = true
            case .error: break
            }
            // In the same lock as `events` takes its snapshot, so that no reader misses or hears twice.
            for feed in state.feeds.values { feed.yield(event) }
            return state.listeners
        }
        for (_, listener) in listeners { listener(event) }
    }
}
