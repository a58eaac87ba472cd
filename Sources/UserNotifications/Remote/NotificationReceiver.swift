// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystems
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ServiceLifecycle
internal import ValueSets

/// Receives the notifications of other systems, shows them to the user of this one, and sends the responses back.
package actor NotificationReceiver: Service {
    /// The time for a sender to handle a response, and some for the way.
    static let responseTime = UserNotificationCenter.responseTime + .seconds(5)

    let presenter: (any NotificationPresenter)?
    /// The time since the user has used this system; `nil` if it is not known. `nil` on a system without a desktop.
    let idleTime: (@Sendable () async -> Duration?)?
    let name: @Sendable (SystemID) -> String?
    let store: (any NotificationStore)?
    let clock: FeatureClock
    let logger: Logger
    var received: ReceivedNotifications
    /// The keys of the notifications that an earlier process had received, until they are shown.
    var restored: Set<String> = []
    /// The keys of the notifications on the screen, by their places, as they are stored.
    var places: [String: String] = [:]
    /// The number of notifications that an earlier process may have shown without storing where, so that they may be on
    /// the screen twice.
    var possiblyShownTwice = 0
    var pending = PendingNotifications()
    var outbox = Outbox()
    let attachmentDirectory: AttachmentDirectory?
    let imageScaler: (any ImageScaler)?
    var badges = Badges()
    var attachments = AttachmentTable()
    /// The open streams of the files that other systems send, by the numbers of the uploads.
    var uploadStreams: [UInt64: RemoteSystemStream] = [:]
    /// A file that comes again while it is removed stays.
    var attachmentCalls = SerialCalls()
    var imageTurns = ImageTurns()
    var permissions = NotificationPermissions()
    var hourly = HourlyNotifications()
    var refusals = NotificationRefusals()
    var states = NotificationStates()
    /// What this system publishes of ``states``.
    nonisolated let stateTopic = ApplicationTopic(NotificationState.topic)
    private let stateWatch: NotificationStateWatch
    private let refusalLog: RefusalLog
    /// Returns what decides now whether a system is still trusted: one of a linked account, or of the own one.
    private(set) var trust: @Sendable () -> TrustDecision
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
    var arrivals = StreamReaders<String>(buffering: .unbounded)
    /// The questions about sounds that have no response yet, by the systems that ask. One system has few: those about
    /// notifications that arrive together.
    var soundQuestions = KeyedLimiter<String>(total: 64, perKey: 8)
    /// The questions about sounds that this system asks others. Each opens a connection to every one.
    var questionTurns = Turns<String, Never>()
    /// What waits for applications of this system that are started.
    var applications = StreamReaders<String>(buffering: .unbounded)
    /// The updates that are handled now, by the holders of the senders' quotas.
    var updateLimiter = KeyedLimiter<String>(total: 64, perKey: 8)
    /// The connections of the senders that decide how their notifications are shown.
    var foreground: [NotificationSender: ObjectIdentifier] = [:]
    /// Starts an application of this system that does not run; `nil` where that is not possible. Returns whether it is
    /// installed.
    var wake: (@Sendable (_ application: String) async -> Bool)?
    /// The id of this system, for what extensions schedule; `nil` where they schedule nothing.
    private(set) var systemID: String?
    /// The extensions of this system's applications; `nil` where none are started.
    private(set) var extensionPrograms: (any ServiceExtensionPrograms)?
    /// The turns of the extensions, by the holders of the senders' quotas.
    var extensionTurns = Turns<String, Never>()
    /// Measures where this system is; `nil` where that is not possible.
    let locationSource: (any LocationSource)?
    var locationWatch: LocationWatch?
    /// Starts the views of notifications; `nil` where none are shown.
    private(set) var cardPrograms: (any CardPrograms)?
    /// The sound files of this system's applications; `nil` where no desktop plays them.
    private(set) var applicationSounds: (any ApplicationSounds)?
    /// The time for which the button *Later* hides a notification, in seconds; `nil` where there is no such button.
    private(set) var snoozeButtonSeconds: Int?
    /// The views that are open, by the keys of their notifications.
    var cards: [String: NotificationView] = [:]
    /// Whether nothing is shown any more, because the process ends.
    var isStopping = false
    /// The numbers of notifications that have ended or were replaced, for what still works for them.
    var superseded = StreamReaders<UInt64>(buffering: .unbounded)
    /// The notifications of this desktop that other systems show; `nil` unless the user wants that.
    var mirror: Mirror?
    /// The deliveries that an earlier process has mirrored, by their identifiers, until they are ended.
    var restoredMirrored: [String: [NotificationState.Key]] = [:]
    var watchers: [ObjectIdentifier: NotificationWatcher] = [:]
    var presenterCalls = SerialCalls()
    var eventCalls = SerialCalls()
    var alarm: Task<Void, Never>?

    /// - Parameters:
    ///   - presenter: shows the notifications. `nil` on a system without a desktop: they are kept in a list.
    ///   - store: keeps everything while the program does not run. `nil`: nothing is kept. Defaults to `nil`.
    ///   - attachmentDirectory: keeps the files of attachments. `nil`: they are left out. Defaults to `nil`.
    ///   - imageScaler: makes small images for the presenter. `nil`: it shows no images. Defaults to `nil`.
    ///   - locationSource: measures where this system is. `nil`: no notification waits for a region. Defaults to `nil`.
    ///   - idleTime: reads the time since the user has used this system; `nil` if it is not known. Defaults to `nil`:
    ///     it never is.
    ///   - name: the name of a system of the account as the user is to read it, if it is known.
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
        let clock = FeatureClock(configuration)
        self.presenter = presenter
        if let idleTime {
            let shared = SharedIdleTime(clock, measure: idleTime)
            self.idleTime = { await shared.read() }
        } else {
            self.idleTime = nil
        }
        self.name = name
        self.store = store
        self.attachmentDirectory = attachmentDirectory
        self.imageScaler = imageScaler
        self.locationSource = locationSource
        self.clock = clock
        self.refusalLog = RefusalLog(configuration)
        self.clockWatch = WallClockWatch(self.clock)
        self.logger = configuration.logger
        self.received = ReceivedNotifications(self.clock.now)
        self.stateWatch = NotificationStateWatch(configuration)
        self.trust = {
            let trust = FeatureTrust(configuration)
            return { trust.isTrusted($0, ofLinked: $1) }
        }
    }

    typealias TrustDecision = @Sendable (_ system: SystemID, _ linkedAccount: AccountID?) -> Bool

    /// Sets what decides whether a system is still trusted. Defaults to the trust of the account.
    func setTrust(_ isTrusted: @escaping TrustDecision) { self.trust = { isTrusted } }

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

    /// Gives questions a button that hides them until later.
    ///
    /// - Parameter seconds: the time for which it hides them. Valid range: ``snoozeSeconds``.
    package func setSnoozeButton(seconds: Int) { self.snoozeButtonSeconds = seconds }

    /// What the host of this system offers and publishes.
    package nonisolated var feature: HostFeature {
        HostFeature(services: [self.service], topics: [self.stateTopic]) {
            _ = self.clock.task { await self.removeUntrusted() }
        }
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
            provider: NotificationService(receiver: self, refusals: self.refusalLog)
        )
    }

    /// Delivers what is due, and follows what the user does. Closes what is shown at a graceful shutdown.
    ///
    /// ``restore(_:)`` comes before it.
    package func run() async throws {
        self.publishRestoredStates()
        // The account may have changed while no process ran. Closing takes as long as the server does.
        _ = self.clock.task { await self.removeUntrusted() }
        await self.endRestoredMirrored()
        // The other systems have to be known when a notification arrives.
        let waits = !self.outbox.isEmpty || self.received.all.contains { $0.stateKey != nil }
        if self.idleTime != nil || waits { self.watchStates() }
        let placing = self.clock.task { await self.storePlaces() }
        // What has expired while no process ran is not shown again.
        let expired = self.received.removeExpired(self.clock.now)
        if !expired.isEmpty { _ = self.clock.task { await self.end(expired, .expired) } }
        self.showRestored()
        _ = self.clock.task { await self.checkRestoredAttachments() }
        await self.showRestoredBadges()
        self.sendResponses()
        // What the user does meanwhile is read at once: a server may take seconds for each notification.
        _ = self.clock.task { await self.deliverDue() }
        if let presenter {
            await cancelWhenGracefulShutdown { await self.receiveEvents(of: presenter) }
        }
        // The presenter may have ended before.
        try? await gracefulShutdown()
        self.isStopping = true
        // The next process shows again what is closed now. Without a place, it may be on the screen twice.
        placing.cancel()
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

    /// Closes notifications that were removed.
    func end(_ entries: [ReceivedNotifications.Entry], _ end: NotificationEnd) async {
        self.setAlarm()
        for entry in entries { self.report(end, entry) }
        await self.commitOrLog { () throws(NotificationError) in try self.changes(ending: entries, end) }
        for entry in entries { await self.close(entry) }
    }

    /// Closes messages that have left the list for a notification, after both were stored.
    func close(displaced entries: [ReceivedNotifications.Entry]) async {
        for entry in entries { self.report(.expired, entry) }
        for entry in entries { await self.close(entry) }
    }
}
