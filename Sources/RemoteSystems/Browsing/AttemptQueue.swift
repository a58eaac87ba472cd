// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Decides when a browser's attempts to connect start, whatever caused them. Further attempts wait.
///
/// A handshake needs about a millisecond of processor time on each side. Without a limit, a browser that finds 1 000
/// systems at once processes all handshakes in turns, and hundreds of them exceed the host's timeout of 1 s
/// (``RemoteSystemsConfiguration/Transport/helloTimeout``).
///
/// Other machines cause most attempts, and choose their addresses. So attempts at addresses that were not
/// authenticated never take all places, machines take turns, at one machine advertised names take turns
/// (``AttemptTurns``), and each attempt takes *tokens* (``TokenBucket``) that return over time. An attempt that finds a
/// process of the account returns its tokens, so a network with many systems is listed at full speed, and an address
/// that has no such process is tried a few times a second at most.
///
/// A value type without I/O; times are arguments.
struct AttemptQueue {
    typealias Instant = ContinuousClock.Instant

    /// Why a browser connects, which decides when.
    enum Cause: Sendable, Hashable {
        /// The connection to a listed system was lost. The system stays listed for a short time only, so nothing but
        /// ``maxOpen`` delays the attempt. It takes no tokens for the authenticated address, which the system has to
        /// itself; the browser makes such an attempt once in ten seconds for each process (``BrowserTimes/stable``).
        case loss
        /// The process was authenticated before, or this machine's owner configured its address.
        case known
        /// Only an advertisement names the address.
        case hint
        /// A host named the process.
        case referral(SystemID)

        /// Whether another machine chooses how many of these attempts there are.
        var isForeign: Bool {
            switch self {
            case .loss, .known: false
            case .hint, .referral: true
            }
        }
    }

    /// What the connection is for.
    enum Purpose: Sendable, Hashable {
        case presence
        /// Only the topic `trust`, with a system whose advertisement does not carry the present tag.
        case exchangeOfTrust
    }

    struct Attempt: Sendable {
        var instance: String
        /// The advertised name, which others may copy. Defaults to `nil`: the instance has none.
        var name: String?
        var number: Int
        var endpoints: [Endpoint]
        /// Those of the endpoints of a known process at which it was not authenticated. They take the tokens of hints,
        /// and are left out if there are none.
        var hints: [Endpoint] = []
        var cause = Cause.known
        var purpose = Purpose.presence
        /// Whether the attempt must end early, because many others wait. Set by ``next(now:)``.
        var isHurried = false

        /// The endpoints that are no hints.
        fileprivate var others: [Endpoint] {
            self.hints.isEmpty ? self.endpoints : self.endpoints.filter { !self.hints.contains($0) }
        }
    }

    /// The maximum number of attempts that count at the same time. An attempt that takes long stops counting
    /// (``BrowserTimes/slowAttempt``), so that systems that do not respond do not delay the others.
    static let limit = 32
    /// The maximum number of counting attempts at addresses that were not authenticated.
    static let foreignLimit = 24
    /// The maximum number of attempts at the same time, slow ones included.
    static let maxOpen = 1024
    /// The maximum number of attempts at the same time at addresses that were not authenticated, slow ones included.
    static let maxForeignOpen = 192
    /// The number of waiting attempts from which on attempts are hurried.
    static let crowd = 64
    /// The connections that can be attempted at once, and in a second.
    static let burst = 256.0
    static let rate = 64.0
    /// The connections to one machine that can be attempted at once, and in a second.
    static let burstToMachine = 64.0
    static let rateToMachine = 4.0

    /// The keys of machines that take turns.
    private enum Lane: Hashable {
        case machine(PeerKey)
        case referrer(SystemID)
    }

    /// The attempts in one lane. Names take turns, so that many copies of one advertisement do not delay another one.
    private struct Line {
        private var names = AttemptTurns<String>()
        private var numbers: [String: ArraySlice<Int>] = [:]

        var isEmpty: Bool { self.numbers.isEmpty }
        var count: Int { self.numbers.values.reduce(0) { $0 + $1.count } }

        mutating func append(_ number: Int, of name: String) {
            if self.numbers[name] == nil { self.names.append(name, isNew: true) }
            self.numbers[name, default: []].append(number)
        }

        /// The next number that still waits. Those before it that do not are removed.
        mutating func next(_ isWaiting: (Int) -> Bool) -> Int? {
            while let name = self.names.first {
                while let number = self.numbers[name]?.first {
                    if isWaiting(number) { return number }
                    self.numbers[name]?.removeFirst()
                }
                self.numbers[name] = nil
                self.names.dropFirst()
            }
            return nil
        }

        /// Removes the number that ``next(_:)`` returned.
        mutating func removeNext() {
            guard let name = self.names.popFirst() else { return }
            self.numbers[name]?.removeFirst()
            if self.numbers[name]?.isEmpty ?? true {
                self.numbers[name] = nil
            } else {
                self.names.append(name, isNew: false)
            }
        }

        /// Removes the numbers that do not wait any more.
        mutating func keep(_ isWaiting: (Int) -> Bool) {
            self.numbers = self.numbers.compactMapValues { numbers in
                let left = numbers.filter(isWaiting)
                return left.isEmpty ? nil : left[...]
            }
            let left = self.numbers
            self.names.keep { left[$0] != nil }
        }
    }

    private struct Running {
        var attempt: Attempt
        var counts = true
    }

    private var waiting: [Int: Attempt] = [:]
    /// Attempts of each lane in order. Numbers that are not in ``waiting`` are removed from time to time.
    private var known: ArraySlice<Int> = []
    private var lanes: [Lane: Line] = [:]
    private var turns = AttemptTurns<Lane>()
    /// Lanes without tokens, with the time at which they have one.
    private var parked: [Lane: Instant] = [:]
    private var unparksAt: Instant?
    private var running: [Int: Running] = [:]
    /// The number of cancelled attempts since ``compact()``.
    private var cancelled = 0
    private var counting = 0
    private var foreignCounting = 0
    private var foreignOpen = 0
    private var tokens: TokenBucket
    private var machines = KeyedTokenBuckets<PeerKey>(capacity: Self.burstToMachine, rate: Self.rateToMachine)
    /// What attempts of ``Cause/known`` take from instead, so that advertisements of their addresses do not delay them.
    private var knownTokens: TokenBucket
    private var knownMachines = KeyedTokenBuckets<PeerKey>(capacity: Self.burstToMachine, rate: Self.rateToMachine)
    /// The findings of each system that return tokens.
    private var findings = KeyedTokenBuckets<SystemID>(capacity: Self.burstToMachine, rate: 1)

    /// The time at which ``next(now:)`` may return an attempt again, if none ends before.
    private(set) var nextTime: Instant?

    init(now: Instant) {
        self.tokens = TokenBucket(capacity: Self.burst, rate: Self.rate, now: now)
        self.knownTokens = self.tokens
    }

    /// The number of attempts that wait.
    var waitingCount: Int { self.waiting.count }
    var openCount: Int { self.running.count }
    /// The number of stored numbers of waiting attempts, including cancelled ones.
    var storedCount: Int { self.known.count + self.lanes.values.reduce(0) { $0 + $1.count } }

    // MARK: Waiting

    mutating func add(_ attempt: Attempt) {
        guard self.waiting.updateValue(attempt, forKey: attempt.number) == nil else { return }
        guard let lane = Self.lane(of: attempt) else {
            self.known.append(attempt.number)
            return
        }
        if self.lanes[lane] == nil { self.turns.append(lane, isNew: true) }
        self.lanes[lane, default: Line()].append(attempt.number, of: attempt.name ?? attempt.instance)
    }

    /// Removes an attempt that waits.
    mutating func cancel(_ number: Int) {
        guard self.waiting.removeValue(forKey: number) != nil else { return }
        // Numbers of cancelled attempts must not accumulate. This costs constant time for each on average.
        self.cancelled += 1
        if self.cancelled > 256, self.cancelled > self.waiting.count { self.compact() }
    }

    private mutating func compact() {
        self.cancelled = 0
        self.known = self.known.filter { self.waiting[$0] != nil }[...]
        self.lanes = self.lanes.compactMapValues { line in
            var line = line
            line.keep { self.waiting[$0] != nil }
            return line.isEmpty ? nil : line
        }
        let left = self.lanes
        self.turns.keep { left[$0] != nil }
        self.parked = self.parked.filter { self.lanes[$0.key] != nil }
    }

    private static func lane(of attempt: Attempt) -> Lane? {
        switch attempt.cause {
        case .loss, .known: nil
        case .referral(let system): .referrer(system)
        case .hint: .machine(PeerKey(attempt.endpoints.first ?? Endpoint(host: "", port: 0)))
        }
    }

    // MARK: Starting

    /// Removes and returns the next attempt to start; `nil` if none may start now.
    mutating func next(now: Instant) -> Attempt? {
        self.nextTime = nil
        guard let next = self.nextKnown(now: now) ?? self.nextForeign(now: now) else { return nil }
        self.start(next, now: now)
        return next
    }

    /// Counts an attempt after a loss, which does not wait. Returns it with the endpoints to try, perhaps none; `nil`
    /// if it may not start.
    mutating func startAtOnce(_ attempt: Attempt, now: Instant) -> Attempt? {
        guard self.running.count < Self.maxOpen else { return nil }
        let permitted = self.permitted(attempt, now: now)
        self.start(permitted, now: now, counts: false)
        return permitted
    }

    /// The attempt without the hints for which there are no tokens.
    private func permitted(_ attempt: Attempt, now: Instant) -> Attempt {
        guard !attempt.hints.isEmpty else { return attempt }
        let hasTokens = self.tokens.permits(at: now)
        let hints = attempt.hints.filter {
            hasTokens && ($0.isLoopback || self.machines.permits(PeerKey($0), at: now))
        }
        var permitted = attempt
        permitted.hints = hints
        permitted.endpoints = attempt.endpoints.filter { hints.contains($0) || !attempt.hints.contains($0) }
        return permitted
    }

    private mutating func nextKnown(now: Instant) -> Attempt? {
        guard self.counting < Self.limit, self.running.count < Self.maxOpen else { return nil }
        guard self.knownTokens.permits(at: now) else {
            self.noteTime(self.knownTokens.nextTime(after: now), if: !self.known.isEmpty)
            return nil
        }
        var postponed: [Int] = []
        defer { self.known = postponed[...] + self.known }
        while let number = self.known.popFirst() {
            guard let attempt = self.waiting[number] else { continue }
            if let time = self.delay(attempt.others, self.knownMachines, now: now) {
                postponed.append(number)
                self.noteTime(time)
                continue
            }
            self.waiting[number] = nil
            return self.permitted(attempt, now: now)
        }
        return nil
    }

    private mutating func nextForeign(now: Instant) -> Attempt? {
        guard self.counting < Self.limit, self.foreignCounting < Self.foreignLimit,
            self.running.count < Self.maxOpen, self.foreignOpen < Self.maxForeignOpen
        else { return nil }
        self.unpark(now: now)
        guard self.tokens.permits(at: now) else {
            self.noteTime(self.tokens.nextTime(after: now), if: !self.turns.isEmpty)
            return nil
        }
        while let lane = self.turns.popFirst() {
            // Taken out meanwhile, so that changing it copies nothing.
            guard var line = self.lanes.removeValue(forKey: lane), let number = line.next({ self.waiting[$0] != nil }),
                var attempt = self.waiting[number]
            else { continue }
            if let time = self.delay(attempt.endpoints, self.machines, now: now) {
                self.lanes[lane] = line
                self.parked[lane] = time
                self.unparksAt = self.unparksAt.map { min($0, time) } ?? time
                continue
            }
            line.removeNext()
            self.waiting[number] = nil
            if !line.isEmpty {
                self.lanes[lane] = line
                self.turns.append(lane, isNew: false)
            }
            attempt.isHurried = self.turns.count > Self.crowd
            return attempt
        }
        if let unparksAt { self.noteTime(unparksAt) }
        return nil
    }

    private mutating func unpark(now: Instant) {
        guard let unparksAt, unparksAt <= now else { return }
        let due = self.parked.filter { $0.value <= now }.keys
        for lane in due {
            self.parked[lane] = nil
            self.turns.append(lane, isNew: false)
        }
        self.unparksAt = self.parked.values.min()
    }

    /// The time at which a connection to each of the endpoints may be attempted; `nil` for now.
    private func delay(_ endpoints: [Endpoint], _ buckets: KeyedTokenBuckets<PeerKey>, now: Instant) -> Instant? {
        let times = Self.machines(endpoints).keys.map { buckets.nextTime(of: $0, after: now) }
        return times.max().flatMap { $0 > now ? $0 : nil }
    }

    /// The machines at the endpoints, with the number of endpoints of each. Loopback is not limited: only programs of
    /// this machine can advertise or be reached there.
    private static func machines(_ endpoints: [Endpoint]) -> [PeerKey: Int] {
        endpoints.lazy.filter { !$0.isLoopback }.reduce(into: [:]) { $0[PeerKey($1), default: 0] += 1 }
    }

    private mutating func noteTime(_ time: Instant, if isNeeded: Bool = true) {
        guard isNeeded else { return }
        self.nextTime = self.nextTime.map { min($0, time) } ?? time
    }

    private mutating func start(_ attempt: Attempt, now: Instant, counts: Bool = true) {
        self.running[attempt.number] = Running(attempt: attempt, counts: counts)
        if counts { self.counting += 1 }
        switch attempt.cause {
        case .hint, .referral:
            self.foreignOpen += 1
            self.foreignCounting += 1
            self.takeTokens(for: attempt.endpoints, now: now)
        case .known:
            let endpoints = attempt.others
            self.knownTokens.take(Double(max(endpoints.count, 1)), at: now)
            for (key, count) in Self.machines(endpoints) { self.knownMachines.take(Double(count), of: key, at: now) }
            if !attempt.hints.isEmpty { self.takeTokens(for: attempt.hints, now: now) }
        case .loss:
            if !attempt.hints.isEmpty { self.takeTokens(for: attempt.hints, now: now) }
        }
    }

    private mutating func takeTokens(for endpoints: [Endpoint], now: Instant) {
        self.tokens.take(Double(max(endpoints.count, 1)), at: now)
        for (key, count) in Self.machines(endpoints) { self.machines.take(Double(count), of: key, at: now) }
    }

    // MARK: Ending

    /// Stops counting an attempt that takes long.
    mutating func release(_ number: Int) {
        guard let running = self.running[number], running.counts else { return }
        self.running[number]?.counts = false
        self.counting -= 1
        if running.attempt.cause.isForeign { self.foreignCounting -= 1 }
    }

    /// Handles the end of an attempt.
    ///
    /// The machines at the hints of a known process get no tokens back: the process may have been found at its own
    /// address, and announces addresses of other machines.
    ///
    /// - Parameter system: the system of the account that was found; `nil` if the attempt failed.
    mutating func ended(_ number: Int, found system: SystemID? = nil, now: Instant) {
        self.release(number)
        guard let attempt = self.running.removeValue(forKey: number)?.attempt else { return }
        if attempt.cause.isForeign { self.foreignOpen -= 1 }
        guard let system, self.findings.tryTake(system, at: now) else { return }
        switch attempt.cause {
        case .hint, .referral:
            self.tokens.putBack(Double(max(attempt.endpoints.count, 1)), at: now)
            for (key, count) in Self.machines(attempt.endpoints) {
                self.machines.putBack(Double(count), of: key, at: now)
            }
        case .known:
            let endpoints = attempt.others
            self.knownTokens.putBack(Double(max(endpoints.count, 1)), at: now)
            for (key, count) in Self.machines(endpoints) {
                self.knownMachines.putBack(Double(count), of: key, at: now)
            }
            self.tokens.putBack(Double(attempt.hints.count), at: now)
        case .loss:
            self.tokens.putBack(Double(attempt.hints.count), at: now)
        }
    }
}
