// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
public import RemoteSystems
internal import RemoteSystemsDiscovery
internal import RemoteSystemsIdentity
internal import Synchronization

/// A network, a clock and a household of systems for one test: what appears, changes, vanishes and fails there is what the
/// test says, when it says so.
///
/// ```swift
/// try await DiscoveryStage.with { stage in
///     let speaker = try stage.system("Living room", services: [pingService])
///     let player = Player(stage.watcher())
///     try await stage.appears(speaker)
///     try await stage.vanishes(speaker, .silent)
///     try await stage.advance(by: .seconds(15))
///     #expect(player.state == .paused)
/// }
/// ```
///
/// Nothing of it touches a socket, a file or another process, yet all but the network is real: TLS 1.3 between systems of a
/// throw-away account, the wire protocol, hosts, watchers and connections. Each stage is a world of its own, so tests run at
/// the same time. Time stands still until ``advance(by:)``.
///
/// What a method of the stage sets going has been done when it returns, with all that follows from it at the same moment:
/// after ``appears(_:after:)`` a watcher of the stage has told its listeners. What the code under test does next in tasks of its
/// own is another matter: wait for it with ``eventually(_:_:)``, or let it run on ``taskExecutor``.
public final class DiscoveryStage: Sendable {
    /// The time of everything on the stage.
    public let clock: ManualClock
    /// How long, in real time, a test waits for something before it fails.
    public let patience: Duration

    let network: MemoryNetwork
    private let discovery = StageDiscovery()
    /// The machine that the code under test runs on.
    private let here: MemorySite
    private let lastSystem = Mutex(0)
    private let systems = Mutex<[StagedSystem]>([])
    /// What went wrong in steps of the script that had a delay.
    private let failures = Mutex<[StageError]>([])

    /// An empty stage. Call ``stop()`` when it is over, or use ``with(patience:_:)``.
    ///
    /// - Parameter patience: how long, in real time, a test waits for something before it fails.
    public init(patience: Duration = .seconds(10)) {
        self.clock = ManualClock(patience: patience)
        self.patience = patience
        self.network = MemoryNetwork(loop: self.clock.loop)
        self.here = self.network.makeSite()
    }

    /// Runs the body with a stage of its own, on ``taskExecutor``, and stops the stage afterwards.
    ///
    /// A body that awaits what waits for the stage's clock would never end, since nothing but the body moves the clock. It fails
    /// instead, once nothing has happened on the stage for as long as its patience lasts.
    ///
    /// - Throws: what the body throws; ``StageError`` when it stands still, which names what is due, and when.
    public static func with<Result>(
        patience: Duration = .seconds(10),
        _ body: (DiscoveryStage) async throws -> Result
    ) async throws -> Result {
        let stage = DiscoveryStage(patience: patience)
        let watch = StandstillWatch(stage)
        watch.start()
        do {
            let result = try await withTaskExecutorPreference(stage.taskExecutor) { try await body(stage) }
            let standstill = watch.stop()
            await stage.stop()
            if let standstill { throw standstill }
            return result
        } catch {
            let standstill = watch.stop()
            await stage.stop()
            throw standstill ?? error
        }
    }

    /// The clock's; the body of ``with(patience:_:)`` and its child tasks run there.
    public var taskExecutor: any TaskExecutor { self.clock.taskExecutor }

    /// Ends everything on the stage. What still waits for something is cancelled.
    public func stop() async {
        self.leaveAll()
        try? await self.clock.settle()
        self.clock.scheduler.abandonAll()
        try? await self.clock.settle()
        self.network.removeAll()
    }

    private func leaveAll() {
        self.network.cutAll()
        for system in self.systems.withLock({ $0 }) { system.leave(.crash) }
    }

    /// Ends what the test may wait for.
    func abandon() {
        self.leaveAll()
        self.clock.scheduler.abandonAll()
    }

    // MARK: The code under test

    /// For the code under test: makes its watchers, hosts and connections part of the stage. They run on a system of the
    /// account that is not one of ``system(_:kind:account:applications:)``.
    public var configuration: RemoteSystemsConfiguration { self.configuration(applicationID: "test.application") }

    /// ``configuration``, for an application with an id of its own.
    ///
    /// - Parameters:
    ///   - applicationID: the application's id.
    ///   - account: whose the system is on which it runs, for callers that are strangers to others on the stage.
    public func configuration(
        applicationID: String,
        account: StagedAccount = .own
    ) -> RemoteSystemsConfiguration {
        self.makeConfiguration(
            applicationID,
            at: self.here,
            facts: MachineFacts(displayName: "Here", kind: .desktop),
            identity: { try account.system(0) }
        )
    }

    private func makeConfiguration(
        _ application: String,
        at site: MemorySite,
        facts: MachineFacts,
        identity: @escaping @Sendable () throws -> SystemIdentity
    ) -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            discovery: [SiteDiscovery(stage: self.discovery, site: site)],
            logger: Logger(label: "RemoteSystemsTesting") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.environment.network = site.transportNetwork
        configuration.environment.identity = identity
        configuration.environment.applicationClaims = site.applicationClaims
        configuration.environment.facts = facts
        return configuration
    }

    /// A watcher with ``configuration``, for the code under test or for ``record(_:)``. It is not started.
    public func watcher(
        filters: [RemoteSystemFilter] = [],
        options: RemoteSystemWatcher.Options = RemoteSystemWatcher.Options()
    ) -> RemoteSystemWatcher {
        RemoteSystemWatcher(self.configuration, filters: filters, options: options)
    }

    /// Records what a watcher tells from now on.
    public func record(_ watcher: RemoteSystemWatcher) -> EventRecorder {
        EventRecorder(watcher, patience: self.patience, scheduler: self.clock.scheduler)
    }

    // MARK: Systems

    /// A system with one application. It is not there before ``appears(_:after:)``.
    public func system(
        _ displayName: String,
        kind: RemoteSystemKind = .desktop,
        account: StagedAccount = .own,
        application: String = "test.host",
        attributes: [String: String] = [:],
        services: [AppService] = []
    ) throws -> StagedSystem {
        try self.system(
            displayName,
            kind: kind,
            account: account,
            applications: [StagedApplication(application, attributes: attributes, services: services)]
        )
    }

    /// A system. It is not there before ``appears(_:after:)``.
    ///
    /// - Parameters:
    ///   - displayName: its name for people.
    ///   - kind: what sort of machine it is.
    ///   - account: whose it is.
    ///   - applications: what runs on it.
    /// - Throws: `RemoteSystemError` with the code `applicationAlreadyRunning` when two of the applications have one id and do not
    ///   both set ``StagedApplication/allowsSeveralProcesses``, with the code `invalidArgument` when an id, a service's name or
    ///   another value of a service is not valid; what keeps its keys from being made.
    public func system(
        _ displayName: String,
        kind: RemoteSystemKind = .desktop,
        account: StagedAccount = .own,
        applications: [StagedApplication]
    ) throws -> StagedSystem {
        try self.system(displayName, kind: kind, account: account, applications: applications, isNearby: true)
    }

    /// - Parameter isNearby: false for a system with an address of the Internet.
    package func system(
        _ displayName: String,
        kind: RemoteSystemKind = .desktop,
        account: StagedAccount = .own,
        applications: [StagedApplication],
        isNearby: Bool
    ) throws -> StagedSystem {
        try StagedApplication.check(applications)
        let number = self.lastSystem.withLock { last in
            last += 1
            return last
        }
        let identity = try account.system(number)
        let site = self.network.makeSite(isNearby: isNearby)
        let facts = MachineFacts(displayName: displayName, kind: kind)
        let system = StagedSystem(
            displayName: displayName,
            kind: kind,
            id: identity.systemID,
            applications: applications,
            site: site,
            configurations: applications.map {
                self.makeConfiguration($0.id, at: site, facts: facts) { identity }
            }
        )
        self.systems.withLock { $0.append(system) }
        return system
    }

    // MARK: The script

    /// The system starts its hosts and announces them; one that went silent is heard again.
    ///
    /// - Parameters:
    ///   - system: the system.
    ///   - delay: when, by the clock, from now. Valid range, here and below: 0–10 years. What is to happen later happens while ``advance(by:)`` gets there.
    public func appears(_ system: StagedSystem, after delay: Duration = .zero) async throws(StageError) {
        try await self.perform(after: delay) { [discovery = self.discovery] in
            discovery.hear(address: system.site.address, isGone: system.site.isCrashed)
            system.start()
        }
    }

    /// One of the system's applications says something else of itself.
    ///
    /// - Parameters:
    ///   - system: the system.
    ///   - application: which of its applications; the first unless given.
    ///   - attributes: what it says from then on.
    ///   - delay: when, by the clock, from now.
    public func changes(
        _ system: StagedSystem,
        application: String? = nil,
        attributes: [String: String],
        after delay: Duration = .zero
    ) async throws(StageError) {
        guard let application = application ?? system.applications.first?.id else { return }
        do {
            try RemoteSystemHost.check(attributes: attributes)
        } catch {
            throw StageError(error.message)
        }
        try await self.perform(after: delay) { await system.change(attributes, application: application) }
    }

    /// The system goes.
    ///
    /// - Parameters:
    ///   - system: the system.
    ///   - departure: how it goes. One that goes orderly finishes what is under way first, which may need time to move.
    ///   - delay: when, by the clock, from now.
    /// - Throws: ``StageError`` when the system is not there: it has not appeared, or has vanished already. With a delay
    ///   ``advance(by:)`` throws it.
    public func vanishes(
        _ system: StagedSystem,
        _ departure: StagedSystem.Departure = .orderly,
        after delay: Duration = .zero
    ) async throws(StageError) {
        try await self.perform(after: delay) { [discovery = self.discovery] () async throws(StageError) in
            guard system.isThere else {
                throw StageError(
                    "\(system.displayName) cannot vanish: it has not appeared (appears(_:after:)), or has vanished already."
                )
            }
            system.leave(departure)
            if departure != .orderly { discovery.silence(address: system.site.address) }
        }
    }

    /// Discovery tells of trouble, to every watcher there is and to those that start later, until ``recovers(from:after:)``.
    public func fails(with code: DiscoveryProblem.Code, after delay: Duration = .zero) async throws(StageError) {
        let trouble = DiscoveryProblem(
            code: code,
            message: "The test's script says that discovery is hampered.",
            advice: "Nothing needs to be done.",
            recoversByItself: true
        )
        try await self.perform(after: delay) { [discovery = self.discovery] in discovery.fail(trouble) }
    }

    /// The trouble is over.
    public func recovers(from code: DiscoveryProblem.Code, after delay: Duration = .zero) async throws(StageError) {
        try await self.perform(after: delay) { [discovery = self.discovery] in discovery.recover(code) }
    }

    private func perform(
        after delay: Duration,
        _ action: @escaping @Sendable () async throws(StageError) -> Void
    ) async throws(StageError) {
        try StageError.check("after", delay, in: .stageTimes)
        let loop = self.clock.loop
        loop.scheduleTask(in: TimeAmount(delay), what: "a step of the script") {
            Task(executorPreference: loop) {
                do throws(StageError) {
                    try await action()
                } catch {
                    self.failures.withLock { $0.append(error) }
                }
            }
        }
        try await self.settle()
    }

    private func throwFailure() throws(StageError) {
        let first = self.failures.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if let first { throw first }
    }

    // MARK: Time

    /// Moves the stage's clock on; see ``ManualClock/advance(by:)``.
    public func advance(by duration: Duration) async throws(StageError) {
        try await self.clock.advance(by: duration)
        try self.throwFailure()
    }

    /// Waits until nothing is left to do on the stage before time moves on.
    public func settle() async throws(StageError) {
        try await self.clock.settle()
        try self.throwFailure()
    }

    /// Waits, without moving the stage's clock, until the code under test has come so far.
    ///
    /// - Parameters:
    ///   - what: what is waited for, for the message.
    ///   - condition: whether it is so. Asked again and again.
    /// - Throws: ``StageError`` when it is not so within ``patience``; what the condition throws.
    public func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + self.patience
        self.clock.scheduler.beginRealWait()
        defer { self.clock.scheduler.endRealWait() }
        var pause = Duration.microseconds(50)
        while true {
            try await self.clock.settle()
            if try await condition() { return }
            guard ContinuousClock.now < end else { break }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(5))
        }
        let due = self.clock.scheduler.due.map { " Due by the stage's clock, if it has to be moved: \($0)." } ?? ""
        throw StageError("It did not come about within \(self.patience): \(what).\(due)")
    }
}
