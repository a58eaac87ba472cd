// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Which requests with a key are under way, and what the answers were to those that are done: the rules, without tasks or a
/// clock.
///
/// `Work` is what a repeated request waits for while the first one is under way.
struct IdempotencyCacheStateMachine<Work> {
    typealias Instant = ContinuousClock.Instant

    /// What makes two requests the same.
    struct Name: Hashable {
        var system: SystemID
        var service: String
        var key: [UInt8]
    }

    /// How much is remembered. Of what is beyond, the oldest of the system that has the most is forgotten first.
    struct Limits {
        var time = Duration.seconds(300)
        var requests = 1024
        /// Of one system, under way at the same time.
        var inFlightEach = 128
        var bytes = 4 << 20
        /// The largest single answer that is kept.
        var bytesEach = 1 << 20
    }

    enum OnRequest {
        /// It is the first, and this is the number of its execution.
        case execute(UInt64)
        /// The first is still under way.
        case wait(Work)
        case outcome(HandlerOutcome)
    }

    private struct Entry {
        enum State {
            case running(Work)
            case done(HandlerOutcome, bytes: Int, until: Instant)
        }

        /// Of the message: a key that is used for two of them is a mistake that must not go unseen.
        var fingerprint: Int
        var execution: UInt64
        var state: State
    }

    /// What is kept for one system.
    private struct Holder {
        var inFlight = 0
        /// Those that are done, oldest first.
        var done = CircularBuffer<Name>()
        var bytes = 0

        var count: Int { self.inFlight + self.done.count }
    }

    private let limits: Limits
    private var entries: [Name: Entry] = [:]
    private var holders: [SystemID: Holder] = [:]
    private var lastExecution: UInt64 = 0
    /// Not later than the first outcome's end; `nil` if none is kept.
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
        // So that one system cannot have the room of all.
        guard self.holders[name.system, default: Holder()].inFlight < self.limits.inFlightEach else {
            return .outcome(HandlerOutcome(.tooManyInFlight))
        }
        while self.entries.count >= self.limits.requests {
            // Those that are under way cannot be forgotten without being done twice.
            guard self.forgetOldest(ofLargest: \.count) else { return .outcome(HandlerOutcome(.tooManyInFlight)) }
        }
        self.lastExecution += 1
        self.entries[name] = Entry(fingerprint: fingerprint, execution: self.lastExecution, state: .running(work))
        self.holders[name.system, default: Holder()].inFlight += 1
        return .execute(self.lastExecution)
    }

    /// The first one is done.
    ///
    /// - Parameter bytes: how much room the answer takes.
    mutating func executed(_ name: Name, _ outcome: HandlerOutcome, bytes: Int, now: Instant) {
        guard self.isRunning(name), var holder = self.holders[name.system] else { return }
        holder.inFlight -= 1
        guard outcome.response.failure?.canRetry != true else {
            // It says itself that asking again may help; that must then be of some use.
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

    /// Forgets a failure, if it is that of the execution.
    mutating func forgetFailure(_ name: Name, _ execution: UInt64) {
        guard let entry = self.entries[name], entry.execution == execution, case .done(let outcome, _, _) = entry.state,
            outcome.response.status != .success
        else { return }
        self.holders[name.system]?.done.removeAll { $0 == name }
        self.remove(name)
    }

    /// What an entry takes beside its answer, in rough.
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

    /// - Returns: whether there was one.
    private mutating func forgetOldest(ofLargest size: (Holder) -> Int) -> Bool {
        var largest: (system: SystemID, size: Int, until: Instant)?
        for (system, holder) in self.holders {
            guard let oldest = holder.done.first, case .done(_, _, let until)? = self.entries[oldest]?.state else {
                continue
            }
            let size = size(holder)
            // Of equals the one that has the oldest.
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

    /// Takes away what is kept under a name that its holder no longer has.
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
            "This idempotency key was used for another message a short time ago. Use a new key for each thing that is "
                + "to be done.",
            code: .keyReused
        )
    )

    fileprivate static let tooManyInFlight = Response(
        status: .resourceLimitsExceeded,
        failure: WireFailure(
            "Too many requests with a key are under way here. Try again later.",
            code: .tooManyKeys,
            canRetry: true
        )
    )

    fileprivate static let responseTooLarge = Response(
        status: .messageTooLarge,
        failure: WireFailure(
            "The request was carried out already, and its answer was too large to be kept.",
            code: .responseNotKept
        )
    )
}
