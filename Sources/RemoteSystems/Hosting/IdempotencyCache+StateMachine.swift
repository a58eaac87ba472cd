// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The rules of the idempotency cache: which requests with a key are running, and the responses to those that have
/// finished. Without tasks or a clock.
///
/// `Work` is what a repeated request waits for while the first one is running.
struct IdempotencyCacheStateMachine<Work> {
    typealias Instant = ContinuousClock.Instant

    /// The identity of a request. Two requests with the same name are the same request.
    struct Name: Hashable {
        var system: SystemID
        var service: String
        var key: [UInt8]
    }

    /// The limits of the cache.
    ///
    /// A kept key is never removed before its time, because its request could then be executed twice. When a limit is
    /// reached, new keys are refused, or responses are not kept. The fuller the cache is, the less one holder may use.
    struct Limits {
        /// The time for which a key and its response are kept after the request was executed.
        var time = Duration.seconds(300)
        /// The maximum number of keys, running or kept: in all, and of one holder.
        var keys = 65_536
        var keysEach = 8_192
        /// The maximum number of running requests: in all, and of one holder.
        var inFlight = 1_024
        var inFlightEach = 128
        /// The maximum size of the messages of running requests: in all, and of one holder. Such a request runs on
        /// when its connection ends or it is cancelled, so the limits of connections do not apply to it then.
        var requestBytes = 64 << 20
        var requestBytesEach = 16 << 20
        /// The maximum size of the kept responses: in all, and of one holder.
        var bytes = 32 << 20
        var bytesEach = 4 << 20
        /// The maximum size of a single response that is kept.
        var responseBytes = 1 << 20

        /// Raises the limits of running requests if messages are long, so that one holder may have two of them.
        mutating func raise(forMessagesOf bytes: Int) {
            self.requestBytes = max(self.requestBytes, 8 * bytes)
            self.requestBytesEach = self.requestBytes / 4
        }
    }

    /// What to do with a request that has a key.
    enum OnRequest {
        /// The first request of its name, with the number of its execution.
        case execute(UInt64)
        /// The first request is still running.
        case wait(Work)
        case outcome(HandlerOutcome)
    }

    private struct Entry {
        enum State {
            case running(Work)
            case done(HandlerOutcome, bytes: Int)
        }

        /// The hash of the message. A key that is used for two different messages is an error of the caller, which must
        /// be reported.
        var fingerprint: Int
        var execution: UInt64
        var holder: QuotaHolder
        /// The size of the message while the request runs.
        var requestBytes: Int
        var state: State
    }

    /// The end of a kept key's time. It is void if the entry belongs to another execution by then.
    private struct End {
        var name: Name
        var execution: UInt64
        var time: Instant
    }

    private let limits: Limits
    private var entries: [Name: Entry] = [:]
    private var keys: KeyedLimiter<QuotaHolder>
    private var inFlight: KeyedLimiter<QuotaHolder>
    private var requestBytes: KeyedLimiter<QuotaHolder>
    private var responseBytes: KeyedLimiter<QuotaHolder>
    private var lastExecution: UInt64 = 0
    /// The ends of the kept keys, and of forgotten ones. Earliest first, because all keys are kept for the same time.
    private var ends = CircularBuffer<End>()
    /// The number of ``ends`` of forgotten keys.
    private var voidEnds = 0

    init(limits: Limits = Limits()) {
        self.limits = limits
        self.keys = KeyedLimiter(total: limits.keys, perKey: limits.keysEach, sharesOfFree: 4)
        self.inFlight = KeyedLimiter(total: limits.inFlight, perKey: limits.inFlightEach, sharesOfFree: 4)
        self.requestBytes = KeyedLimiter(total: limits.requestBytes, perKey: limits.requestBytesEach, sharesOfFree: 4)
        self.responseBytes = KeyedLimiter(total: limits.bytes, perKey: limits.bytesEach, sharesOfFree: 4)
    }

    /// The number of keys, running or kept.
    var count: Int { self.entries.count }
    /// The number of stored ends, of kept and of forgotten keys.
    var endCount: Int { self.ends.count }
    /// The size of the kept responses.
    var bytes: Int { self.responseBytes.count }
    /// The size of the messages of running requests.
    var runningBytes: Int { self.requestBytes.count }

    func isRunning(_ name: Name) -> Bool {
        if case .running = self.entries[name]?.state { true } else { false }
    }

    /// Decides on a request.
    ///
    /// - Parameters:
    ///   - holder: the holder of the quota that the request uses.
    ///   - fingerprint: the hash of the message.
    ///   - requestBytes: the size of the message.
    ///   - work: what a repeated request waits for.
    mutating func received(
        _ name: Name,
        of holder: QuotaHolder,
        fingerprint: Int,
        requestBytes: Int = 0,
        work: Work,
        now: Instant
    ) -> OnRequest {
        self.expire(now: now)
        if let entry = self.entries[name] {
            guard entry.fingerprint == fingerprint else { return .outcome(HandlerOutcome(.keyInUse)) }
            switch entry.state {
            case .running(let work): return .wait(work)
            case .done(var outcome, _):
                outcome.isRepeated = true
                return .outcome(outcome)
            }
        }
        guard self.keys.capacity(for: holder) == .free else { return .outcome(HandlerOutcome(.tooManyKept)) }
        guard self.requestBytes.capacity(for: holder, adding: requestBytes) == .free else {
            return .outcome(
                HandlerOutcome(Response(status: .resourceLimitsExceeded, failure: .requestNotHeld))
            )
        }
        guard self.inFlight.enter(holder) else { return .outcome(HandlerOutcome(.tooManyInFlight)) }
        self.requestBytes.add(requestBytes, for: holder)
        self.keys.add(1, for: holder)
        self.lastExecution += 1
        self.entries[name] = Entry(
            fingerprint: fingerprint,
            execution: self.lastExecution,
            holder: holder,
            requestBytes: requestBytes,
            state: .running(work)
        )
        return .execute(self.lastExecution)
    }

    /// Records the outcome of an execution.
    ///
    /// - Parameter bytes: the size of the response.
    mutating func executed(_ name: Name, _ outcome: HandlerOutcome, bytes: Int, now: Instant) {
        guard var entry = self.entries[name], case .running = entry.state else { return }
        self.inFlight.leave(entry.holder)
        self.requestBytes.add(-entry.requestBytes, for: entry.holder)
        entry.requestBytes = 0
        guard outcome.response.failure?.canRetry != true else {
            // A response with `canRetry` invites a retry, which must execute the request again.
            self.entries[name] = nil
            self.keys.leave(entry.holder)
            return
        }
        let isKept =
            bytes <= self.limits.responseBytes && self.responseBytes.enter(entry.holder, adding: max(bytes, 0))
        entry.state =
            isKept ? .done(outcome, bytes: max(bytes, 0)) : .done(HandlerOutcome(.responseNotKept), bytes: 0)
        self.entries[name] = entry
        self.ends.append(End(name: name, execution: entry.execution, time: now.advanced(by: self.limits.time)))
    }

    /// Removes a failure if it belongs to this execution.
    mutating func forgetFailure(_ name: Name, _ execution: UInt64) {
        guard let entry = self.entries[name], entry.execution == execution, case .done(let outcome, _) = entry.state,
            outcome.response.status != .success
        else { return }
        self.remove(name)
        self.voidEnds += 1
        guard self.voidEnds > 64, self.voidEnds * 2 > self.ends.count else { return }
        self.ends.removeAll { self.entries[$0.name]?.execution != $0.execution }
        self.voidEnds = 0
    }

    private mutating func expire(now: Instant) {
        while let end = self.ends.first, end.time <= now {
            self.ends.removeFirst()
            if self.entries[end.name]?.execution == end.execution {
                self.remove(end.name)
            } else {
                self.voidEnds -= 1
            }
        }
    }

    /// Removes a kept key.
    private mutating func remove(_ name: Name) {
        guard let entry = self.entries.removeValue(forKey: name), case .done(_, let bytes) = entry.state else { return }
        self.keys.leave(entry.holder)
        self.responseBytes.add(-bytes, for: entry.holder)
    }
}

extension Response {
    fileprivate static let keyInUse = Response(
        status: .failure,
        failure: WireFailure(
            "This idempotency key was used for another message a short time ago. Use a new key for each operation.",
            code: .keyReused
        )
    )

    fileprivate static let tooManyInFlight = Response(
        status: .resourceLimitsExceeded,
        failure: WireFailure(
            "Too many requests with an idempotency key are running on this host. Try again later.",
            code: .tooManyKeys,
            canRetry: true
        )
    )

    fileprivate static let tooManyKept = Response(
        status: .resourceLimitsExceeded,
        failure: WireFailure(
            "This host keeps as many idempotency keys of your system as it can, each for five minutes. The request was "
                + "not executed. Try again in some minutes, or send fewer requests with a key.",
            code: .keyQuotaExceeded,
            canRetry: true
        )
    )

    fileprivate static let responseNotKept = Response(
        status: .messageTooLarge,
        failure: WireFailure(
            "The request was executed already, and its response did not fit among those that the host keeps.",
            code: .responseNotKept
        )
    )
}
