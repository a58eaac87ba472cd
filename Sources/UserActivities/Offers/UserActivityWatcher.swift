// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
public import RemoteSystems
internal import RemoteSystemsIdentity
internal import Synchronization

/// Lists the activities that the applications of other systems offer for continuation.
///
/// ```swift
/// let watcher = UserActivityWatcher(RemoteSystemsConfiguration(applicationID: "com.example.shell"))
/// try await watcher.start()
/// for await offers in watcher.changes { panel.show(offers) }
/// ```
///
/// The watcher shares the connections of the process's other watchers, and uses the network until ``stop()``. It stops
/// by itself when this system leaves its account; ``start()`` then throws the reason.
public final class UserActivityWatcher: Sendable {
    private struct State {
        var table = OfferTable()
        var readers = StreamReaders<[UserActivityOffer]>()
        var expiry: (time: ContinuousClock.Instant, task: Task<Void, Never>)?
        var reading: Task<Void, Never>?
        /// Whether the systems that were present at the start were found.
        var hasEnumerated = false
        /// Counts the ends, so that a late end of one run does not end the next one.
        var run = 0

        /// Whether all present systems have sent their records.
        func isEnumerated(withOwnSystem expectsOwnSystem: Bool) -> Bool {
            self.hasEnumerated && self.table.isComplete && (!expectsOwnSystem || self.table.hasOwnSystem)
        }
    }

    private let configuration: RemoteSystemsConfiguration
    private let filters: [RemoteSystemFilter]
    private let clock: FeatureClock
    private let state = Mutex(State())
    private let readHasSignedManifests: @Sendable () -> Bool
    private let watcher: RemoteSystemWatcher
    private let receiver: Receiver

    /// Passes what the watcher of systems reports to this object, which is created after it.
    private final class Receiver: Sendable {
        private let target = Mutex<(@Sendable (TopicChange) -> Void)?>(nil)
        func set(_ target: @escaping @Sendable (TopicChange) -> Void) { self.target.withLock { $0 = target } }
        func take(_ change: TopicChange) { self.target.withLock { $0 }?(change) }
    }

    /// Creates a watcher. ``start()`` uses the network.
    ///
    /// - Parameters:
    ///   - configuration: this process's configuration.
    ///   - filters: the filters that choose the systems whose offers are listed. Defaults to no filter: every system of
    ///     the account. With the filters `authorizationKind(.sameUser)` and `authorizationKind(.linked)`, also systems
    ///     of linked accounts, as far as these grant it.
    public convenience init(_ configuration: RemoteSystemsConfiguration, filters: [RemoteSystemFilter] = []) {
        self.init(configuration, filters: filters) { false }
    }

    /// - Parameter hasSignedManifests: whether a manifest of this system is signed, or was before it was damaged. For
    ///   programs that read the manifests: a damaged one is not listed, and counts for the developer mode, too.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = [],
        hasSignedManifests: @escaping @Sendable () -> Bool
    ) {
        let receiver = Receiver()
        self.readHasSignedManifests = hasSignedManifests
        self.configuration = configuration
        self.clock = FeatureClock(configuration)
        self.receiver = receiver
        self.filters = filters
        var options = RemoteSystemWatcher.Options()
        // ``enumerate(within:)`` has a limit of its own, which the caller chooses.
        options.enumerationTime = .seconds(3600)
        self.watcher = RemoteSystemWatcher(
            configuration,
            filters: filters,
            options: options,
            topics: [ActivityDescriptor.topic]
        ) { receiver.take($0) }
        receiver.set { [weak self] change in
            self?.change {
                $0.published(
                    change.records,
                    by: change.system,
                    of: change.linkedAccount,
                    isComplete: change.isComplete,
                    now: $1
                )
            }
        }
    }

    deinit {
        let (expiry, reading) = self.state.withLock { state in
            state.readers.finish()
            return (state.expiry?.task, state.reading)
        }
        expiry?.cancel()
        reading?.cancel()
    }

    /// Starts watching.
    ///
    /// - Throws: `RemoteSystemError` as `RemoteSystemWatcher.start()` does.
    public func start() async throws(RemoteSystemError) {
        let events = self.watcher.events
        try await self.watcher.start()
        let run = self.state.withLock { $0.run }
        let reading = self.clock.task { [weak self] in
            for await event in events { self?.take(event) }
            // Without ``stop()``, the events end only when this system has left its account.
            self?.end(run)
        }
        self.state.withLock { $0.reading = reading }
    }

    /// Stops watching. The sequences of ``changes`` end.
    public func stop() async {
        await self.watcher.stop()
        self.end(self.state.withLock { $0.run })
    }

    private func end(_ run: Int) {
        let ended: State? = self.state.withLock { state in
            guard state.run == run else { return nil }
            state.readers.finish()
            defer { state = State(run: run + 1) }
            return state
        }
        ended?.reading?.cancel()
        ended?.expiry?.task.cancel()
    }

    /// The present offers, ordered by system and application. Empty while the watcher is stopped.
    public var offers: [UserActivityOffer] {
        let now = self.clock.now
        return self.state.withLock { $0.table.offers(now: now) }
    }

    /// The offers of this system's own applications, which other systems can continue.
    public var ownOffers: [UserActivityOffer] {
        let now = self.clock.now
        return self.state.withLock { $0.table.offers(ofThisSystem: true, now: now) }
    }

    /// The number of activities of other systems that are not in ``offers``. At most 4 of one application, 64 of one
    /// system, 64 of one linked account and 4096 in all are listed.
    public var omittedOfferCount: Int { self.state.withLock { $0.table.omittedCount } }

    /// Waits until the present systems were found and have sent their offers. This includes this system, if one of its
    /// applications runs: what it continues decides about ``choice(for:in:)``.
    ///
    /// - Parameter limit: the maximum time to wait.
    public func enumerate(within limit: Duration) async { await self.enumerate(within: limit) { _, _, _ in false } }

    /// The maximum time to wait for further systems after an offer was found by its id.
    private static let settlingTime = Duration.milliseconds(300)

    /// Waits until an offer of another system of this account is listed, or until ``enumerate(within:)`` would return.
    /// The former is sooner: discovery settles after a second or two.
    ///
    /// Another system may have copied the id, and answer first. So this also waits, for at most 0.3 s, until the
    /// systems to which connections are open or being opened have sent their offers. A system that is found later, or
    /// takes longer, is not waited for.
    ///
    /// - Parameters:
    ///   - offer: the id of the offer.
    ///   - origin: the system or the application that offers it (``UserActivityOffer/isFrom(_:)``); `nil` for any.
    ///   - withHandlers: whether to wait also until it is known which applications of this system can continue it.
    ///   - limit: the maximum time to wait.
    package func find(
        _ offer: UUID,
        from origin: String? = nil,
        withHandlers: Bool,
        within limit: Duration
    ) async {
        let end = self.clock.now + limit
        await self.enumerate(within: limit) { offers, table, expectsOwnSystem in
            // An offer of a linked account may repeat the id of one of this account, which is preferred.
            let isListed = offers.contains { listed in
                listed.id == offer && listed.system.authorizationKind == .sameUser
                    && (origin.map { listed.isFrom($0) } ?? true)
            }
            return isListed && (!withHandlers || !expectsOwnSystem || table.hasOwnHandlers)
        }
        let left = min(Self.settlingTime, end - self.clock.now)
        if left > .zero { await self.settle(within: left) }
    }

    /// Waits until the systems to which connections are open or being opened have sent their offers.
    private func settle(within limit: Duration) async {
        let changes = self.changes
        _ = await self.clock.first(within: limit) {
            await self.watcher.waitForFoundSystems()
            for await _ in changes {
                let systems = self.watcher.systems
                if self.state.withLock({ $0.table.isComplete(with: systems) }) { return }
            }
        }
    }

    /// - Parameter isEnough: whether what is known so far is enough for the caller.
    private func enumerate(
        within limit: Duration,
        orUntil isEnough: @escaping @Sendable ([UserActivityOffer], OfferTable, _ expectsOwnSystem: Bool) -> Bool
    ) async {
        let changes = self.changes
        // Other systems may be found at once where they were met before. This system is not, and discovery may have
        // settled before it has found it.
        let listsOwnSystem = self.filters.isEmpty || self.filters == .withLinkedAccounts
        let expectsOwnSystem = listsOwnSystem && self.watcher.expectsOwnSystem
        _ = await self.clock.first(within: limit) {
            for await offers in changes {
                let isOver = self.state.withLock { state in
                    state.isEnumerated(withOwnSystem: expectsOwnSystem)
                        || isEnough(offers, state.table, expectsOwnSystem)
                }
                if isOver { return }
            }
        }
    }

    /// Where an offer can be continued on this system now. Continue it with
    /// `RemoteSystemApplication.continue(_:)`.
    ///
    /// - Parameters:
    ///   - offer: an offer of another system.
    ///   - application: the id of the only application to consider. Defaults to `nil`: all are considered, and then the
    ///     browser. A page of a browser (``UserActivity/browsingWeb``) is then continued by its address only.
    public func choice(for offer: UserActivityOffer, in application: String? = nil) -> ContinuationChoice {
        guard let settings = try? HandOffSettings.read(self.configuration), settings.everything.receiving else {
            return .none
        }
        // A page goes to an application of its site or to the browser. An application that only states that it shows
        // pages would get those of all sites, so the user has to name it.
        let isPage = offer.activityType == UserActivity.browsingWeb && application == nil
        let handlers = isPage ? [] : self.state.withLock { $0.table.handlers(of: offer.activityType) }
        return ContinuationChoice(
            offer,
            handlers: handlers.filter { settings.permission(of: $0.application.id).receiving },
            acceptsUnsigned: settings.acceptsUnsigned(hasSignedManifests: self.hasSignedManifests),
            preferred: application
        )
    }

    /// The reasons why the applications of this system that continue activities of an offer's type do not continue this
    /// one: a sentence each. Empty for a page of a browser, which goes to an application of its site.
    package func passedOver(for offer: UserActivityOffer) -> [String] {
        guard offer.activityType != UserActivity.browsingWeb,
            let settings = try? HandOffSettings.read(self.configuration)
        else { return [] }
        let (handlers, withoutTypes) = self.state.withLock { state in
            (state.table.handlers(of: offer.activityType), state.table.ownApplicationsWithoutTypes)
        }
        return ContinuationChoice.reasons(
            against: handlers,
            withoutTypes: withoutTypes,
            for: offer,
            acceptsUnsigned: settings.acceptsUnsigned(hasSignedManifests: self.hasSignedManifests),
            isPermitted: { settings.permission(of: $0).receiving }
        )
    }

    /// Checks the conditions under which an activity can be continued, as far as this system can know them. Call it
    /// after ``enumerate(within:)``.
    ///
    /// - Parameter activity: the beginning of an activity's id, or its type. Defaults to `nil`: any activity.
    /// - Returns: the conditions in their order, up to the first one that is not met.
    public func findings(about activity: String? = nil) async -> [ContinuationFinding] {
        await self.findings(about: activity, browserProblem: nil)
    }

    /// - Parameters:
    ///   - chosen: the only offer to consider. Defaults to `nil`: all offers are considered.
    ///   - browserProblem: the reason why the default browser of this system opens no web address, in a sentence; `nil`
    ///     if it does, or if that is not known. A running browser with the extension opens them, too.
    package func findings(
        about activity: String?,
        in chosen: UserActivityOffer? = nil,
        browserProblem: String?
    ) async -> [ContinuationFinding] {
        func facts(_ offers: [UserActivityOffer]) -> [ContinuationFacts.Offer] {
            offers.map {
                ContinuationFacts.Offer(
                    id: $0.id.uuidString.lowercased(),
                    type: $0.activityType,
                    system: $0.system.idAndName(),
                    hasWebpage: $0.hasWebpage,
                    application: $0.applicationID,
                    publisher: $0.publisher,
                    isSameAccount: $0.system.authorizationKind == .sameUser
                )
            }
        }
        func found(_ systems: [RemoteSystem]) -> [ContinuationFacts.System] {
            systems.filter { !$0.isLocal }.map {
                ContinuationFacts.System(
                    name: $0.idAndName(),
                    isNear: $0.isAvailableByProximity,
                    isSameAccount: $0.authorizationKind == .sameUser
                )
            }
        }
        let unlisted = await self.watcher.unlisted
        let ownApplications = self.systems.first(where: \.isLocal)?.applications.map(\.id) ?? []
        let hasRunningBrowser = ownApplications.contains { BuiltInApplication.isWebBrowser($0) }
        // The watcher's filters may leave this system out.
        let hasDaemon =
            ownApplications.contains(RemoteSystemHost.machineApplicationID)
            || RemoteSystemsDiagnosis.isHostDaemonRunning(self.configuration)
        let (handlers, withoutTypes) = self.state.withLock { ($0.table.handlers, $0.table.ownApplicationsWithoutTypes) }
        return ContinuationFacts(
            wanted: activity,
            settings: try? HandOffSettings.read(self.configuration),
            systems: found(self.systems),
            excluded: found(unlisted.excluded),
            unreachable: unlisted.unreachable + unlisted.refusals.keys,
            otherAccounts: unlisted.otherAccounts,
            otherVersions: unlisted.otherVersions,
            hasLinks: self.watcher.hasLinks,
            offers: facts(self.offers.filter { offer in chosen.map { offer.isSame(as: $0) } ?? true }),
            ownOffers: facts(self.ownOffers),
            hasDaemon: hasDaemon,
            hasSignedManifests: self.hasSignedManifests,
            browserProblem: hasRunningBrowser ? nil : browserProblem,
            handlers: handlers.map { handler in
                ContinuationFacts.Handler(
                    application: handler.application,
                    system: handler.system.isLocal ? nil : handler.system.idAndName(),
                    types: handler.types,
                    publisher: handler.system.application(handler.application)?.publisher ?? .unproven(nil),
                    isSameAccount: handler.system.authorizationKind == .sameUser
                )
            },
            withoutTypes: withoutTypes
        ).findings
    }

    /// Whether at least one application manifest of this system is signed, as the host daemon of this system reports.
    /// `false` if no host daemon runs.
    public var hasSignedManifests: Bool {
        self.state.withLock { $0.table.hasSignedManifests } || self.readHasSignedManifests()
    }

    /// Whether an offered activity is continued here by its web address.
    ///
    /// - Parameter activity: the beginning of an activity's id, or its type; `nil` for any activity.
    package func isContinuedByAddress(_ activity: String?) -> Bool {
        let wanted = activity?.lowercased()
        return self.offers.contains { offer in
            let isWanted =
                wanted.map { offer.id.uuidString.lowercased().hasPrefix($0) || offer.activityType.lowercased() == $0 }
                ?? true
            return isWanted && self.choice(for: offer) == .browser
        }
    }

    /// The systems that are listed now.
    package var systems: [RemoteSystem] { self.watcher.systems }

    /// The present offers, and again after each change. Each access returns a new sequence, which keeps the newest list
    /// only: a slow reader misses intermediate lists. It ends when the watcher stops or the reading task is cancelled.
    public var changes: AsyncStream<[UserActivityOffer]> {
        let now = self.clock.now
        return self.state.withLock { $0.readers.add($0.table.offers(now: now)).stream }
    }

    private func take(_ event: RemoteSystemEvent) {
        switch event {
        case .added(let system), .updated(let system): self.change { table, _ in table.listed(system) }
        case .removed(let system): self.change { table, _ in table.removed(system.id) }
        case .enumerationCompleted:
            self.state.withLock { $0.hasEnumerated = true }
            self.change { _, _ in }
        case .error: break
        }
    }

    /// Changes the table, reports the offers, and waits for the end of the next one.
    private func change(_ change: (inout OfferTable, ContinuousClock.Instant) -> Void) {
        let clock = self.clock
        let now = clock.now
        self.state.withLock { state in
            change(&state.table, now)
            state.table.expire(now: now)
            if !state.readers.isEmpty { state.readers.yield(state.table.offers(now: now)) }
            guard let next = state.table.nextEnd, next != state.expiry?.time else { return }
            state.expiry?.task.cancel()
            let task = clock.task(at: next) { [weak self] in self?.change { _, _ in } }
            state.expiry = (next, task)
        }
    }
}

extension [RemoteSystemFilter] {
    /// The filters of a watcher that lists the offers of this account's systems, and those of linked accounts as far as
    /// they grant it.
    package static var withLinkedAccounts: [RemoteSystemFilter] {
        [.authorizationKind(.sameUser), .authorizationKind(.linked)]
    }
}

extension RemoteSystem {
    /// The system in a sentence that a user decides by: the beginning of its id, then the names that it and, if it is
    /// of a linked account, that account have.
    ///
    /// - Parameter ids: the beginnings of the ids of several systems, which are then distinct. Defaults to none.
    package func idAndName(_ ids: [SystemID: String] = [:]) -> String {
        "\(ids[self.id] ?? self.id.short) \(self.displayName.quoted)"
            + (self.accountName.map { " of \($0.quoted)" } ?? "")
    }
}
