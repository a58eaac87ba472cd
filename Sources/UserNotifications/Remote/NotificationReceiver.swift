// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import RemoteSystems
internal import RemoteSystemsIdentity
internal import ServiceLifecycle
internal import ValueSets

/// Receives the notifications of other systems, shows them to the user of this one, and sends the responses back.
package actor NotificationReceiver: Service {
    /// The maximum number of programs of this system that watch.
    private static let maxWatchers = 16
    /// The time for a sender to handle a response, and some for the way.
    static let responseTime = UserNotificationCenter.responseTime + .seconds(5)

    let presenter: (any NotificationPresenter)?
    /// The time since the user has used this system; `nil` if it is not known. `nil` on a system without a desktop.
    let idleTime: (@Sendable () async -> Duration?)?
    private let name: @Sendable (SystemID) -> String?
    let store: (any NotificationStore)?
    let clock: FeatureClock
    let logger: Logger
    var received: ReceivedNotifications
    /// The keys of the notifications that an earlier process had received, until they are shown.
    var restored: Set<String> = []
    /// The number of notifications that an earlier process may have shown without storing where, so that they may be on
    /// the screen twice.
    var possiblyShownTwice = 0
    var pending = PendingNotifications()
    var outbox = Outbox()
    let attachmentDirectory: AttachmentDirectory?
    let imageScaler: (any ImageScaler)?
    var badges = Badges()
    var attachments = AttachmentTable()
    /// A file that comes again while it is removed stays.
    var attachmentCalls = SerialCalls()
    /// One image is scaled at a time, because that takes much memory.
    var scalings = SerialCalls()
    var permissions = NotificationPermissions()
    var hourly = HourlyNotifications()
    var refusals = NotificationRefusals()
    var states = NotificationStates()
    /// What this system publishes of ``states``.
    nonisolated let stateTopic = ApplicationTopic(NotificationState.topic)
    private let stateWatch: NotificationStateWatch
    /// The number of notifications that have ended since the start.
    var endedCount = 0
    var clockWatch: WallClockWatch
    /// What is not stored yet.
    var unsaved = UnsavedChanges()
    var savesLater = false
    /// The connections of the senders.
    var connections: [ObjectIdentifier: AppServiceConnection] = [:]
    var routing = ResponseRouting()
    /// What waits for notifications that other systems ask about, by the digests of their deliveries.
    var arrivals = Arrivals<String>()
    /// The number of questions about sounds that wait, by the systems that ask.
    var soundQuestions: [String: Int] = [:]
    /// What waits for applications of this system that are started.
    var applications = Arrivals<String>()
    /// The number of updates that are handled now, by the holders of the senders' quotas.
    var updates: [String: Int] = [:]
    /// The connections of the senders that decide how their notifications are shown.
    var foreground: [NotificationSender: ObjectIdentifier] = [:]
    /// Starts an application of this system that does not run; `nil` where that is not possible. Returns whether it is
    /// installed.
    var wake: (@Sendable (_ application: String) async -> Bool)?
    /// The id of this system, for what extensions schedule; `nil` where they schedule nothing.
    private(set) var systemID: String?
    /// The extensions of this system's applications; `nil` where none are started.
    private(set) var extensionPrograms: (any ServiceExtensionPrograms)?
    var extensionTurns = ServiceExtensionTurns()
    /// Measures where this system is; `nil` where that is not possible.
    let locationSource: (any LocationSource)?
    var locationWatch: LocationWatch?
    /// Starts the views of notifications; `nil` where none are shown.
    private(set) var cardPrograms: (any CardPrograms)?
    /// The sound files of this system's applications; `nil` where no desktop plays them.
    private(set) var applicationSounds: (any ApplicationSounds)?
    /// The views that are open, by the keys of their notifications.
    var cards: [String: NotificationView] = [:]
    /// Whether nothing is shown any more, because the process ends.
    var isStopping = false
    /// The numbers of notifications that have ended or were replaced, for what still works for them.
    var superseded = Arrivals<UInt64>()
    /// The notifications of this desktop that other systems show; `nil` unless the user wants that.
    var mirror: Mirror?
    /// The deliveries that an earlier process has mirrored, by their identifiers, until they are ended.
    var restoredMirrored: [String: [NotificationState.Key]] = [:]
    private var watchers: [ObjectIdentifier: NotificationWatcher] = [:]
    var presenterCalls = SerialCalls()
    private var alarm: Task<Void, Never>?

    /// - Parameters:
    ///   - presenter: shows the notifications. `nil` on a system without a desktop: they are kept in a list.
    ///   - store: keeps everything while the program does not run. `nil`: nothing is kept. Defaults to `nil`.
    ///   - attachmentDirectory: keeps the files of attachments. `nil`: they are left out. Defaults to `nil`.
    ///   - imageScaler: makes small images for the presenter. `nil`: it shows no images. Defaults to `nil`.
    ///   - locationSource: measures where this system is. `nil`: no notification waits for a region. Defaults to `nil`.
    ///   - idleTime: reads the time since the user has used this system; `nil` if it is not known. Defaults to `nil`:
    ///     it never is.
    ///   - name: the name of a system of the account, if it is known.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        presenter: (any NotificationPresenter)?,
        store: (any NotificationStore)? = nil,
        attachmentDirectory: AttachmentDirectory? = nil,
        imageScaler: (any ImageScaler)? = nil,
        locationSource: (any LocationSource)? = nil,
        idleTime: (@Sendable () async -> Duration?)? = nil,
        name: @escaping @Sendable (SystemID) -> String?
    ) {
        self.presenter = presenter
        self.idleTime = idleTime
        self.name = name
        self.store = store
        self.attachmentDirectory = attachmentDirectory
        self.imageScaler = imageScaler
        self.locationSource = locationSource
        self.clock = FeatureClock(configuration)
        self.clockWatch = WallClockWatch(self.clock)
        self.logger = configuration.logger
        self.received = ReceivedNotifications(self.clock.now)
        self.stateWatch = NotificationStateWatch(configuration)
    }

    /// Sets what starts an application of this system that has a response or an update and does not run.
    ///
    /// - Parameter wake: returns whether the application is installed.
    package func setWake(_ wake: @escaping @Sendable (_ application: String) async -> Bool) { self.wake = wake }

    /// Sets the id of this system, with which extensions schedule notifications as their applications do.
    package func setSystem(_ id: SystemID) { self.systemID = "\(id)" }

    /// Sets the extensions that change notifications of other systems before they are shown.
    package func setExtensions(_ programs: any ServiceExtensionPrograms) { self.extensionPrograms = programs }

    /// Sets what shows the custom views of notifications.
    package func setCards(_ programs: any CardPrograms) { self.cardPrograms = programs }

    /// Sets what has the sound files of applications.
    package func setSounds(_ sounds: any ApplicationSounds) { self.applicationSounds = sounds }

    /// What the host of this system offers and publishes.
    package nonisolated var feature: HostFeature {
        HostFeature(services: [self.service], topics: [self.stateTopic])
    }

    /// The service with which other systems send notifications.
    nonisolated var service: AppService {
        var options = AppService.Options()
        options.summary = "Shows notifications to the user of this system."
        options.pushRequestSchema = .full
        options.pushResponseSchema = .full
        return AppService(
            NotificationMessage.service,
            requestSchema: .full,
            responseSchema: .full,
            // As many as may wait for an extension, so that these delay no other request.
            concurrentRequests: ReceivedNotifications.maxPerSystem,
            options: options,
            provider: NotificationService(receiver: self)
        )
    }

    /// Delivers what is due, and follows what the user does. Closes what is shown at a graceful shutdown.
    ///
    /// ``restore(_:)`` comes before it.
    package func run() async throws {
        self.publishRestoredStates()
        await self.endRestoredMirrored()
        // The other systems have to be known when a notification arrives.
        let waits = !self.outbox.isEmpty || self.received.all.contains { $0.stateKey != nil }
        if self.idleTime != nil || waits { self.watchStates() }
        self.showRestored()
        _ = self.clock.task { await self.checkRestoredAttachments() }
        await self.showRestoredBadges()
        self.sendResponses()
        // What the user does meanwhile is read at once: a server may take seconds for each notification.
        _ = self.clock.task { await self.deliverDue() }
        if let presenter {
            await cancelWhenGracefulShutdown {
                for await event in presenter.events { await self.received(event) }
            }
        }
        // The presenter may have ended before.
        try? await gracefulShutdown()
        self.isStopping = true
        for entry in self.received.all where entry.isShown { await self.presenter?.close(entry.key) }
        self.alarm?.cancel()
        self.locationWatch?.task.cancel()
        self.stateWatch.stop()
        await self.extensionPrograms?.stop()
        await self.cardPrograms?.stop()
        // What the user has chosen in a view is stored.
        for card in self.cards.values { await card.task.value }
    }

    /// Learns from now on what ends, is read or snoozed on other systems, and which of them are available.
    func watchStates() {
        self.stateWatch.start { [weak self] in
            await self?.sendOutbox()
            await self?.sendMirrored()
        } merge: { [weak self] records, system in
            await self?.merge(records, from: system)
        }
    }

    /// The other systems of the user that are available.
    var otherSystems: [RemoteSystem] {
        self.stateWatch.systems.filter { !$0.isLocal && $0.authorizationKind == .sameUser }
    }

    // MARK: Requests

    func deliver(
        _ message: ValueSet,
        from caller: AppServiceCaller,
        over connection: AppServiceConnection
    ) async throws(NotificationError) -> NotificationDelivery {
        var (sender, message) = (Self.sender(caller), message)
        // The daemon of another system sends for a program that has ended.
        if caller.claimedApplicationID == RemoteSystemHost.machineApplicationID,
            let application = try FieldReader(message).string("Application")
        {
            try FieldCheck.identifier(application, "Application")
            sender.application = application
        }
        message["Application"] = nil
        try self.admit(sender)
        var notification =
            caller.isLocal ? try RemoteNotification(local: message) : try RemoteNotification(message)
        let leftOut = try self.locateAttachments(
            of: &notification,
            isLocal: caller.isLocal,
            isLinked: sender.linkedAccountID != nil
        )
        guard notification.request.content.hasAlert else {
            let isBadge = await self.setBadge(of: notification, sender)
            guard notification.isContentAvailable else {
                if isBadge { return NotificationDelivery(.handled) }
                return NotificationDelivery(.withheld, reason: "The notification has no text.")
            }
            return try await self.update(notification, of: sender)
        }
        if let end = self.end(of: notification, from: sender) { return end }
        let earlier = self.received.entry(notification.request.identifier, of: sender)
        let deliveryID = notification.deliveryID
        // One that is sent again after a lost connection counts once.
        let isCounted = deliveryID == nil || earlier?.notification.deliveryID != deliveryID
        if isCounted { try self.checkLimits(of: sender) }
        if notification.isContentAvailable { self.updateBeside(notification, of: sender) }
        let name = caller.isLocal ? nil : self.name(caller.systemID) ?? caller.systemID.short
        let (date, now) = (self.clock.date, self.clock.now)
        let link = self.connect(connection, of: sender, receivesAll: false)
        let readyBy = self.isExtended(notification, sender) ? now + Self.extensionTime : nil
        let added = try self.received.add(
            notification,
            from: sender,
            name: name,
            link: link,
            readyBy: readyBy,
            at: date,
            now
        )
        if isCounted { self.countForLimits(of: sender) }
        let entry = self.withKnownState(added)
        if let earlier { self.superseded.report(earlier.number) }
        if let key = entry.stateKey {
            self.watchStates()
            self.arrivals.report(key.digest)
        }
        if let earlier, earlier.stateKey != entry.stateKey, earlier.link != link { self.reportEnd([earlier]) }
        self.setAlarm()
        if readyBy == nil { self.reportDelivery(entry) }
        // A later one with the same identifier waited for its trigger.
        let pending = PendingNotifications.Key(sender: sender, identifier: notification.request.identifier)
        let replaced = self.pending.remove(pending)
        // It is shown even if it cannot be stored.
        await self.commitOrLog { () throws(NotificationError) in
            let removal = replaced.map {
                NotificationStoreChange.remove(.pending, key: NotificationRecord.key(of: $0.key))
            }
            // The other systems remove what it replaces. They may not receive the new one.
            let replaced = [earlier].compactMap(\.self).filter { $0.stateKey != entry.stateKey }
            return try self.arrival(of: entry) + [removal].compactMap(\.self) + self.settle(replaced, .withdrawn)
        }
        var delivery = readyBy == nil ? await self.show(entry) : await self.showExtended(entry)
        let category = self.unknownCategory(of: notification, sender).map {
            "It has no actions: the category '\($0)' was not sent along, and has no view here."
        }
        for text in [leftOut, readyBy == nil ? self.extensionIsMissing(notification, sender) : nil, category] {
            if let text { delivery.add(text) }
        }
        return delivery
    }

    /// Sends responses over this connection from now on, with those that were not sent yet.
    ///
    /// - Parameters:
    ///   - identifiers: the notifications that it concerns. Empty for all of the sender.
    ///   - isForeground: whether the sender decides how its notifications are shown.
    /// - Returns: which of the notifications still wait for the user, and how many responses were not sent yet.
    func resume(
        _ identifiers: [String],
        _ caller: AppServiceCaller,
        isForeground: Bool,
        over connection: AppServiceConnection
    ) -> NotificationResumption {
        let sender = Self.sender(caller)
        let link = self.connect(connection, of: sender, receivesAll: identifiers.isEmpty)
        // Another connection of the sender may be in the foreground.
        if isForeground || self.foreground[sender] == link { self.foreground[sender] = isForeground ? link : nil }
        var count = self.routing.responses(for: sender).count
        if let link, !identifiers.isEmpty {
            self.received.set(link, for: identifiers, of: sender)
            count = self.routing.claim(Set(identifiers), of: sender, by: link)
        }
        self.sendResponses()
        if caller.isLocal, identifiers.isEmpty { self.applications.report(sender.application) }
        return NotificationResumption(
            waiting: identifiers.filter { self.received.contains($0, of: sender) },
            responseCount: count
        )
    }

    /// - Returns: the link; `nil` if the connection has ended. Nothing would remove it then.
    private func connect(
        _ connection: AppServiceConnection,
        of sender: NotificationSender,
        receivesAll: Bool
    ) -> ResponseRouting.Link? {
        guard connection.info != nil else { return nil }
        let link = ObjectIdentifier(connection)
        self.connections[link] = connection
        self.routing.connected(link, of: sender, receivesAll: receivesAll)
        return link
    }

    /// - Parameter deliveryID: the only delivery that is withdrawn; `nil` for any. A later one with the same identifier
    ///   may have come from another program.
    func withdraw(_ identifiers: [String], deliveryID: UUID?, by caller: AppServiceCaller) async -> Int {
        let sender = Self.sender(caller)
        let own = identifiers.filter { identifier in
            let present = self.received.entry(identifier, of: sender)?.notification.deliveryID
            return deliveryID == nil || present == deliveryID
        }
        let withdrawn = self.received.withdraw(own, of: sender)
        await self.end(withdrawn, .withdrawn)
        return withdrawn.count
    }

    /// The notifications that wait for the user.
    func list() -> [ReceivedNotifications.Entry] {
        // The name of a system may become known only after its first notification has come.
        for entry in self.received.all {
            guard let id = SystemID(entry.sender.systemID), entry.systemName == id.short, let name = self.name(id)
            else { continue }
            self.received.set(entry.key, systemName: name)
        }
        // Programs of this system see what the user sees.
        return self.received.all.filter { $0.readyBy == nil }
    }

    /// The user has responded.
    ///
    /// - Throws: ``NotificationError``, and the notification stays.
    func respond(_ key: String, _ action: NotificationActionIdentifier, text: String?) async throws(NotificationError) {
        await self.close(try await self.answer(key, action, text: text))
    }

    /// Takes over a response of the user.
    ///
    /// - Parameter activationToken: with which the application may raise its window. Defaults to `nil`: none.
    /// - Returns: its notification, which is gone and may still be on the screen.
    func answer(
        _ key: String,
        _ action: NotificationActionIdentifier,
        text: String?,
        activationToken: String? = nil
    ) async throws(NotificationError) -> ReceivedNotifications.Entry {
        let checked = try self.received.check(key, action, text: text)
        if !checked.notification.isOneWay { try self.routing.checkRoom(for: checked.sender, link: checked.link) }
        let entry = try self.received.respond(key, action, text: text)
        self.setAlarm()
        let end: NotificationEnd = action == .dismiss ? .dismissed : .answered
        self.report(end, entry)
        await self.responded(entry, action, text, activationToken: activationToken)
        return entry
    }

    /// A program of this system receives every change from now on.
    func watch(_ connection: AppServiceConnection) throws(NotificationError) {
        let id = ObjectIdentifier(connection)
        guard self.watchers[id] != nil || self.watchers.count < Self.maxWatchers else {
            throw NotificationError(.limitExceeded, "\(Self.maxWatchers) programs watch already. End one of them.")
        }
        if self.watchers[id] == nil, connection.info != nil {
            self.watchers[id] = NotificationWatcher(connection, self.clock)
        }
    }

    func ended(_ connection: ObjectIdentifier) {
        self.watchers.removeValue(forKey: connection)?.end()
        self.connections[connection] = nil
        for (sender, link) in self.foreground where link == connection { self.foreground[sender] = nil }
        // Another connection may get the same identifier.
        self.received.ended(connection)
        self.routing.ended(connection)
        self.sendResponses()
    }

    static func sender(_ caller: AppServiceCaller) -> NotificationSender {
        NotificationSender(
            systemID: "\(caller.systemID)",
            application: caller.claimedApplicationID,
            linkedAccountID: caller.authorizationKind == .sameUser ? nil : caller.accountID.map { "\($0)" },
            isLocal: caller.isLocal
        )
    }

    func setAlarm() {
        self.watchLocation()
        self.alarm?.cancel()
        let date = [self.pending.next, self.received.nextSnoozeEnd].compactMap(\.self).min()
            .map { WallClockWatch.instant(of: $0, self.clock) }
        // It need not be exact, and the clock may be set.
        let late = self.routing.nextExpiration.map { date in
            self.clock.now + .seconds(min(max(date.timeIntervalSince(self.clock.date), 60), 86_400))
        }
        let posted = self.outbox.nextExpiration.map { date in
            let rest = max(date.timeIntervalSince(self.clock.date), 0)
            // A millisecond later, so that the date has been reached in spite of rounding.
            return self.clock.now + .seconds(min(rest, 86_400)) + .milliseconds(rest > 0 ? 1 : 0)
        }
        let retry = self.outbox.nextRetry(after: self.clock.now)
        let times = [
            self.received.nextExpiration, date, late, posted, retry, self.attachments.nextExpiration,
            self.mirror?.retry, self.mirror?.notifications.nextTurn(after: self.clock.now),
        ]
        guard let next = times.compactMap(\.self).min() else {
            self.alarm = nil
            return
        }
        self.alarm = self.clock.task { [clock, weak self] in
            guard (try? await clock.sleep(until: next)) != nil else { return }
            await self?.wake()
        }
    }

    private func wake() async {
        // The alarm runs this. A later alarm must not cancel it.
        self.alarm = nil
        self.sendMirroredDue()
        await self.end(self.received.removeExpired(self.clock.now), .expired)
        let late = self.routing.expire(at: self.clock.date)
        await self.commitOrLog { late.map { .remove(.response, key: $0) } }
        await self.expireOutbox()
        self.collectAttachments()
        await self.deliverDue()
    }

    /// Closes notifications that were removed.
    func end(_ entries: [ReceivedNotifications.Entry], _ end: NotificationEnd) async {
        self.setAlarm()
        for entry in entries { self.report(end, entry) }
        await self.commitOrLog { () throws(NotificationError) in try self.changes(ending: entries, end) }
        for entry in entries { await self.close(entry) }
    }

    /// Reports a notification to the programs that watch. One that is hidden is reported when it is shown.
    func reportDelivery(_ entry: ReceivedNotifications.Entry) {
        guard entry.snoozedUntil == nil else { return }
        self.report("delivered", entry)
    }

    /// Reports the end of a notification to the programs that watch, and to what still works for it.
    func report(_ end: NotificationEnd, _ entry: ReceivedNotifications.Entry) {
        self.superseded.report(entry.number)
        self.report(end.rawValue, entry)
    }

    /// Reports a change of a notification to the programs that watch.
    func report(_ event: String, _ entry: ReceivedNotifications.Entry) {
        // Its delivery was not reported.
        guard entry.readyBy == nil else { return }
        for watcher in self.watchers.values { watcher.report(NotificationMessage.event(event, entry)) }
    }
}

/// A program of this system that receives every change.
private struct NotificationWatcher {
    private let feed: AsyncStream<ValueSet>.Continuation
    private let task: Task<Void, Never>

    init(_ connection: AppServiceConnection, _ clock: FeatureClock) {
        let (events, feed) = AsyncStream.makeStream(of: ValueSet.self, bufferingPolicy: .bufferingNewest(256))
        self.feed = feed
        self.task = clock.task {
            for await event in events {
                guard (try? await connection.send(event, timeout: .seconds(10)))?.status == .success else { return }
            }
        }
    }

    func report(_ event: ValueSet) { self.feed.yield(event) }

    func end() {
        self.feed.finish()
        self.task.cancel()
    }
}
