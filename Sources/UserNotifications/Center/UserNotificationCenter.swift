// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
public import RemoteSystems

/// The notifications of one application: their categories, what is pending and delivered, and what the user responds.
///
/// ```swift
/// let center = UserNotificationCenter(presenter: presenter, applicationName: "Calendar")
/// try await center.setNotificationCategories([invitation])
/// try await center.add(NotificationRequest(identifier: "42", content: content))
/// for await response in center.responses where response.actionIdentifier == "accept" { accept(response) }
/// ```
public actor UserNotificationCenter {
    /// Decides how a notification is shown while the application is in the foreground.
    public typealias WillPresent = @Sendable (NotificationRequest) async -> NotificationPresentation

    /// The maximum number of delivered notifications. When one more is delivered, the oldest is removed.
    public static let maxDelivered = 256

    /// The responses of the user, each once. For one reader.
    ///
    /// Dismissals are included for categories with the option `customDismissAction` only.
    public nonisolated let responses: AsyncStream<NotificationResponse>

    private let feed: AsyncStream<NotificationResponse>.Continuation
    private let presenter: any NotificationPresenter
    private let applicationName: String
    private let desktopEntry: String?
    private let clock: FeatureClock
    private let logger: Logger?
    private var categories: [String: NotificationCategory] = [:]
    private var pending = PendingNotifications()
    private var clockWatch: WallClockWatch
    private var alarm: Task<Void, Never>?
    private var delivered: [DeliveredNotification] = []
    private var willPresent: WillPresent?
    private var reader: Task<Void, Never>?
    /// The last call of the presenter. Calls are made in order.
    private var lastCall: Task<Void, Never>?

    /// The number at the application's icon, set with ``setBadgeCount(_:)`` or by the last notification with a badge.
    public private(set) var badgeCount = 0

    /// Creates a centre.
    ///
    /// - Parameters:
    ///   - presenter: Shows the notifications. The centre reads its events.
    ///   - applicationName: The application's name, which the user sees.
    ///   - desktopEntry: The id of the application's desktop entry, without `.desktop`. Defaults to `nil`.
    ///   - configuration: The application's configuration, whose logger the centre uses, and in tests its clock.
    ///     Defaults to `nil`: no log, and the system's clock.
    public init(
        presenter: any NotificationPresenter,
        applicationName: String,
        desktopEntry: String? = nil,
        configuration: RemoteSystemsConfiguration? = nil
    ) {
        (self.responses, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(256))
        self.presenter = presenter
        self.applicationName = applicationName
        self.desktopEntry = desktopEntry
        self.clock = configuration.map { FeatureClock($0) } ?? .system
        self.logger = configuration?.logger
        self.clockWatch = WallClockWatch(self.clock)
    }

    deinit {
        self.reader?.cancel()
        self.alarm?.cancel()
        self.feed.finish()
    }

    /// What the desktop can show.
    public var capabilities: NotificationPresenterCapabilities { get async { await self.presenter.capabilities } }

    // MARK: Categories

    /// Sets the categories of the application, in place of the earlier ones.
    ///
    /// Notifications that are shown keep their actions.
    ///
    /// - Parameter categories: The categories, each with an identifier of its own. At most
    ///   ``NotificationLimits/categories``.
    /// - Throws: ``NotificationError`` that names the category and the field. The earlier categories then remain.
    public func setNotificationCategories(_ categories: [NotificationCategory]) throws(NotificationError) {
        try FieldCheck.count(categories.count, "categories", max: NotificationLimits.categories)
        var known: [String: NotificationCategory] = [:]
        for (index, category) in categories.enumerated() {
            do throws(NotificationError) {
                try category.validate()
            } catch {
                throw error.inside("categories[\(index)]")
            }
            guard known.updateValue(category, forKey: category.identifier) == nil else {
                throw NotificationError(
                    .invalidContent,
                    "Another category has the same identifier.",
                    field: "categories[\(index)].identifier"
                )
            }
        }
        self.categories = known
    }

    /// The categories of the application, ordered by their identifiers.
    public var notificationCategories: [NotificationCategory] {
        self.categories.values.sorted { $0.identifier < $1.identifier }
    }

    // MARK: Delivering

    /// Sets the closure that decides how notifications are shown while the application is in the foreground.
    ///
    /// - Parameter willPresent: Called before each notification is shown. `nil`, while the application is in the
    ///   background: notifications are shown in full. Defaults to `nil`.
    public func setWillPresent(_ willPresent: WillPresent?) { self.willPresent = willPresent }

    /// Delivers a notification when its trigger fires, in place of the one with the same identifier.
    ///
    /// Notifications that wait for a trigger are lost when the process ends.
    ///
    /// - Parameter request: The notification. Without a trigger it is delivered at once.
    /// - Throws: ``NotificationError``: the field that is not valid, with nothing shown; `categoryUnknown`;
    ///   `triggerInvalid` for a trigger that never fires; `tooManyPending` if
    ///   ``NotificationLimits/pendingRequests`` wait; `notShown` if no server shows it. It is then not in the list of
    ///   delivered notifications.
    public func add(_ request: NotificationRequest) async throws {
        try request.validate()
        let notification = RemoteNotification(request, category: try self.category(of: request))
        self.startReading()
        guard let trigger = request.trigger else {
            self.pending.remove(self.key(request.identifier))
            self.setAlarm()
            return try await self.deliver(notification)
        }
        self.checkClock()
        _ = try self.pending.add(notification, trigger, from: self.sender, at: self.clock.date)
        self.setAlarm()
    }

    private func category(of request: NotificationRequest) throws(NotificationError) -> NotificationCategory? {
        guard let identifier = request.content.categoryIdentifier else { return nil }
        guard let known = self.categories[identifier] else {
            throw NotificationError(
                .categoryUnknown,
                "The application has not set this category. Call 'setNotificationCategories(_:)' first.",
                field: "content.categoryIdentifier"
            )
        }
        return known
    }

    private func deliver(_ remote: RemoteNotification) async throws {
        let (request, category) = (remote.request, remote.category)
        let presentation = await self.willPresent?(request) ?? .all
        if presentation.contains(.badge), let badge = request.content.badge { self.badgeCount = badge }
        guard request.content.hasAlert, !presentation.isDisjoint(with: [.banner, .list]) else { return }
        var presented = PresentedNotification(
            identifier: request.identifier,
            content: request.content,
            category: category,
            applicationName: self.applicationName
        )
        presented.desktopEntry = self.desktopEntry
        presented.isSilenced = !presentation.contains(.sound)
        if !presentation.contains(.banner) { presented.content.interruptionLevel = .passive }
        let notification = DeliveredNotification(request: request, category: category, date: self.clock.date)
        let previous = self.insert(notification)
        do {
            try await self.inOrder { [presenter, presented] in try await presenter.show(presented) }
        } catch {
            // A later request may have replaced it meanwhile. One that waited for its trigger stays in the list: the
            // application does not learn of the failure and could not add it again.
            if request.trigger == nil, let index = self.delivered.firstIndex(where: { $0 == notification }) {
                self.delivered.remove(at: index)
                if let previous { self.insert(previous) }
            }
            throw error as? NotificationError
                ?? NotificationError(.notShown, "The notification server does not respond.")
        }
        while self.delivered.count > Self.maxDelivered { await self.close(self.delivered.removeFirst()) }
    }

    @discardableResult
    private func insert(_ notification: DeliveredNotification) -> DeliveredNotification? {
        let index = self.delivered.firstIndex { $0.request.identifier == notification.request.identifier }
        let previous = index.map { self.delivered.remove(at: $0) }
        self.delivered.append(notification)
        return previous
    }

    /// The notifications that are shown or in the desktop's list, the oldest first.
    public var deliveredNotifications: [DeliveredNotification] { self.delivered }

    /// Removes delivered notifications. Unknown identifiers are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the requests.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) async {
        let wanted = Set(identifiers)
        let removed = self.delivered.filter { wanted.contains($0.request.identifier) }
        self.delivered.removeAll { wanted.contains($0.request.identifier) }
        for notification in removed { await self.close(notification) }
    }

    /// Removes all delivered notifications.
    public func removeAllDeliveredNotifications() async {
        await self.removeDeliveredNotifications(withIdentifiers: self.delivered.map(\.request.identifier))
    }

    // MARK: Pending

    /// The notifications that wait for their triggers, the next first.
    public var pendingNotifications: [PendingNotification] {
        self.pending.all.map { PendingNotification(request: $0.notification.request, date: $0.date) }
    }

    /// Removes notifications that wait for their triggers. Unknown identifiers are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the requests.
    public func removePendingNotifications(withIdentifiers identifiers: [String]) {
        for identifier in identifiers { self.pending.remove(self.key(identifier)) }
        self.setAlarm()
    }

    /// Removes all notifications that wait for their triggers.
    public func removeAllPendingNotifications() {
        self.removePendingNotifications(withIdentifiers: self.pending.all.map(\.key.identifier))
    }

    private nonisolated var sender: NotificationSender {
        NotificationSender(systemID: "", application: self.applicationName)
    }

    private func key(_ identifier: String) -> PendingNotifications.Key {
        PendingNotifications.Key(sender: self.sender, identifier: identifier)
    }

    private func checkClock() {
        guard let change = self.clockWatch.change(self.clock) else { return }
        _ = self.pending.clockWasSet(by: change, to: self.clock.date)
    }

    private func setAlarm() {
        self.alarm?.cancel()
        guard let next = self.pending.next else { return }
        self.alarm = self.clock.task { [clock, weak self] in
            guard (try? await clock.sleep(until: WallClockWatch.instant(of: next, clock))) != nil else { return }
            await self?.deliverDue()
        }
    }

    private func deliverDue() async {
        self.checkClock()
        let due = self.pending.takeDue(at: self.clock.date)
        self.setAlarm()
        for due in due {
            do {
                try await self.deliver(due.entry.notification)
            } catch {
                self.logger?.warning(
                    "A notification whose trigger fired was not shown",
                    metadata: ["notification": "\(due.entry.key.identifier)", "reason": "\(error)"]
                )
            }
        }
    }

    // MARK: Badge

    /// Sets the number at the application's icon.
    ///
    /// - Parameter count: The number; 0 for none. Valid range: 0–999 999.
    /// - Throws: ``NotificationError`` with `limitExceeded`.
    public func setBadgeCount(_ count: Int) throws(NotificationError) {
        guard (0...NotificationLimits.badge).contains(count) else {
            throw NotificationError(.limitExceeded, "The badge must be from 0 to \(NotificationLimits.badge).")
        }
        self.badgeCount = count
    }

    private func close(_ notification: DeliveredNotification) async {
        try? await self.inOrder { [presenter] in await presenter.close(notification.request.identifier) }
    }

    private func inOrder(_ call: @escaping @Sendable () async throws -> Void) async throws {
        let last = self.lastCall
        let task = self.clock.task { () -> Result<Void, any Error> in
            await last?.value
            do { return .success(try await call()) } catch { return .failure(error) }
        }
        self.lastCall = self.clock.task { _ = await task.value }
        try await task.value.get()
    }

    // MARK: Responses

    private func startReading() {
        guard self.reader == nil else { return }
        let events = self.presenter.events
        self.reader = Task { [weak self] in for await event in events { await self?.received(event) } }
    }

    private func received(_ event: NotificationPresenterEvent) async {
        switch event {
        case .activated(let identifier, let action, let text, _):
            guard let index = self.delivered.firstIndex(where: { $0.request.identifier == identifier }) else { return }
            let notification = self.delivered[index]
            let known = notification.category?.actions.first { $0.identifier == action }
            guard action == .default || known != nil else { return }
            // Each notification is responded to once.
            self.delivered.remove(at: index)
            self.respond(notification, action, known?.textInput == nil ? nil : text)
            await self.close(notification)
        case .closed(let identifier, .dismissed):
            guard let index = self.delivered.firstIndex(where: { $0.request.identifier == identifier }) else { return }
            let notification = self.delivered.remove(at: index)
            guard notification.category?.options.contains(.customDismissAction) == true else { return }
            self.respond(notification, .dismiss, nil)
        case .closed: break
        }
    }

    private func respond(
        _ notification: DeliveredNotification,
        _ action: NotificationActionIdentifier,
        _ text: String?
    ) {
        self.feed.yield(
            NotificationResponse(
                id: UUID().uuidString.lowercased(),
                requestIdentifier: notification.request.identifier,
                actionIdentifier: action,
                userText: text
            )
        )
    }
}
