// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The driver of ``LongLivedConnectionStateMachine``: connects, waits, looks for the system, and sends requests.
///
/// Separate from ``LongLivedConnection``, so that a connection that is released can end.
final class LongLivedRun: Sendable {
    typealias State = LongLivedConnection.State
    typealias Machine = LongLivedConnectionStateMachine

    /// The next step of a request that has waited.
    private enum Turn: Sendable {
        case send(AppServiceConnection, generation: Int)
        case end(Machine.Refusal)
    }

    /// A request that waits for a connection.
    private struct Waiter {
        var continuation: CheckedContinuation<Turn, any Error>
        var timer: Task<Void, Never>

        func resume(with turn: Result<Turn, any Error>) {
            self.timer.cancel()
            self.continuation.resume(with: turn)
        }
    }

    private struct Guarded {
        var machine: Machine
        var connection: AppServiceConnection?
        var info: RemoteSystemConnectionInfo?
        var request: RemoteSystemConnectionRequest
        var waiting: [UInt64: Waiter] = [:]
        var nextRequest: UInt64 = 0
        var task: Task<Void, Never>?
        /// The task that waits for the next attempt. Cancelled when there is no reason to wait any longer.
        var sleep: Task<Void, Never>?
        var listeners = ListenerTable<@Sendable (State) -> Void>()
        var readers = StreamReaders<State>(buffering: .bufferingNewest(64))
        /// The state that was notified last. ``state`` returns it, so that it agrees with the notifications.
        var state = State.idle

        func turn(after generation: Int) -> Turn? {
            guard let generation = self.machine.turn(after: generation), let connection = self.connection else {
                return nil
            }
            return .send(connection, generation: generation)
        }

        /// Changes the notified state to the machine's, or to `state` when the machine is about to reach it.
        mutating func change(_ state: State? = nil) -> StateChange {
            self.state = state ?? State(self.machine.phase, self.info)
            self.readers.yield(self.state)
            if self.state.isLast { self.readers.finish() }
            return StateChange(state: self.state, listeners: self.listeners.all)
        }
    }

    /// A state, and the listeners to notify of it outside the lock.
    private struct StateChange {
        let state: State
        let listeners: [@Sendable (State) -> Void]

        /// Called by one task only, which keeps the states in order.
        func notify() {
            for listener in self.listeners { listener(self.state) }
        }
    }

    private let service: AppServiceDescription
    private let policy: ReconnectionPolicy
    private let reception: RequestReception
    private let origin: ApplicationContext
    private let time: TimeSource
    private let guarded: Mutex<Guarded>

    init(
        service: AppServiceDescription,
        request: RemoteSystemConnectionRequest,
        policy: ReconnectionPolicy,
        reception: RequestReception
    ) {
        self.service = service
        self.policy = policy
        self.reception = reception
        self.origin = request.origin
        self.time = request.origin.environment.time
        self.guarded = Mutex(Guarded(machine: Machine(policy: policy), request: request))
    }

    // MARK: States

    var state: State { self.guarded.withLock { $0.state } }

    var states: AsyncStream<State> {
        self.guarded.withLock { guarded in
            let (states, id) = guarded.readers.add(guarded.state)
            if guarded.state.isLast { guarded.readers.finish(id) }
            return states
        }
    }

    func onStateChanged(_ listener: @escaping @Sendable (State) -> Void) -> ListenerRegistration {
        let id = self.guarded.withLock { $0.listeners.add(listener) }
        return ListenerRegistration { [weak self] in self?.guarded.withLock { _ = $0.listeners.remove(id) } }
    }

    /// Notifies observers of the machine's state. Nothing follows the last state, also if a connection that was never
    /// started is closed twice.
    private func notify() {
        guard let change = self.guarded.withLock({ $0.state.isLast ? nil : $0.change() }) else { return }
        change.notify()
        switch change.state {
        case .closed: self.reception.finish()
        case .gaveUp(let error): self.reception.finish(error)
        case .idle, .connecting, .connected, .waiting: break
        }
    }

    // MARK: Connecting

    func start() throws(RemoteSystemError) {
        try self.policy.validate()
        try self.service.validate()
        try self.guarded.withLock { $0.request }.validate()
        try self.origin.configuration.validate()
        let isFirst = self.guarded.withLock { guarded in
            guard guarded.machine.start(now: self.time.now) else { return false }
            guarded.task = self.task { await self.run() }
            return true
        }
        guard isFirst else {
            throw RemoteSystemError(
                .misuse,
                "A long-lived connection can be started only once. Create a new one.",
                side: .local
            )
        }
    }

    private func task(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: self.origin.environment.taskExecutor) { await work() }
    }

    private func run() async {
        var watcher: RemoteSystemWatcher?
        while true {
            let step = self.guarded.withLock { $0.machine.nextStep(now: self.time.now) }
            switch step {
            case .connect:
                self.notify()
                await self.attempt()
            case .stay:
                // A connected run needs no watcher, which would cost each host of the account a connection.
                await watcher.take()?.stop()
                await self.stay()
            case .wait(let until):
                self.notify()
                if watcher == nil { watcher = await self.makeWatcher() }
                await self.sleep(until: until)
            case .stop:
                self.notify()
                await watcher?.stop()
                return
            }
        }
    }

    private func attempt() async {
        let connection = AppServiceConnection(to: self.service, reception: self.reception)
        let request = self.guarded.withLock { $0.request }
        var status: AppServiceConnectionStatus?
        do {
            status = try await connection.open(request)
            guard status == .success, let info = connection.info else { throw connection.openError ?? .lost(.unknown) }
            self.opened(connection, info)
        } catch {
            let error = RemoteSystemError(error)
            let isFinal = error.endsTrying(status, canBeFound: request.canBeFound)
            let (failed, refusal) = self.guarded.withLock { guarded in
                let failed = guarded.machine.failed(
                    error,
                    isFinal: isFinal,
                    now: self.time.now,
                    random: .random(in: 0...1)
                )
                return (failed, guarded.machine.refusal)
            }
            self.end(failed, refusal)
        }
    }

    /// Notifies observers before any request can be sent, so that a caller with a response finds the connection open.
    private func opened(_ connection: AppServiceConnection, _ info: RemoteSystemConnectionInfo) {
        let change = self.guarded.withLock { guarded -> StateChange? in
            guard case .connecting = guarded.machine.phase else { return nil }
            return guarded.change(.connected(info))
        }
        change?.notify()
        let released = self.guarded.withLock { guarded -> (waiters: [Waiter], generation: Int)? in
            guard case .stay(let ids) = guarded.machine.opened(now: self.time.now) else { return nil }
            guarded.connection = connection
            guarded.info = info
            return (ids.compactMap { guarded.waiting.removeValue(forKey: $0) }, guarded.machine.generation)
        }
        // An unwanted connection closes when it is released.
        guard let released else { return }
        for waiter in released.waiters {
            waiter.resume(with: .success(.send(connection, generation: released.generation)))
        }
    }

    private func stay() async {
        guard let connection = self.guarded.withLock({ $0.connection }) else { return }
        let ended = Promise<AppServiceClosedStatus>()
        connection.onClosed { ended.succeed($0) }
        guard let status = try? await ended.value else { return }
        let reason = RemoteSystemError.lost(status)
        let (failed, refusal) = self.guarded.withLock { guarded in
            guarded.connection = nil
            guarded.info = nil
            let failed = guarded.machine.lost(reason, now: self.time.now, random: .random(in: 0...1))
            return (failed, guarded.machine.refusal)
        }
        self.end(failed, refusal)
    }

    private func sleep(until: ContinuousClock.Instant) async {
        let sleep = self.guarded.withLock { guarded -> Task<Void, Never>? in
            // The system may have been found, or the connection closed, since the machine's step.
            guard guarded.machine.wakeUp == until else { return nil }
            let sleep = self.task { [time = self.time] in try? await time.sleep(until: until) }
            guarded.sleep = sleep
            return sleep
        }
        await sleep?.value
    }

    // MARK: Looking for the system

    /// Creates the watcher that looks for the system while there is no connection. It does not run otherwise, because
    /// each watcher costs each host of the account a connection (`Docs/decisions/0010`).
    private func makeWatcher() async -> RemoteSystemWatcher? {
        let request = self.guarded.withLock { $0.request }
        guard request.canBeFound, self.hasFailedOnce else { return nil }
        let standing = (try? request.resolve(self.service))?.standing ?? .sameAccount
        let watcher = RemoteSystemWatcher(self.origin, filters: .listing(standing))
        watcher.onAdded { [weak self] in self?.found($0, isNew: true) }
        watcher.onUpdated { [weak self] in self?.found($0, isNew: false) }
        do {
            try await watcher.start()
            return watcher
        } catch {
            self.origin.logger.debug("Cannot watch for the lost system", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    /// Whether an attempt has failed. The last known address is tried first, because most outages are over as soon as
    /// they are noticed.
    private var hasFailedOnce: Bool { self.guarded.withLock { $0.machine.attempts > 0 } }

    private func found(_ system: RemoteSystem, isNew: Bool) {
        self.guarded.withLock { guarded in
            guard let request = guarded.request.refreshed(by: system, for: self.service) else { return }
            let isElsewhere = request.places(of: self.service) != guarded.request.places(of: self.service)
            guarded.request = request
            if isNew || isElsewhere, guarded.machine.found(now: self.time.now) { guarded.sleep?.cancel() }
        }
    }

    // MARK: Ending

    func close() async {
        self.reception.finish()
        await self.finish { await $0.close() }
    }

    func cancel() async {
        self.reception.finish()
        await self.finish { await $0.cancel() }
    }

    private func finish(_ end: (AppServiceConnection) async -> Void) async {
        let (connection, task) = self.markClosed()
        guard let task else { return self.notify() }
        if let connection { await end(connection) }
        task.cancel()
        await task.value
    }

    func abandon() {
        self.reception.finish()
        let (connection, task) = self.markClosed()
        task?.cancel()
        if let connection { _ = self.task { await connection.cancel() } }
    }

    private func markClosed() -> (AppServiceConnection?, Task<Void, Never>?) {
        let (failed, connection, task) = self.guarded.withLock { guarded in
            let failed = guarded.machine.close()
            guarded.sleep?.cancel()
            return (failed, guarded.connection, guarded.task)
        }
        self.end(failed, .closed)
        return (connection, task)
    }

    // MARK: Requests

    func send(
        _ message: ValueSet,
        timeout: Duration?,
        retry: RequestRetry,
        metadata: RequestMetadata
    ) async throws -> AppServiceResponse {
        try ArgumentCheck.check("timeout", timeout, in: .requestTimeouts)
        let deadline = self.time.now + (timeout ?? self.origin.configuration.transport.requestTimeout)
        let id = self.guarded.withLock { guarded in
            guarded.nextRequest += 1
            return guarded.nextRequest
        }
        var generation = 0
        var mayHaveRun = false
        while true {
            switch try await self.turn(id, after: generation, until: deadline) {
            case .end(let refusal):
                return try refusal.response(mayHaveRun: mayHaveRun)
            case .send(let connection, let current):
                generation = current
                let request = AppServiceClientRequest(message: message, metadata: metadata, idempotencyKey: retry.key)
                let response = try await self.send(request, over: connection, until: deadline, mayHaveRun)
                let ending = Machine.Ending(response)
                guard Machine.goesOn(after: ending, isIdempotent: retry != .never) else {
                    return response.reported(mayHaveRun: mayHaveRun)
                }
                if ending == .unknown { mayHaveRun = true }
            }
        }
    }

    private func send(
        _ request: AppServiceClientRequest,
        over connection: AppServiceConnection,
        until deadline: ContinuousClock.Instant,
        _ mayHaveRun: Bool
    ) async throws -> AppServiceResponse {
        do {
            return try await connection.send(
                request.message,
                timeout: max(deadline - self.time.now, .zero),
                idempotencyKey: request.idempotencyKey,
                metadata: request.metadata
            ).overAnotherConnection
        } catch var error as RemoteSystemError where mayHaveRun {
            error.outcome = .unknown
            throw error
        }
    }

    private func expire(_ id: UInt64) {
        let reason = self.guarded.withLock { $0.machine.lastFailure }
        self.withdraw(id, .success(.end(.expired(reason))))
    }

    /// Waits for a connection to send the request over.
    private func turn(_ id: UInt64, after generation: Int, until deadline: ContinuousClock.Instant) async throws -> Turn
    {
        if let turn = self.guarded.withLock({ $0.turn(after: generation) }) { return turn }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let turn = self.guarded.withLock { guarded -> Result<Turn, any Error>? in
                    if let turn = guarded.turn(after: generation) { return .success(turn) }
                    // Cancelled before this point: the cancellation handler ran and found no waiter.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if let refusal = guarded.machine.wait(id) { return .success(.end(refusal)) }
                    let timer = self.task { [weak self, time = self.time] in
                        guard (try? await time.sleep(until: deadline)) != nil else { return }
                        self?.expire(id)
                    }
                    guarded.waiting[id] = Waiter(continuation: continuation, timer: timer)
                    return nil
                }
                if let turn { continuation.resume(with: turn) }
            }
        } onCancel: {
            self.withdraw(id, .failure(CancellationError()))
        }
    }

    private func withdraw(_ id: UInt64, _ turn: Result<Turn, any Error>) {
        let waiter = self.guarded.withLock { guarded -> Waiter? in
            guarded.machine.withdraw(id)
            return guarded.waiting.removeValue(forKey: id)
        }
        waiter?.resume(with: turn)
    }

    private func end(_ ids: [UInt64], _ refusal: Machine.Refusal?) {
        guard let refusal else { return }
        let waiters = self.guarded.withLock { guarded in ids.compactMap { guarded.waiting.removeValue(forKey: $0) } }
        for waiter in waiters { waiter.resume(with: .success(.end(refusal))) }
    }
}
