// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Sees to it that a request with a key is carried out once, whichever connections it comes over and however often.
final class IdempotencyCache: Sendable {
    private typealias Memory = IdempotencyCacheStateMachine<ContinuousClock.Instant, Promise<Response>>

    private struct State {
        var memory = Memory()
        /// The handlers under way. Whichever comes second of being started and being done takes the entry away again.
        var handlers: [ObjectIdentifier: Task<Void, Never>?] = [:]

        mutating func note(_ id: ObjectIdentifier, _ handler: Task<Void, Never>?) {
            if self.handlers.removeValue(forKey: id) == nil { self.handlers[id] = .some(handler) }
        }
    }

    private let environment: RuntimeEnvironment
    private let state = Mutex(State())
    private static let longest = Duration.seconds(300)

    init(_ environment: RuntimeEnvironment) {
        self.environment = environment
    }

    private var time: TimeSource { self.environment.time }

    /// The answer to the request: what `execute` makes of it, or made of the first one of its name.
    ///
    /// The handler does not depend on the task that asks: a caller whose connection is lost comes back for the answer.
    func response(
        to request: AppServiceRequest,
        key: IdempotencyKey,
        of service: String,
        execute: @escaping @Sendable () async -> Response
    ) async -> Response {
        let name = Memory.Name(system: request.caller.systemID, service: service, key: key.bytes)
        let fingerprint = request.message.hashValue
        let work = Promise<Response>()
        let todo = self.state.withLock {
            $0.memory.received(name, fingerprint: fingerprint, work: work, now: self.time.now)
        }
        switch todo {
        case .response(let response):
            return response
        case .wait(let first):
            return await Self.outcome(of: first)
        case .execute:
            self.start(name, until: request.deadline, work, execute)
            return await Self.outcome(of: work)
        }
    }

    private func start(
        _ name: Memory.Name,
        until deadline: ContinuousClock.Instant,
        _ outcome: Promise<Response>,
        _ execute: @escaping @Sendable () async -> Response
    ) {
        let id = ObjectIdentifier(outcome)
        // Here and now, as without a key; an answer that is known at once leaves at once.
        let handler = Task.immediate(executorPreference: self.environment.taskExecutor) {
            // What nobody may come back for any more is not worked on.
            let response = await self.limited(until: min(deadline, self.time.now + Self.longest), execute)
            let bytes = (try? response.message.encoded().count) ?? .max
            self.state.withLock { state in
                state.memory.executed(name, response, bytes: bytes, now: self.time.now)
                state.note(id, nil)
            }
            outcome.succeed(response)
        }
        self.state.withLock { $0.note(id, handler) }
    }

    /// What `execute` gives; it is cancelled at the deadline.
    private func limited(
        until deadline: ContinuousClock.Instant,
        _ execute: @escaping @Sendable () async -> Response
    ) async -> Response {
        await withTaskGroup(of: Response?.self) { group in
            group.addImmediateTask { await execute() }
            group.addTask {
                try? await self.time.sleep(until: deadline)
                return nil
            }
            var response: Response?
            for await outcome in group {
                response = outcome ?? response
                group.cancelAll()
            }
            return response ?? Response(status: .failure)
        }
    }

    private static func outcome(of work: Promise<Response>) async -> Response {
        do {
            return try await work.value
        } catch {
            return Response(
                status: .failure,
                failure: WireFailure("The request was cancelled.", code: .cancelled, canRetry: true)
            )
        }
    }

    /// Stops what is under way: nobody can get its answer any more.
    func stop() {
        let handlers = self.state.withLock { Array($0.handlers.values) }
        for handler in handlers { handler?.cancel() }
    }
}
