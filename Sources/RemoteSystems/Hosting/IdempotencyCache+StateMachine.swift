// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Which requests with a key are under way, and what the answers were to those that are done: the rules, without tasks or a
/// clock.
///
/// `Work` is what a repeated request waits for while the first one is under way.
struct IdempotencyCacheStateMachine<Instant: InstantProtocol, Work> where Instant.Duration == Duration {
    /// What makes two requests the same.
    struct Name: Hashable {
        var system: SystemID
        var service: String
        var key: [UInt8]
    }

    /// How much is remembered. What is beyond is forgotten, the oldest first.
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
        /// It is the first.
        case execute
        /// The first is still under way.
        case wait(Work)
        case response(Response)
    }

    private struct Entry {
        enum State {
            case running(Work)
            case answered(Response, bytes: Int, until: Instant)
        }

        /// Of the message: a key that is used for two of them is a mistake that must not go unseen.
        var fingerprint: Int
        var state: State
    }

    private let limits: Limits
    private var entries: [Name: Entry] = [:]
    private var inFlight: [SystemID: Int] = [:]
    /// Those that are answered, oldest first.
    private var answered = CircularBuffer<Name>()
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
            guard entry.fingerprint == fingerprint else { return .response(.keyInUse) }
            switch entry.state {
            case .running(let work): return .wait(work)
            case .answered(let response, _, _): return .response(response)
            }
        }
        // So that one system cannot have the room of all.
        guard self.inFlight[name.system, default: 0] < self.limits.inFlightEach else {
            return .response(.tooManyInFlight)
        }
        while self.entries.count >= self.limits.requests {
            // Those that are under way cannot be forgotten without being done twice.
            guard self.forgetOldest() else { return .response(.tooManyInFlight) }
        }
        self.entries[name] = Entry(fingerprint: fingerprint, state: .running(work))
        self.inFlight[name.system, default: 0] += 1
        return .execute
    }

    /// The first one is done.
    ///
    /// - Parameter bytes: how much room the answer takes.
    mutating func executed(_ name: Name, _ response: Response, bytes: Int, now: Instant) {
        guard self.isRunning(name) else { return }
        let others = self.inFlight[name.system, default: 1] - 1
        self.inFlight[name.system] = others > 0 ? others : nil
        guard response.failure?.canRetry != true else {
            // It says itself that asking again may help; that must then be of some use.
            self.entries[name] = nil
            return
        }
        let isKept = bytes <= self.limits.bytesEach
        let size = (isKept ? bytes : 0) + name.key.count + name.service.utf8.count + Self.overhead
        let until = now.advanced(by: self.limits.time)
        self.entries[name]?.state = .answered(isKept ? response : .responseTooLarge, bytes: size, until: until)
        self.answered.append(name)
        self.bytes += size
        while self.bytes > self.limits.bytes, self.forgetOldest() {}
    }

    /// What an entry takes beside its answer, in rough.
    private static var overhead: Int { 256 }

    private mutating func forget(now: Instant) {
        while let oldest = self.answered.first, case .answered(_, _, let until)? = self.entries[oldest]?.state,
            until <= now
        {
            self.forgetOldest()
        }
    }

    @discardableResult
    private mutating func forgetOldest() -> Bool {
        guard let oldest = self.answered.popFirst() else { return false }
        if case .answered(_, let bytes, _)? = self.entries.removeValue(forKey: oldest)?.state { self.bytes -= bytes }
        return true
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
