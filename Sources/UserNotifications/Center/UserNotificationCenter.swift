// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The notifications of one application: their categories, what is delivered, and what the user responds.
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
    private var categories: [String: NotificationCategory] = [:]
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
    public init(presenter: any NotificationPresenter, applicationName: String, desktopEntry: String? = nil) {
        (self.responses, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(256))
        self.presenter = presenter
        self.applicationName = applicationName
        self.desktopEntry = desktopEntry
    }

    deinit {
        self.reader?.cancel()
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

    /// Delivers a notification, in place of the one with the same identifier.
    ///
    /// - Parameter request: The notification.
    /// - Throws: ``NotificationError``: the field that is not valid, with nothing shown; `categoryUnknown`; `notShown`
    ///   if no server shows it. It is then not in the list of delivered notifications.
    public func add(_ request: NotificationRequest) async throws {
        try request.validate()
        var category: NotificationCategory?
        if let identifier = request.content.categoryIdentifier {
            guard let known = self.categories[identifier] else {
                throw NotificationError(
                    .categoryUnknown,
                    "The application has not set this category. Call 'setNotificationCategories(_:)' first.",
                    field: "content.categoryIdentifier"
                )
            }
            category = known
        }
        self.startReading()
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
        let notification = DeliveredNotification(request: request, category: category, date: .now)
        let previous = self.insert(notification)
        do {
            try await self.inOrder { [presenter, presented] in try await presenter.show(presented) }
        } catch {
            // A later request may have replaced it meanwhile.
            if let index = self.delivered.firstIndex(where: { $0 == notification }) {
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
        let task = Task {
            await last?.value
            try await call()
        }
        self.lastCall = Task { _ = await task.result }
        try await task.value
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
