// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// Keeps the notifications of an application in its process, and shows them with a presenter.
actor PresenterKeeper: NotificationKeeper {
    private let presenter: any NotificationPresenter
    private let applicationName: String
    private let desktopEntry: String?
    private let clock: FeatureClock
    private let logger: Logger?
    private let owner: NotificationKeeperOwner
    private var waiting = PendingNotifications()
    private var clockWatch: WallClockWatch
    private var alarm: Task<Void, Never>?
    private var shown: [DeliveredNotification] = []
    /// The numbers of the notifications about which the application is asked, by their identifiers.
    private var asking: [String: UInt64] = [:]
    private var lastNumber: UInt64 = 0
    private var reader: Task<Void, Never>?
    private var presenterCalls = SerialCalls()

    init(
        _ presenter: any NotificationPresenter,
        applicationName: String,
        desktopEntry: String?,
        configuration: RemoteSystemsConfiguration?,
        owner: NotificationKeeperOwner
    ) {
        self.presenter = presenter
        self.applicationName = applicationName
        self.desktopEntry = desktopEntry
        self.clock = configuration.map { FeatureClock($0) } ?? .system
        self.logger = configuration?.logger
        self.clockWatch = WallClockWatch(self.clock)
        self.owner = owner
    }

    deinit {
        self.reader?.cancel()
        self.alarm?.cancel()
    }

    var capabilities: NotificationPresenterCapabilities? { get async { await self.presenter.capabilities } }

    // The notification server has its own permissions.
    var permission: NotificationPermission { .allowed }

    // The application is asked about every notification.
    func setForeground(_ isForeground: Bool) {}

    func close() {
        self.reader?.cancel()
        self.alarm?.cancel()
        // A delivery in progress sets no alarm then.
        self.waiting = PendingNotifications()
    }

    // It would end with the application.
    func post(_ notification: RemoteNotification, to systems: [String]) throws {
        throw RemoteSystemError.noNotificationDaemon
    }

    var posted: [PostedNotification] { [] }

    func removePosted(_ identifiers: [String]) {}

    // It needs an icon, which the desktop entry names.
    func setBadge(_ count: Int) {
        guard let desktopEntry else { return }
        (self.presenter as? any BadgePresenter)?.setBadge(count, of: desktopEntry)
    }

    // MARK: Delivering

    func add(_ notification: RemoteNotification) async throws {
        let request = notification.request
        self.startReading()
        guard let trigger = request.trigger else {
            self.waiting.remove(self.key(request.identifier))
            self.setAlarm()
            return try await self.deliver(notification)
        }
        guard trigger.region == nil else {
            throw NotificationError(
                .locationUnavailable,
                "Only a host daemon measures the location. Start one, or connect to it."
            )
        }
        self.checkClock()
        _ = try self.waiting.add(notification, trigger, from: self.sender, at: self.clock.date)
        self.setAlarm()
    }

    private func deliver(_ remote: RemoteNotification) async throws {
        let (request, category) = (remote.request, remote.category)
        self.lastNumber += 1
        let number = self.lastNumber
        self.asking[request.identifier] = number
        let presentation = await self.owner.center?.presentation(of: request) ?? .all
        // A later one has taken its place meanwhile.
        guard self.asking[request.identifier] == number else { return }
        self.asking[request.identifier] = nil
        if presentation.contains(.badge), let badge = request.content.badge { self.setBadge(badge) }
        guard request.content.hasAlert, !presentation.isDisjoint(with: [.banner, .list]) else { return }
        var presented = PresentedNotification(
            identifier: request.identifier,
            content: request.content,
            category: category,
            applicationName: self.applicationName
        )
        presented.desktopEntry = self.desktopEntry
        // It was checked when the application attached it. It may have gone since.
        presented.imagePaths = request.content.attachments.compactMap(\.imagePath)
        presented.isSilenced = !presentation.contains(.sound)
        if !presentation.contains(.banner) { presented.content.interruptionLevel = .passive }
        let notification = DeliveredNotification(request: request, category: category, date: self.clock.date)
        let previous = self.insert(notification)
        do {
            try await self.inOrder { [presenter, presented] in try await presenter.show(presented) }
        } catch {
            // A later request may have replaced it meanwhile. One that waited for its trigger stays in the list: the
            // application does not learn of the failure and could not add it again.
            if request.trigger == nil, let index = self.shown.firstIndex(where: { $0 == notification }) {
                self.shown.remove(at: index)
                if let previous { self.insert(previous) }
            }
            throw error as? NotificationError
                ?? NotificationError(.notShown, "The notification server does not respond. Restart it, or try again.")
        }
        while self.shown.count > UserNotificationCenter.maxDelivered { await self.close(self.shown.removeFirst()) }
    }

    @discardableResult
    private func insert(_ notification: DeliveredNotification) -> DeliveredNotification? {
        let index = self.shown.firstIndex { $0.request.identifier == notification.request.identifier }
        let previous = index.map { self.shown.remove(at: $0) }
        self.shown.append(notification)
        return previous
    }

    var delivered: [DeliveredNotification] { self.shown }

    func removeDelivered(_ identifiers: [String]) async {
        let wanted = Set(identifiers)
        let removed = self.shown.filter { wanted.contains($0.request.identifier) }
        self.shown.removeAll { wanted.contains($0.request.identifier) }
        for notification in removed { await self.close(notification) }
    }

    private func close(_ notification: DeliveredNotification) async { await self.beginClosing(notification).value }

    private func beginClosing(_ notification: DeliveredNotification) -> Task<Void, Never> {
        self.presenterCalls.begin(self.clock) { [presenter] in await presenter.close(notification.request.identifier) }
    }

    private func inOrder(_ call: @escaping @Sendable () async throws -> Void) async throws {
        try await self.presenterCalls.begin(self.clock) { () -> Result<Void, any Error> in
            do { return .success(try await call()) } catch { return .failure(error) }
        }.value.get()
    }

    // MARK: Pending

    var pending: [PendingNotification] {
        // None waits for a region: that is left to a daemon.
        self.waiting.all.map { PendingNotification(request: $0.notification.request, date: $0.date) }
    }

    func removePending(_ identifiers: [String]) {
        for identifier in identifiers { self.waiting.remove(self.key(identifier)) }
        self.setAlarm()
    }

    private nonisolated var sender: NotificationSender {
        NotificationSender(systemID: "", application: self.applicationName)
    }

    private func key(_ identifier: String) -> PendingNotifications.Key {
        PendingNotifications.Key(sender: self.sender, identifier: identifier)
    }

    private func checkClock() {
        _ = self.waiting.follow(SystemTimeZone.current, at: self.clock.date)
        guard let change = self.clockWatch.change(self.clock) else { return }
        _ = self.waiting.clockWasSet(by: change, to: self.clock.date)
    }

    private func setAlarm() {
        self.alarm?.cancel()
        guard let next = self.waiting.next else { return }
        let instant = WallClockWatch.instant(of: next, self.clock)
        self.alarm = self.clock.task(at: instant) { [weak self] in await self?.deliverDue() }
    }

    private func deliverDue() async {
        // The alarm runs this. Cancelled, it could not ask the application how to show what is due.
        self.alarm = nil
        self.checkClock()
        let date = self.clock.date
        while let due = self.waiting.takeNextDue(at: date) {
            do {
                try await self.deliver(due.entry.notification)
            } catch {
                self.logger?.warning(
                    "A notification whose trigger fired was not shown",
                    metadata: ["notification": "\(due.entry.key.identifier)", "reason": "\(error)"]
                )
            }
        }
        self.setAlarm()
    }

    // MARK: Responses

    private func startReading() {
        guard self.reader == nil else { return }
        let events = self.presenter.events
        self.reader = Task { [weak self] in for await event in events { await self?.received(event) } }
    }

    private func received(_ event: NotificationPresenterEvent) {
        switch event {
        case .activated(let identifier, let action, let text, let token):
            guard let index = self.shown.firstIndex(where: { $0.request.identifier == identifier }) else { return }
            let notification = self.shown[index]
            let known = notification.category?.actions.first { $0.identifier == action }
            guard action == .default || known != nil else { return }
            // Each notification is responded to once.
            self.shown.remove(at: index)
            // Not after the handler, which may take longer than presenters wait until they show it again.
            _ = self.beginClosing(notification)
            self.beginResponse(to: notification, action, known?.textInput == nil ? nil : text, token)
        case .closed(let identifier, .dismissed):
            guard let index = self.shown.firstIndex(where: { $0.request.identifier == identifier }) else { return }
            let notification = self.shown.remove(at: index)
            guard notification.category?.options.contains(.customDismissAction) == true else { return }
            self.beginResponse(to: notification, .dismiss, nil)
        case .closed: break
        }
    }

    private func beginResponse(
        to notification: DeliveredNotification,
        _ action: NotificationActionIdentifier,
        _ text: String?,
        _ token: String? = nil
    ) {
        var response = NotificationResponse(
            id: UUID().uuidString.lowercased(),
            requestIdentifier: notification.request.identifier,
            actionIdentifier: action,
            userText: text
        )
        response.targetContentIdentifier = notification.request.content.targetContentIdentifier
        if NotificationResponse.isForeground(action, of: notification.category) { response.activationToken = token }
        // The handler may take seconds. What the user does next is read meanwhile.
        Task { [response] in await self.handle(response) }
    }

    private func handle(_ response: NotificationResponse) async {
        guard let center = self.owner.center, await center.handle(response) else {
            self.logger?.warning(
                "A response was dropped: too many wait for the application",
                metadata: ["notification": "\(response.requestIdentifier)"]
            )
            return
        }
    }
}
