// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Sees to it that a request with a key is carried out once, whichever connections it comes over and however often.
final class RememberedAnswers: Sendable {
    private typealias Memory = AnswerMemory<ContinuousClock.Instant, OneShot<Reply>>

    private struct State {
        var memory = Memory()
        /// The handlers under way. Whichever comes second of being started and being done takes the entry away again.
        var handlers: [ObjectIdentifier: Task<Void, Never>?] = [:]

        mutating func note(_ id: ObjectIdentifier, _ handler: Task<Void, Never>?) {
            if self.handlers.removeValue(forKey: id) == nil { self.handlers[id] = .some(handler) }
        }
    }

    private let environment: LocalEnvironment
    private let state = Mutex(State())
    private static let longest = Duration.seconds(300)

    init(_ environment: LocalEnvironment) {
        self.environment = environment
    }

    private var time: TimeSource { self.environment.time }

    /// The answer to the request: what `carryOut` makes of it, or made of the first one of its name.
    ///
    /// The handler does not depend on the task that asks: a caller whose connection is lost comes back for the answer.
    func reply(
        to request: AppServiceRequest,
        key: IdempotencyKey,
        of service: String,
        carryOut: @escaping @Sendable () async -> Reply
    ) async -> Reply {
        let name = Memory.Name(system: request.caller.systemID, service: service, key: key.bytes)
        let fingerprint = request.message.hashValue
        let work = OneShot<Reply>()
        let todo = self.state.withLock {
            $0.memory.received(name, fingerprint: fingerprint, work: work, now: self.time.now)
        }
        switch todo {
        case .answer(let reply):
            return reply
        case .wait(let first):
            return await Self.outcome(of: first)
        case .carryOut:
            self.start(name, until: request.deadline, work, carryOut)
            return await Self.outcome(of: work)
        }
    }

    private func start(
        _ name: Memory.Name,
        until deadline: ContinuousClock.Instant,
        _ outcome: OneShot<Reply>,
        _ carryOut: @escaping @Sendable () async -> Reply
    ) {
        let id = ObjectIdentifier(outcome)
        // Here and now, as without a key; an answer that is known at once leaves at once.
        let handler = Task.immediate(executorPreference: self.environment.taskExecutor) {
            // What nobody may come back for any more is not worked on.
            let reply = await self.limited(until: min(deadline, self.time.now + Self.longest), carryOut)
            let bytes = (try? reply.message.encoded().count) ?? .max
            self.state.withLock { state in
                state.memory.carriedOut(name, reply, bytes: bytes, now: self.time.now)
                state.note(id, nil)
            }
            outcome.succeed(reply)
        }
        self.state.withLock { $0.note(id, handler) }
    }

    /// What `carryOut` gives; it is cancelled at the deadline.
    private func limited(
        until deadline: ContinuousClock.Instant,
        _ carryOut: @escaping @Sendable () async -> Reply
    ) async -> Reply {
        await withTaskGroup(of: Reply?.self) { group in
            group.addImmediateTask { await carryOut() }
            group.addTask {
                try? await self.time.sleep(until: deadline)
                return nil
            }
            var reply: Reply?
            for await outcome in group {
                reply = outcome ?? reply
                group.cancelAll()
            }
            return reply ?? Reply(status: .failure)
        }
    }

    private static func outcome(of work: OneShot<Reply>) async -> Reply {
        do {
            return try await work.value
        } catch {
            return Reply(status: .failure, failure: WireFailure("The request was cancelled.", canRetry: true))
        }
    }

    /// Stops what is under way: nobody can get its answer any more.
    func stop() {
        let handlers = self.state.withLock { Array($0.handlers.values) }
        for handler in handlers { handler?.cancel() }
    }
}
