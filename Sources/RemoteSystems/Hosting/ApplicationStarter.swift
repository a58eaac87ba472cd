// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Starts installed applications that do not run. All callers that request an application share one start.
///
/// Each other system has a share of the starts and of the callers that wait. The systems of a linked account have one
/// together. Only the limits in total apply to programs of this system.
actor ApplicationStarter {
    /// The result of a start: the port of the running application, or the reason why it did not start.
    enum Outcome: Sendable, Hashable {
        case running(port: Int)
        /// The reason, as a sentence.
        case failed(String)
    }

    private let installed: any InstalledApplications
    private let running: RunningApplications
    private let environment: RuntimeEnvironment
    private var timeout: Duration
    private let logger: Logger
    private let incidents: IncidentLog
    private var starts: [String: (task: Task<Outcome, Never>, holder: QuotaHolder?)] = [:]
    private var failures: [String: (text: String, until: ContinuousClock.Instant)] = [:]
    /// The starts by the holder that caused them, and the callers that wait. `nil` stands for this system.
    private var startLimits = KeyedLimiter<QuotaHolder?>(total: maxStarts, perKey: maxStartsOfSystem, sharesOfFree: 2)
    private var waiting = KeyedLimiter<QuotaHolder?>(total: maxWaiting, perKey: maxWaitingOfSystem, sharesOfFree: 2)
    private var isStopped = false

    /// The maximum number of applications that are started at the same time, in total and for one other system. Further
    /// ones of a system wait until one of its own has started, or are refused if it has none; then it may retry.
    static let maxStarts = 16
    static let maxStartsOfSystem = 4
    /// The maximum number of callers that wait for starts at the same time, in total and of one other system.
    static let maxWaiting = 256
    static let maxWaitingOfSystem = 32
    /// The time for which an application that failed to start is not started again.
    static let pause = Duration.seconds(2)

    init(
        installed: any InstalledApplications,
        running: RunningApplications,
        timeout: Duration,
        environment: RuntimeEnvironment,
        logger: Logger,
        incidents: IncidentLog
    ) {
        self.installed = installed
        self.running = running
        self.environment = environment
        self.timeout = Self.bounded(timeout)
        self.logger = logger
        self.incidents = incidents
    }

    private var time: TimeSource { self.environment.time }

    private static func bounded(_ timeout: Duration) -> Duration {
        min(max(timeout, .milliseconds(100)), .seconds(300))
    }

    func update(timeout: Duration) {
        self.timeout = Self.bounded(timeout)
    }

    /// Starts the application unless it runs, and waits until it can be reached.
    ///
    /// - Parameter subject: the peer that wants to use the application; `nil` for this process itself.
    func bringUp(_ id: String, for subject: Authorisation.Subject? = nil) async -> Outcome {
        if let outcome = self.outcome(of: id) { return outcome }
        let holder = subject.flatMap { $0.isLocal ? nil : $0.standing.quotaHolder(of: $0.system) }
        guard Self.permits(holder, self.waiting) else { return self.refuse(id, for: subject) }
        self.waiting.add(1, for: holder)
        defer { self.waiting.leave(holder) }
        // A system that needs more applications than its share, as after a login, gets one after the other.
        while self.starts[id] == nil, !Self.permits(holder, self.startLimits) {
            guard let own = self.starts.values.first(where: { $0.holder == holder }) else {
                return self.refuse(id, for: subject)
            }
            _ = await own.task.value
            if let outcome = self.outcome(of: id) { return outcome }
        }
        return await (self.starts[id]?.task ?? self.begin(id, for: holder)).value
    }

    /// The outcome that is known without a start.
    private func outcome(of id: String) -> Outcome? {
        guard !self.isStopped else { return .failed(Self.stopped) }
        if let port = self.running.port(of: id) { return .running(port: port) }
        guard let failure = self.failures[id] else { return nil }
        guard failure.until < self.time.now else { return .failed(failure.text) }
        self.failures[id] = nil
        return nil
    }

    private func refuse(_ id: String, for subject: Authorisation.Subject?) -> Outcome {
        if let subject {
            self.incidents.report(
                .startLimit,
                by: subject.quotaHolder,
                ["application": "\(id)", "system": "\(subject.system)"]
            )
        }
        return .failed("Too many applications are being started on that system; try again in a moment.")
    }

    private static func permits(_ holder: QuotaHolder?, _ limiter: KeyedLimiter<QuotaHolder?>) -> Bool {
        switch limiter.capacity(for: holder) {
        case .free: true
        case .fullForKey: holder == nil
        case .full: false
        }
    }

    /// Cancels all starts. Their callers are gone.
    func stop() {
        self.isStopped = true
        for start in self.starts.values { start.task.cancel() }
    }

    private static let stopped = "The host is shutting down."

    private func begin(_ id: String, for holder: QuotaHolder?) -> Task<Outcome, Never> {
        let start = Task(executorPreference: self.environment.taskExecutor) { await self.start(id, for: holder) }
        self.starts[id] = (start, holder)
        self.startLimits.add(1, for: holder)
        return start
    }

    private func start(_ id: String, for holder: QuotaHolder?) async -> Outcome {
        defer {
            self.starts[id] = nil
            self.startLimits.leave(holder)
        }
        let began = self.time.now
        self.logger.debug("Starting an application", metadata: ["application": "\(id)"])
        let timeout = self.timeout
        let outcome: Outcome
        if let first = await self.race(id, until: began + timeout) {
            outcome = first
        } else if let port = self.running.port(of: id) {
            // The application came up just before the timeout.
            outcome = .running(port: port)
        } else {
            await self.installed.didNotComeUp(id)
            outcome = .failed(
                "The application \(id) was started and did not come up within \(timeout / .seconds(1)) s. "
                    + "Does it run a RemoteSystemHost with that id and the same state directory?"
            )
        }
        switch outcome {
        case .running:
            self.logger.debug(
                "An application was started",
                metadata: ["application": "\(id)", "took": "\(self.time.now - began)"]
            )
        case .failed(let text):
            self.failures[id] = (text, self.time.now + Self.pause)
            // A peer can request the application again and again.
            self.incidents.report(.applicationNotStarted, ofApplication: id, reason: text)
        }
        return outcome
    }

    /// The first of three events: the application registers, its start fails, or the deadline passes (`nil`).
    private func race(_ id: String, until deadline: ContinuousClock.Instant) async -> Outcome? {
        let (installed, running, time) = (self.installed, self.running, self.time)
        return await withTaskGroup(of: First.self) { group in
            group.addTask {
                do {
                    try await installed.start(id)
                    return .nothing
                } catch is CancellationError {
                    return .nothing
                } catch {
                    let reason = (error as? RemoteSystemError)?.message ?? "\(error)"
                    return .outcome(.failed("The application \(id) could not be started: \(reason)"))
                }
            }
            if let registered = running.registered {
                group.addTask {
                    guard let port = await registered.port(whenRegistered: id) else { return .nothing }
                    return .outcome(.running(port: port))
                }
            }
            group.addTask {
                guard (try? await time.sleep(for: deadline - time.now)) != nil else { return .nothing }
                return .deadline
            }
            defer { group.cancelAll() }
            for await first in group {
                switch first {
                case .outcome(let outcome): return outcome
                case .deadline: return nil
                case .nothing: continue
                }
            }
            return .failed(Self.stopped)
        }
    }

    private enum First: Sendable {
        case outcome(Outcome)
        case deadline
        /// The start call has returned, or was cancelled.
        case nothing
    }
}
