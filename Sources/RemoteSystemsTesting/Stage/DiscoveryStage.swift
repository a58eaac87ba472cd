// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
public import RemoteSystems
internal import RemoteSystemsDiscovery
public import RemoteSystemsIdentity
internal import Synchronization

/// A staged network with a clock and systems, for one test. The test decides which systems appear, change, vanish
/// and fail, and when.
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
/// A stage uses no socket, file or other process. Everything except the network is real: TLS 1.3 between systems of a
/// throw-away account, the wire protocol, hosts, watchers and connections. Stages are independent, so tests can run in
/// parallel. Time stands still until ``advance(by:)``.
///
/// A method of the stage returns when everything that it causes at the same moment is done. For example, after
/// ``appears(_:after:)`` a watcher of the stage has notified its listeners. The stage does not know of tasks that the
/// code under test starts itself: wait for them with ``eventually(_:_:)``, or run them on ``taskExecutor``.
public final class DiscoveryStage: Sendable {
    /// The clock of everything on the stage.
    public let clock: ManualClock
    /// The maximum time that the test waits for an event or a condition. In real time.
    public let patience: Duration

    let network: MemoryNetwork
    private let discovery = StageDiscovery()
    private let linkedAccounts = LinkedStageAccounts()
    /// The machine of the code under test.
    private let here: MemorySite
    private let lastSystem = Mutex(0)
    private let systems = Mutex<[StagedSystem]>([])
    /// The errors of delayed steps of the script, and those with which hosts have ended.
    private let failures = Mutex<[StageError]>([])

    /// Creates an empty stage. Call ``stop()`` at the end, or use ``with(patience:_:)``.
    ///
    /// - Parameter patience: The maximum time that the test waits for an event or a condition. In real time. Defaults
    ///   to 10 s. Valid range: 1 ms–1 h; outside it, the methods that wait throw.
    public init(patience: Duration = .seconds(10)) {
        self.clock = ManualClock(patience: patience)
        self.patience = patience
        self.network = MemoryNetwork(loop: self.clock.loop)
        self.here = self.network.makeSite()
    }

    /// Runs a test with a new stage, and stops the stage afterwards.
    ///
    /// Only the body moves the clock. A body that awaits something for which the clock must move would wait forever.
    /// The test therefore fails when nothing has happened on the stage for the time `patience`.
    ///
    /// - Parameters:
    ///   - patience: The maximum time that the test waits for an event or a condition. In real time. Defaults to 10 s.
    ///     Valid range: 1 ms–1 h.
    ///   - body: The test. Runs on the stage's ``taskExecutor``.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body; ``StageError`` if nothing has happened on the stage for the time `patience`.
    ///   Its message names the next work that waits for the clock, and the time at which that work is due.
    public static func with<Result>(
        patience: Duration = .seconds(10),
        _ body: (DiscoveryStage) async throws -> Result
    ) async throws -> Result {
        let stage = DiscoveryStage(patience: patience)
        let watch = StandstillWatch(stage)
        watch.start()
        do {
            let result = try await withTaskExecutorPreference(stage.taskExecutor) {
                // The preference applies from the first suspension. Without one, the body would begin on a thread of
                // the global pool, and what waits for an actor that it has just left would stay there, unknown to the
                // stage.
                await Task.yield()
                return try await body(stage)
            }
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

    /// The executor of the stage's clock. The body of ``with(patience:_:)`` and its child tasks run on it.
    public var taskExecutor: any TaskExecutor { self.clock.taskExecutor }

    /// Ends all systems and connections on the stage, and cancels all work that still waits for the clock.
    public func stop() async {
        self.leaveAll()
        try? await self.clock.settle()
        self.clock.scheduler.abandonAll()
        try? await self.clock.settle()
        self.network.removeAll()
    }

    private func leaveAll() {
        self.network.cutAll()
        // The code of their applications may refer to the stage, which would never be released.
        let systems = self.systems.withLock { systems in
            defer { systems = [] }
            return systems
        }
        for system in systems { system.leave(.crash) }
    }

    /// Ends everything that the test may be waiting for.
    func abandon() {
        self.leaveAll()
        self.clock.scheduler.abandonAll()
    }

    /// Links ``StagedAccount/own`` with ``StagedAccount/linked``. Call it before a system appears and a watcher starts:
    /// those that are running do not change.
    ///
    /// - Parameters:
    ///   - granted: The rights that the account of the code under test grants to the linked account.
    ///   - received: The rights that the linked account grants. Defaults to none.
    public func link(granting granted: Grants, receiving received: Grants = Grants()) {
        self.linkedAccounts.link(granting: granted, receiving: received)
    }

    /// Withdraws the link, for what reads the account from now on.
    package func unlink() { self.linkedAccounts.unlink() }

    // MARK: The code under test

    /// The configuration for the code under test, with the application id `test.application`.
    ///
    /// Watchers, hosts and connections with it are part of the stage. They run on a system of the account that is not
    /// one of ``system(_:kind:account:applications:)``.
    public var configuration: RemoteSystemsConfiguration { self.configuration(applicationID: "test.application") }

    /// Returns ``configuration`` for an application with another id.
    ///
    /// - Parameters:
    ///   - applicationID: The application id.
    ///   - account: The account of the system on which the application runs. Use ``StagedAccount/other`` for a caller
    ///     that is anonymous to the other systems. Defaults to ``StagedAccount/own``.
    /// - Returns: A configuration whose watchers, hosts and connections are part of the stage.
    public func configuration(
        applicationID: String,
        account: StagedAccount = .own
    ) -> RemoteSystemsConfiguration {
        self.makeConfiguration(
            applicationID,
            at: self.here,
            facts: MachineFacts(displayName: "Here", kind: .desktop),
            account: account,
            identity: { try account.system(0) }
        )
    }

    private func makeConfiguration(
        _ application: String,
        at site: MemorySite,
        facts: MachineFacts,
        account: StagedAccount,
        identity: @escaping @Sendable () throws -> SystemIdentity
    ) -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            discovery: [SiteDiscovery(stage: self.discovery, site: site)],
            logger: Logger(label: "RemoteSystemsTesting") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.environment.network = site.transportNetwork
        configuration.environment.identity = identity
        configuration.environment.links = { [linkedAccounts] in try linkedAccounts.links(of: account) }
        configuration.environment.applicationClaims = site.applicationClaims
        configuration.environment.facts = facts
        return configuration
    }

    /// Creates a watcher with ``configuration``, for the code under test or for ``record(_:)``. It is not started.
    ///
    /// - Parameters:
    ///   - filters: The filters that choose which systems are reported. Defaults to no filter: every system of the
    ///     account is reported.
    ///   - options: The watcher's options. Defaults to `RemoteSystemWatcher.Options()`.
    public func watcher(
        filters: [RemoteSystemFilter] = [],
        options: RemoteSystemWatcher.Options = RemoteSystemWatcher.Options()
    ) -> RemoteSystemWatcher {
        RemoteSystemWatcher(self.configuration, filters: filters, options: options)
    }

    /// Records a watcher's events from now on. The recorder's waiting methods throw ``StageError`` if no event arrives
    /// within ``patience``.
    ///
    /// - Parameter watcher: The watcher. The recorder retains it and does not start it.
    public func record(_ watcher: RemoteSystemWatcher) -> EventRecorder {
        EventRecorder(watcher, patience: self.patience, scheduler: self.clock.scheduler)
    }

    // MARK: Systems

    /// Creates a system with one application. The system is not present before ``appears(_:after:)``.
    ///
    /// - Parameters:
    ///   - displayName: The system's display name.
    ///   - kind: The kind of machine. Defaults to `desktop`.
    ///   - account: The system's account. Defaults to ``StagedAccount/own``.
    ///   - application: The application id. Defaults to `test.host`.
    ///   - attributes: The application's attributes. Defaults to none.
    ///   - services: The application's services. Defaults to none.
    /// - Throws: `RemoteSystemError` with the code `invalidArgument` if the application id, the name of a service or
    ///   another value of a service is not valid; with the code `misuse` if the attributes exceed their limits; the
    ///   error of creating the system's keys.
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

    /// Creates a system with several applications. The system is not present before ``appears(_:after:)``.
    ///
    /// - Parameters:
    ///   - displayName: The system's display name.
    ///   - kind: The kind of machine. Defaults to `desktop`.
    ///   - account: The system's account. Defaults to ``StagedAccount/own``.
    ///   - applications: The applications that run on it.
    /// - Throws: `RemoteSystemError` with the code `applicationAlreadyRunning` if two applications have the same id and
    ///   do not both set ``StagedApplication/allowsSeveralProcesses``; with the code `invalidArgument` if an id, the
    ///   name of a service or another value of a service is not valid; with the code `misuse` if attributes exceed
    ///   their limits; the error of creating the system's keys.
    public func system(
        _ displayName: String,
        kind: RemoteSystemKind = .desktop,
        account: StagedAccount = .own,
        applications: [StagedApplication]
    ) throws -> StagedSystem {
        try self.system(displayName, kind: kind, account: account, applications: applications, isNearby: true)
    }

    /// Creates a system, on the local network or beyond it.
    ///
    /// - Parameter isNearby: False for a system with an Internet address.
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
                self.makeConfiguration($0.id, at: site, facts: facts, account: account) { identity }
            },
            onFailure: { [weak self] error in self?.failures.withLock { $0.append(error) } }
        )
        self.systems.withLock { $0.append(system) }
        return system
    }

    // MARK: The script

    /// Makes a system appear: the system starts its hosts and advertises them. A silent system is reachable again.
    ///
    /// - Parameters:
    ///   - system: The system.
    ///   - delay: The time until the system appears. By the stage's clock. Defaults to 0. Valid range: 0–10 years. With
    ///     a delay, the system appears during the call of ``advance(by:)`` that moves the clock to this time.
    /// - Throws: ``StageError`` if the system still finishes requests after an orderly departure, or if one of its
    ///   hosts ends with an error, for example because two services have the same name. With a delay,
    ///   ``advance(by:)`` throws these errors. Also if the delay is out of range, if the work on the stage does not end
    ///   within ``patience``, or if an earlier delayed step has failed.
    public func appears(_ system: StagedSystem, after delay: Duration = .zero) async throws(StageError) {
        try await self.perform(after: delay) { [discovery = self.discovery] () async throws(StageError) in
            discovery.hear(address: system.site.address, isGone: system.site.isCrashed)
            try system.start()
        }
    }

    /// Changes the attributes of one of a system's applications.
    ///
    /// - Parameters:
    ///   - system: The system.
    ///   - application: The application id. Defaults to `nil`: the system's first application.
    ///   - attributes: The new attributes.
    ///   - delay: The time until the change. By the stage's clock. Defaults to 0. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the system has no such application, if the attributes are not valid, if the delay is
    ///   out of range, if the work on the stage does not end within ``patience``, or if an earlier delayed step has
    ///   failed.
    public func changes(
        _ system: StagedSystem,
        application: String? = nil,
        attributes: [String: String],
        after delay: Duration = .zero
    ) async throws(StageError) {
        guard let application = application ?? system.applications.first?.id,
            system.applications.contains(where: { $0.id == application })
        else { throw StageError("\(system.displayName) has no such application.") }
        do {
            try RemoteSystemHost.check(attributes: attributes)
        } catch {
            throw StageError(error.message)
        }
        try await self.perform(after: delay) { await system.change(attributes, application: application) }
    }

    /// Makes a system vanish.
    ///
    /// - Parameters:
    ///   - system: The system.
    ///   - departure: The way in which the system vanishes. Defaults to ``StagedSystem/Departure/orderly``. An orderly
    ///     departure first finishes requests in progress, which may need the clock to move.
    ///   - delay: The time until the system vanishes. By the stage's clock. Defaults to 0. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the system is not present: it has not appeared, or has vanished already. With a
    ///   delay, ``advance(by:)`` throws this error. Also if the delay is out of range, if the work on the stage does
    ///   not end within ``patience``, or if an earlier delayed step has failed.
    public func vanishes(
        _ system: StagedSystem,
        _ departure: StagedSystem.Departure = .orderly,
        after delay: Duration = .zero
    ) async throws(StageError) {
        try await self.perform(after: delay) { [discovery = self.discovery] () async throws(StageError) in
            guard system.isThere else {
                throw StageError(
                    "\(system.displayName) cannot vanish: it has not appeared (appears(_:after:)), "
                        + "or has vanished already."
                )
            }
            system.leave(departure)
            if departure != .orderly { discovery.silence(address: system.site.address) }
        }
    }

    /// Makes discovery report a problem to every watcher, including those that start later, until
    /// ``recovers(from:after:)``.
    ///
    /// - Parameters:
    ///   - code: The kind of problem.
    ///   - delay: The time until the problem occurs. By the stage's clock. Defaults to 0. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the delay is out of range, if the work on the stage does not end within
    ///   ``patience``, or if an earlier delayed step has failed.
    public func fails(with code: DiscoveryProblem.Code, after delay: Duration = .zero) async throws(StageError) {
        let trouble = DiscoveryProblem(
            code: code,
            message: "The test's script has set this problem.",
            advice: "Nothing needs to be done.",
            recoversByItself: true
        )
        try await self.perform(after: delay) { [discovery = self.discovery] in discovery.fail(trouble) }
    }

    /// Ends a problem that ``fails(with:after:)`` has caused.
    ///
    /// - Parameters:
    ///   - code: The kind of problem.
    ///   - delay: The time until the problem ends. By the stage's clock. Defaults to 0. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the delay is out of range, if the work on the stage does not end within
    ///   ``patience``, or if an earlier delayed step has failed.
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

    /// Moves the stage's clock forward, from one moment at which something is due to the next.
    ///
    /// At each moment, the clock waits until all work on the stage is done.
    ///
    /// - Parameter duration: The duration to move by. Valid range: 0–10 years.
    /// - Throws: ``StageError`` if the duration is out of range, if the work at one moment does not end within
    ///   ``patience``, if a delayed step of the test has failed, or if a system's host has ended with an error.
    public func advance(by duration: Duration) async throws(StageError) {
        try await self.clock.advance(by: duration)
        try self.throwFailure()
    }

    /// Waits until nothing is left to do on the stage at this moment. Does not move the stage's clock.
    ///
    /// - Throws: ``StageError`` if the work does not end within ``patience``, if a delayed step of the test has failed,
    ///   or if a system's host has ended with an error.
    public func settle() async throws(StageError) {
        try await self.clock.settle()
        try self.throwFailure()
    }

    /// Waits until a condition of the code under test holds. Does not move the stage's clock.
    ///
    /// - Parameters:
    ///   - what: The condition in words, for the message of the error.
    ///   - condition: Returns `true` when the condition holds. Called repeatedly, in the calling task.
    /// - Throws: ``StageError`` if the condition does not hold within ``patience``; the error of the condition;
    ///   `CancellationError`.
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
        let due = self.clock.scheduler.due.map { " Due by the stage's clock (see advance(by:)): \($0)." } ?? ""
        throw StageError("This did not happen within \(self.patience): \(what).\(due)")
    }
}
