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

    /// The limits of the cache. When a limit is exceeded, the oldest response of the system that uses the most is
    /// removed first.
    struct Limits {
        var time = Duration.seconds(300)
        var requests = 1024
        /// The maximum number of running requests of one system.
        var inFlightEach = 128
        var bytes = 4 << 20
        /// The maximum size of a single response that is kept.
        var bytesEach = 1 << 20
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
            case done(HandlerOutcome, bytes: Int, until: Instant)
        }

        /// The hash of the message. A key that is used for two different messages is an error of the caller, which must
        /// be reported.
        var fingerprint: Int
        var execution: UInt64
        var state: State
    }

    /// The requests of one system.
    private struct Holder {
        var inFlight = 0
        /// The finished requests, oldest first.
        var done = CircularBuffer<Name>()
        var bytes = 0

        var count: Int { self.inFlight + self.done.count }
    }

    private let limits: Limits
    private var entries: [Name: Entry] = [:]
    private var holders: [SystemID: Holder] = [:]
    private var lastExecution: UInt64 = 0
    /// A time no later than the first expiry of an outcome; `nil` if none is kept.
    private var nextEnd: Instant?
    private(set) var bytes = 0

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    var count: Int { self.entries.count }

    func isRunning(_ name: Name) -> Bool {
        if case .running = self.entries[name]?.state { true } else { false }
    }

    mutating func received(_ name: Name, fingerprint: Int, work: Work, now: Instant) -> OnRequest {
        self.forget(now: now)
        if let entry = self.entries[name] {
            guard entry.fingerprint == fingerprint else { return .outcome(HandlerOutcome(.keyInUse)) }
            switch entry.state {
            case .running(let work): return .wait(work)
            case .done(var outcome, _, _):
                outcome.isRepeated = true
                return .outcome(outcome)
            }
        }
        // The limit keeps one system from using the whole cache.
        guard self.holders[name.system, default: Holder()].inFlight < self.limits.inFlightEach else {
            return .outcome(HandlerOutcome(.tooManyInFlight))
        }
        while self.entries.count >= self.limits.requests {
            // Running requests are never removed: a repeated request would then be executed twice.
            guard self.forgetOldest(ofLargest: \.count) else { return .outcome(HandlerOutcome(.tooManyInFlight)) }
        }
        self.lastExecution += 1
        self.entries[name] = Entry(fingerprint: fingerprint, execution: self.lastExecution, state: .running(work))
        self.holders[name.system, default: Holder()].inFlight += 1
        return .execute(self.lastExecution)
    }

    /// Records the outcome of an execution.
    ///
    /// - Parameter bytes: the size of the response.
    mutating func executed(_ name: Name, _ outcome: HandlerOutcome, bytes: Int, now: Instant) {
        guard self.isRunning(name), var holder = self.holders[name.system] else { return }
        holder.inFlight -= 1
        guard outcome.response.failure?.canRetry != true else {
            // A response with `canRetry` invites a retry, which must execute the request again.
            self.entries[name] = nil
            self.holders[name.system] = holder.count > 0 ? holder : nil
            return
        }
        let isKept = bytes <= self.limits.bytesEach
        let size = (isKept ? bytes : 0) + name.key.count + name.service.utf8.count + Self.overhead
        let until = now.advanced(by: self.limits.time)
        let kept = isKept ? outcome : HandlerOutcome(.responseTooLarge)
        self.entries[name]?.state = .done(kept, bytes: size, until: until)
        holder.done.append(name)
        holder.bytes += size
        self.holders[name.system] = holder
        self.bytes += size
        self.nextEnd = min(self.nextEnd ?? until, until)
        while self.bytes > self.limits.bytes, self.forgetOldest(ofLargest: \.bytes) {}
    }

    /// Removes a failure if it belongs to this execution.
    mutating func forgetFailure(_ name: Name, _ execution: UInt64) {
        guard let entry = self.entries[name], entry.execution == execution, case .done(let outcome, _, _) = entry.state,
            outcome.response.status != .success
        else { return }
        self.holders[name.system]?.done.removeAll { $0 == name }
        self.remove(name)
    }

    /// The approximate size of an entry without its response, in bytes.
    private static var overhead: Int { 256 }

    private mutating func forget(now: Instant) {
        guard let nextEnd, nextEnd <= now else { return }
        self.nextEnd = nil
        for system in Array(self.holders.keys) {
            while let oldest = self.holders[system]?.done.first,
                case .done(_, _, let until)? = self.entries[oldest]?.state
            {
                guard until <= now else {
                    self.nextEnd = min(self.nextEnd ?? until, until)
                    break
                }
                self.forgetOldest(of: system)
            }
        }
    }

    /// Removes the oldest outcome of the system that uses the most.
    ///
    /// - Returns: whether an outcome was removed.
    private mutating func forgetOldest(ofLargest size: (Holder) -> Int) -> Bool {
        var largest: (system: SystemID, size: Int, until: Instant)?
        for (system, holder) in self.holders {
            guard let oldest = holder.done.first, case .done(_, _, let until)? = self.entries[oldest]?.state else {
                continue
            }
            let size = size(holder)
            // Of systems that use the same, the one with the oldest outcome.
            if let largest, largest.size > size || largest.size == size && largest.until <= until { continue }
            largest = (system, size, until)
        }
        guard let largest else { return false }
        self.forgetOldest(of: largest.system)
        return true
    }

    private mutating func forgetOldest(of system: SystemID) {
        guard let oldest = self.holders[system]?.done.popFirst() else { return }
        self.remove(oldest)
    }

    /// Removes the entry of a name that its holder no longer lists.
    private mutating func remove(_ name: Name) {
        guard case .done(_, let bytes, _)? = self.entries.removeValue(forKey: name)?.state else { return }
        self.bytes -= bytes
        self.holders[name.system]?.bytes -= bytes
        if self.holders[name.system]?.count == 0 { self.holders[name.system] = nil }
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

    fileprivate static let responseTooLarge = Response(
        status: .messageTooLarge,
        failure: WireFailure(
            "The request was executed already, and its response was too large to be kept.",
            code: .responseNotKept
        )
    )
}
