// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Executes a request with a key once, however often it is repeated and over whichever connections.
final class IdempotencyCache: Sendable {
    private typealias Memory = IdempotencyCacheStateMachine<Promise<HandlerOutcome>>

    private struct State {
        var memory: Memory
        /// The running handlers. A handler's start and end are reported in any order; the second report removes the
        /// entry.
        var handlers: [ObjectIdentifier: Task<Void, Never>?] = [:]
        var isStopped = false

        mutating func note(_ id: ObjectIdentifier, _ handler: Task<Void, Never>?) {
            if self.handlers.removeValue(forKey: id) == nil { self.handlers[id] = .some(handler) }
        }
    }

    private let environment: RuntimeEnvironment
    private let incidents: IncidentLog
    private let state: Mutex<State>
    private static let longest = Duration.seconds(300)

    /// - Parameter messageBytes: the maximum length of a message.
    init(_ environment: RuntimeEnvironment, messageBytes: Int, incidents: IncidentLog) {
        var limits = Memory.Limits()
        limits.raise(forMessagesOf: messageBytes)
        self.state = Mutex(State(memory: Memory(limits: limits)))
        self.environment = environment
        self.incidents = incidents
    }

    private var time: TimeSource { self.environment.time }

    /// Returns the outcome of `execute`, or that of the first request with the same name.
    ///
    /// The handler does not run in the caller's task: a caller whose connection was lost repeats the request to get the
    /// response.
    func outcome(
        of request: AppServiceRequest,
        key: IdempotencyKey,
        of service: String,
        execute: @escaping @Sendable () async -> HandlerOutcome
    ) async -> HandlerOutcome {
        let name = Memory.Name(system: request.caller.systemID, service: service, key: key.bytes)
        let holder = request.caller.quotaHolder
        let fingerprint = request.message.hashValue
        // Cannot fail for a message that was received. The number of running requests is limited in any case.
        let bytes = (try? request.message.encodedSize()) ?? 0
        let work = Promise<HandlerOutcome>()
        let todo = self.state.withLock { state -> Memory.OnRequest? in
            guard !state.isStopped else { return nil }
            return state.memory.received(
                name,
                of: holder,
                fingerprint: fingerprint,
                requestBytes: bytes,
                work: work,
                now: self.time.now
            )
        }
        switch todo {
        case nil:
            return HandlerOutcome(CancellationError())
        case .outcome(let outcome):
            guard let failure = outcome.response.failure else { return outcome }
            switch failure.code {
            case FailureCode.keyQuotaExceeded.rawValue:
                self.incidents.report(.keyLimit, by: name.system, of: holder, reason: failure.text)
            case FailureCode.requestBytesExceeded.rawValue:
                self.incidents.report(.requestLimit, by: name.system, of: holder, reason: failure.text)
            default: break
            }
            return outcome
        case .wait(let first):
            var outcome = await Self.outcome(of: first)
            outcome.isRepeated = true
            return outcome
        case .execute(let execution):
            self.start(name, execution, until: request.deadline, work, execute)
            return await Self.outcome(of: work)
        }
    }

    /// Forgets the outcome of a failed execution, so that the next request with the key is executed.
    ///
    /// - Parameter execution: the execution that failed. The outcome of a later one is kept.
    func forgetFailure(of request: AppServiceRequest, key: IdempotencyKey, of service: String, execution: UInt64) {
        let name = Memory.Name(system: request.caller.systemID, service: service, key: key.bytes)
        self.state.withLock { $0.memory.forgetFailure(name, execution) }
    }

    private func start(
        _ name: Memory.Name,
        _ execution: UInt64,
        until deadline: ContinuousClock.Instant,
        _ promise: Promise<HandlerOutcome>,
        _ execute: @escaping @Sendable () async -> HandlerOutcome
    ) {
        let id = ObjectIdentifier(promise)
        // Starts immediately, as requests without a key do, so that a response that needs no waiting is sent at once.
        let handler = Task.immediate(executorPreference: self.environment.taskExecutor) {
            // The handler is cancelled once no repeated request can fetch its response any more.
            var outcome = await self.limited(until: min(deadline, self.time.now + Self.longest), execute)
            outcome.execution = execution
            let bytes = (try? outcome.response.message.encoded().count) ?? .max
            self.state.withLock { [outcome] state in
                state.memory.executed(name, outcome, bytes: bytes, now: self.time.now)
                state.note(id, nil)
            }
            promise.succeed(outcome)
        }
        let isStopped = self.state.withLock { state in
            state.note(id, handler)
            return state.isStopped
        }
        if isStopped { handler.cancel() }
    }

    /// Returns the outcome of `execute`, which is cancelled at the deadline.
    private func limited(
        until deadline: ContinuousClock.Instant,
        _ execute: @escaping @Sendable () async -> HandlerOutcome
    ) async -> HandlerOutcome {
        await withTaskGroup(of: HandlerOutcome?.self) { group in
            group.addImmediateTask { await execute() }
            group.addTask {
                try? await self.time.sleep(until: deadline)
                return nil
            }
            var outcome: HandlerOutcome?
            for await result in group {
                outcome = result ?? outcome
                group.cancelAll()
            }
            return outcome ?? HandlerOutcome(Response(status: .failure))
        }
    }

    private static func outcome(of work: Promise<HandlerOutcome>) async -> HandlerOutcome {
        do {
            return try await work.value
        } catch {
            return HandlerOutcome(CancellationError())
        }
    }

    /// Cancels the running handlers, whose responses cannot be fetched any more. Nothing is executed afterwards.
    func stop() {
        let handlers = self.state.withLock { state in
            state.isStopped = true
            return Array(state.handlers.values)
        }
        for handler in handlers { handler?.cancel() }
    }
}
