// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
public import RemoteSystems
internal import RemoteSystemsTransport
internal import Synchronization

/// Records all events of a watcher, and waits for events.
///
/// ```swift
/// let recorder = stage.record(watcher)
/// let speaker = try await recorder.added("Living room")
/// _ = try await recorder.removed("Living room")
/// #expect(recorder.story == ["added Living room", "removed Living room"])
/// ```
///
/// Each waiting method continues after the event that the previous call returned, so no event is returned twice.
public final class EventRecorder: Sendable {
    private struct State {
        var events: [RemoteSystemEvent] = []
        /// The number of events that were returned or skipped.
        var taken = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
        /// The waiters whose patience is over.
        var given: Set<UInt64> = []
    }

    private let state = Mutex(State())
    private let patience: Duration
    /// The recorded watcher. It is retained, because a released watcher stops watching.
    private let watcher: RemoteSystemWatcher
    /// The stage's scheduler, which needs to know when a test waits by real time.
    private let scheduler: Scheduler?

    /// Records the watcher's events from now on. The recorder does not start the watcher.
    ///
    /// - Parameters:
    ///   - watcher: The watcher. The recorder retains it.
    ///   - patience: The maximum time to wait for an event. In real time. Defaults to 10 s.
    public convenience init(_ watcher: RemoteSystemWatcher, patience: Duration = .seconds(10)) {
        self.init(watcher, patience: patience, scheduler: nil)
    }

    init(_ watcher: RemoteSystemWatcher, patience: Duration, scheduler: Scheduler?) {
        self.patience = patience
        self.watcher = watcher
        self.scheduler = scheduler
        watcher.onAdded { [weak self] in self?.record(.added($0)) }
        watcher.onUpdated { [weak self] in self?.record(.updated($0)) }
        watcher.onRemoved { [weak self] in self?.record(.removed($0)) }
        watcher.onEnumerationCompleted { [weak self] in self?.record(.enumerationCompleted) }
        watcher.onError { [weak self] in self?.record(.error($0)) }
    }

    /// All recorded events, in order.
    public var events: [RemoteSystemEvent] { self.state.withLock { $0.events } }

    /// All recorded events as short texts for comparison: `added NAME`, `updated NAME`, `removed NAME`, `enumeration
    /// completed`, `error`.
    public var story: [String] { self.events.map(\.inWords) }

    private func record(_ event: RemoteSystemEvent) {
        let waiters = self.state.withLock { state in
            state.events.append(event)
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Waiting

    /// Waits for the next event and returns it. The stage's clock does not move meanwhile.
    ///
    /// - Returns: The first event after the one that the previous call returned.
    /// - Throws: ``StageError`` if there is no event within the recorder's patience; `CancellationError`.
    public func next() async throws -> RemoteSystemEvent {
        try await self.next("event") { $0 }
    }

    /// Waits for the next event that reports a system as added. Skips other events.
    ///
    /// - Parameter displayName: The system's display name. Defaults to `nil`: any system.
    /// - Returns: The added system.
    /// - Throws: ``StageError`` if there is no such event within the recorder's patience; `CancellationError`.
    @discardableResult
    public func added(_ displayName: String? = nil) async throws -> RemoteSystem {
        try await self.next("added \(displayName ?? "")") {
            if case .added(let system) = $0, system.isNamed(displayName) { system } else { nil }
        }
    }

    /// Waits for the next event that reports a system as updated. Skips other events.
    ///
    /// - Parameter displayName: The system's display name. Defaults to `nil`: any system.
    /// - Returns: The system with its new values.
    /// - Throws: ``StageError`` if there is no such event within the recorder's patience; `CancellationError`.
    @discardableResult
    public func updated(_ displayName: String? = nil) async throws -> RemoteSystem {
        try await self.next("updated \(displayName ?? "")") {
            if case .updated(let system) = $0, system.isNamed(displayName) { system } else { nil }
        }
    }

    /// Waits for the next event that reports a system as removed. Skips other events.
    ///
    /// - Parameter displayName: The system's display name. Defaults to `nil`: any system.
    /// - Returns: The system as it was last listed.
    /// - Throws: ``StageError`` if there is no such event within the recorder's patience; `CancellationError`.
    @discardableResult
    public func removed(_ displayName: String? = nil) async throws -> RemoteSystem {
        try await self.next("removed \(displayName ?? "")") {
            if case .removed(let system) = $0, system.isNamed(displayName) { system } else { nil }
        }
    }

    /// Waits for the next event that reports an error. Skips other events.
    ///
    /// - Returns: The error.
    /// - Throws: ``StageError`` if there is no such event within the recorder's patience; `CancellationError`.
    @discardableResult
    public func error() async throws -> RemoteSystemWatcherError {
        try await self.next("error") { if case .error(let error) = $0 { error } else { nil } }
    }

    private func next<Picked>(_ what: String, _ pick: (RemoteSystemEvent) -> Picked?) async throws -> Picked {
        let id = self.state.withLock { state -> UInt64 in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let alarm = SocketTransport().anyEventLoop().scheduleTask(in: TimeAmount(self.patience)) { self.giveUp(id) }
        self.scheduler?.beginRealWait()
        defer {
            self.scheduler?.endRealWait()
            alarm.cancel()
            self.state.withLock { _ = $0.given.remove(id) }
        }
        while true {
            let known = self.events.count
            if let picked = self.take(pick) { return picked }
            try Task.checkCancellation()
            guard !self.state.withLock({ $0.given.contains(id) }) else { throw self.nothing(what) }
            await self.wait(id, known: known)
        }
    }

    private func take<Picked>(_ pick: (RemoteSystemEvent) -> Picked?) -> Picked? {
        let (events, taken) = self.state.withLock { ($0.events, $0.taken) }
        for (index, event) in events.enumerated().dropFirst(taken) {
            if let picked = pick(event) {
                self.state.withLock { $0.taken = max($0.taken, index + 1) }
                return picked
            }
        }
        return nil
    }

    /// Returns when there is a new event, the patience is over, or the task is cancelled.
    private func wait(_ id: UInt64, known: Int) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = self.state.withLock { state in
                    let waits = state.events.count == known && !state.given.contains(id) && !Task.isCancelled
                    if waits { state.waiters[id] = continuation }
                    return waits
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            self.giveUp(id)
        }
    }

    private func giveUp(_ id: UInt64) {
        let waiter = self.state.withLock { state in
            state.given.insert(id)
            return state.waiters.removeValue(forKey: id)
        }
        waiter?.resume()
    }

    private func nothing(_ what: String) -> StageError {
        let story = self.story.isEmpty ? "nothing" : self.story.joined(separator: ", ")
        let due = (self.scheduler?.due).map { " Due by the stage's clock: \($0)." } ?? ""
        return StageError(
            "The watcher did not report '\(what)' within \(self.patience). It reported: \(story). Check that the "
                + "watcher is started, and whether the stage's clock has to be moved (advance(by:)).\(due)"
        )
    }
}

extension RemoteSystem {
    fileprivate func isNamed(_ name: String?) -> Bool { name.map { $0 == self.displayName } ?? true }
}

extension RemoteSystemEvent {
    fileprivate var inWords: String {
        switch self {
        case .added(let system): "added \(system.displayName)"
        case .updated(let system): "updated \(system.displayName)"
        case .removed(let system): "removed \(system.displayName)"
        case .enumerationCompleted: "enumeration completed"
        case .error: "error"
        }
    }
}
