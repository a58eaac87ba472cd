// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
public import RemoteSystems

/// The notifications of one application: their categories, the pending and delivered ones, and the user's responses.
///
/// ```swift
/// let center = try await UserNotificationCenter(connectingToDaemonOf: configuration, applicationName: "Calendar")
/// try await center.setNotificationCategories([invitation])
/// try await center.add(NotificationRequest(identifier: "42", content: content))
/// for await response in center.responses where response.actionIdentifier == "accept" { accept(response) }
/// ```
///
/// With the host daemon of this system, notifications and responses survive the application, the daemon and the system.
/// Without a daemon, ``init(presenter:applicationName:desktopEntry:configuration:responseHandler:)`` shows and
/// schedules them while the application runs. Location triggers, ``post(_:to:)``, extensions and views need a daemon.
public actor UserNotificationCenter {
    /// Decides how a notification is shown while the application is in the foreground.
    public typealias WillPresent = @Sendable (NotificationRequest) async -> NotificationPresentation
    /// Handles one response of the user. The response counts as handled when the closure returns, or after 30 s. If the
    /// application ends before, the host daemon reports it again, with the same ``NotificationResponse/id``. Without a
    /// daemon, further responses are handled meanwhile; with one, they follow.
    public typealias ResponseHandler = @Sendable (NotificationResponse) async -> Void

    /// Updates the application's content with what a program of the user's systems has sent. The sender learns when the
    /// closure returns, and what it throws; after 30 s the update counts as failed. The same one may come again after a
    /// lost connection.
    public typealias UpdateHandler = @Sendable (ContentUpdate) async throws -> Void

    /// The maximum number of delivered notifications without a host daemon. When one more is delivered, the oldest is
    /// removed.
    public static let maxDelivered = 256
    /// The maximum time for which the application handles a response, or decides how a notification is shown.
    static let (responseTime, presentationTime) = (Duration.seconds(30), Duration.seconds(1))

    /// The responses of the user, each once, unless a handler was given to the initializer. For one reader.
    ///
    /// Dismissals are included for categories with the option `customDismissAction` only.
    public nonisolated let responses: AsyncStream<NotificationResponse>

    private let feed: AsyncStream<NotificationResponse>.Continuation
    private let clock: FeatureClock
    private let logger: Logger?
    let keeper: any NotificationKeeper
    private var categories: [String: NotificationCategory] = [:]
    private var willPresent: WillPresent?
    private let responseHandler: ResponseHandler?
    private let updateHandler: UpdateHandler?
    private var endHandler: (@Sendable (_ identifier: String) async -> Void)?
    private var handled = HandledResponses()
    /// The handlers that run, by the ids of their responses.
    private var handling: [String: Task<Void, Never>] = [:]

    /// The number at the application's icon, set with ``setBadgeCount(_:)`` or by the last notification with a badge.
    public private(set) var badgeCount = 0

    /// Creates a centre whose notifications the application keeps and shows itself.
    ///
    /// Notifications that wait for a trigger are lost when the process ends.
    ///
    /// - Parameters:
    ///   - presenter: Shows the notifications. The centre reads its events.
    ///   - applicationName: The application's name, which the user sees.
    ///   - desktopEntry: The id of the application's desktop entry, without `.desktop`. Defaults to `nil`: the
    ///     application id of the configuration, if there is one.
    ///   - configuration: The application's configuration, whose logger the centre uses, and in tests its clock.
    ///     Defaults to `nil`: no log, and the system's clock.
    ///   - responseHandler: Handles responses in place of ``responses``. Defaults to `nil`.
    public init(
        presenter: any NotificationPresenter,
        applicationName: String,
        desktopEntry: String? = nil,
        configuration: RemoteSystemsConfiguration? = nil,
        responseHandler: ResponseHandler? = nil
    ) {
        let owner = NotificationKeeperOwner()
        let keeper = PresenterKeeper(
            presenter,
            applicationName: applicationName,
            // The id of an application is that of its desktop entry, if it has one.
            desktopEntry: desktopEntry ?? configuration?.applicationID,
            configuration: configuration,
            owner: owner
        )
        self.init(keeper, configuration, responseHandler, nil)
        owner.set(self)
    }

    /// Creates a centre whose notifications the host daemon of this system keeps and shows.
    ///
    /// They survive the application, the daemon and the system. Responses that came while the application did not run
    /// are reported at once. The daemon starts an installed application for a response.
    ///
    /// - Parameters:
    ///   - configuration: The application's configuration. Its application id identifies the application's
    ///     notifications.
    ///   - applicationName: The application's name, which the user sees.
    ///   - limit: The maximum time to look for the daemon. Defaults to 5 s. Valid range: 1 ms–1 h.
    ///   - responseHandler: Handles responses in place of ``responses``. Defaults to `nil`.
    ///   - updateHandler: Updates the application's content. The daemon starts an installed application for it.
    ///     Defaults to `nil`: updates are refused.
    /// - Throws: `RemoteSystemError` with `unreachable` if this system has no host daemon that receives notifications;
    ///   `CancellationError`.
    public init(
        connectingToDaemonOf configuration: RemoteSystemsConfiguration,
        applicationName: String,
        within limit: Duration = .seconds(5),
        responseHandler: ResponseHandler? = nil,
        updateHandler: UpdateHandler? = nil
    ) async throws {
        let owner = NotificationKeeperOwner()
        let keeper = DaemonKeeper(applicationName: applicationName, owner: owner)
        self.init(keeper, configuration, responseHandler, updateHandler)
        owner.set(self)
        try await keeper.open(configuration, within: limit)
    }

    init(
        _ keeper: any NotificationKeeper,
        _ configuration: RemoteSystemsConfiguration?,
        _ responseHandler: ResponseHandler?,
        _ updateHandler: UpdateHandler?
    ) {
        self.keeper = keeper
        self.responseHandler = responseHandler
        self.updateHandler = updateHandler
        (self.responses, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(256))
        self.clock = configuration.map { FeatureClock($0) } ?? .system
        self.logger = configuration?.logger
    }

    deinit { self.feed.finish() }

    /// The capabilities of the desktop; `nil` if the host daemon shows notifications.
    public var capabilities: NotificationPresenterCapabilities? { get async { await self.keeper.capabilities } }

    /// Ends ``responses``. Notifications that the host daemon keeps stay; pending ones of this process are not
    /// delivered.
    public func close() async {
        await self.keeper.close()
        self.feed.finish()
    }

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

    /// Sets the closure that learns the identifier of a notification to which no response can come any more, because
    /// the user has denied the application.
    package func setEndHandler(_ endHandler: (@Sendable (_ identifier: String) async -> Void)?) {
        self.endHandler = endHandler
    }

    /// Sets the closure that decides how notifications are shown while the application is in the foreground.
    ///
    /// - Parameter willPresent: Called before each notification is shown. After 1 s the notification is shown in full.
    ///   `nil`, while the application is in the background: notifications are shown in full.
    public func setWillPresent(_ willPresent: WillPresent?) async {
        self.willPresent = willPresent
        await self.keeper.setForeground(willPresent != nil)
    }

    /// Delivers a notification when its trigger fires, in place of the one with the same identifier.
    ///
    /// - Parameter request: The notification. Without a trigger it is delivered at once.
    /// - Throws: ``NotificationError``: the field that is not valid, with nothing shown; `categoryUnknown`;
    ///   `triggerInvalid` for a trigger that never fires; `tooManyPending` if
    ///   ``NotificationLimits/pendingRequests`` wait; `notAuthorized` if the user has denied it; `storeFailed` if the
    ///   host daemon cannot store it; `notShown` if the application's presenter does not show it, which is then not in
    ///   the list of delivered notifications.
    ///   `RemoteSystemError` if the host daemon does not respond.
    public func add(_ request: NotificationRequest) async throws {
        try request.validate()
        try await self.keeper.add(RemoteNotification(request, category: try self.category(of: request)))
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

    /// The notifications that are shown or in the desktop's list, the oldest first.
    public var deliveredNotifications: [DeliveredNotification] {
        get async throws { try await self.keeper.delivered }
    }

    /// Removes delivered notifications. Unknown identifiers are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the notifications' requests.
    public func removeDeliveredNotifications(withIdentifiers identifiers: [String]) async throws {
        try await self.keeper.removeDelivered(identifiers)
    }

    /// Removes all delivered notifications.
    public func removeAllDeliveredNotifications() async throws {
        let identifiers = try await self.deliveredNotifications.map(\.request.identifier)
        try await self.removeDeliveredNotifications(withIdentifiers: identifiers)
    }

    // MARK: Permission

    /// The user's permission for the application. Defaults to ``NotificationPermission/allowed``. The user changes it
    /// with `remotesystems notifications permit`.
    public var permission: NotificationPermission { get async throws { try await self.keeper.permission } }

    /// Returns whether the application may show notifications.
    ///
    /// Does not ask the user: an installed application may show notifications until the user denies it.
    ///
    /// - Returns: `true` unless ``permission`` is ``NotificationPermission/denied``.
    /// - Throws: the errors of ``permission``.
    public func requestAuthorization() async throws -> Bool { try await self.permission != .denied }

    // MARK: Pending

    /// The notifications that wait for their triggers, the next first.
    public var pendingNotifications: [PendingNotification] {
        get async throws { try await self.keeper.pending }
    }

    /// Removes notifications that wait for their triggers. Unknown identifiers are ignored.
    ///
    /// - Parameter identifiers: The identifiers of the requests.
    public func removePendingNotifications(withIdentifiers identifiers: [String]) async throws {
        try await self.keeper.removePending(identifiers)
    }

    /// Removes all notifications that wait for their triggers.
    public func removeAllPendingNotifications() async throws {
        let identifiers = try await self.pendingNotifications.map(\.request.identifier)
        try await self.removePendingNotifications(withIdentifiers: identifiers)
    }

    // MARK: Badge

    /// Sets the number at the application's icon.
    ///
    /// Docks and task bars show it that know Unity's launcher API, such as those of KDE Plasma and Dash to Dock, for an
    /// application whose id is that of its desktop entry. The host daemon keeps it until it is changed, also after the
    /// application has ended.
    ///
    /// - Parameter count: The number; 0 for none. Valid range: 0–999 999.
    /// - Throws: ``NotificationError`` with `limitExceeded`; `RemoteSystemError` if the daemon does not respond.
    public func setBadgeCount(_ count: Int) async throws {
        guard (0...NotificationLimits.badge).contains(count) else {
            throw NotificationError(.limitExceeded, "The badge must be from 0 to \(NotificationLimits.badge).")
        }
        try await self.keeper.setBadge(count)
        self.badgeCount = count
    }
}

// What the keeper asks of the application.
extension UserNotificationCenter {
    /// How a notification is shown.
    func presentation(of request: NotificationRequest) async -> NotificationPresentation {
        var presentation = NotificationPresentation.all
        if let willPresent {
            presentation =
                await self.clock.first(within: Self.presentationTime) { await willPresent(request) } ?? .all
        }
        if presentation.contains(.badge), let badge = request.content.badge { self.badgeCount = badge }
        return presentation
    }

    /// Handles a response of the user.
    ///
    /// - Returns: whether the application has handled it. It is reported again otherwise, if it can be.
    func handle(_ response: NotificationResponse) async -> Bool {
        guard !self.handled.contains(response.id) else { return true }
        guard let responseHandler else {
            guard case .enqueued = self.feed.yield(response) else { return false }
            self.handled.insert(response.id)
            return true
        }
        // The daemon may send it again while the handler runs: its connection may have ended and come back.
        let task = self.handling[response.id] ?? self.clock.task { await self.run(responseHandler, response) }
        self.handling[response.id] = task
        await task.value
        return true
    }

    /// No response to a notification comes any more.
    func ended(_ identifier: String) async { await self.endHandler?(identifier) }

    /// Updates the application's content for a program.
    ///
    /// - Throws: ``NotificationError``, or what the application throws.
    func handle(_ update: ContentUpdate) async throws {
        guard let updateHandler else {
            throw AppServiceFailure("The application does not update its content.")
        }
        let result = await self.clock.first(within: Self.responseTime) { () -> Result<Void, any Error> in
            do {
                return .success(try await updateHandler(update))
            } catch {
                return .failure(error)
            }
        }
        guard let result else {
            let seconds = Self.responseTime.components.seconds
            throw AppServiceFailure("The application has not updated its content within \(seconds) s.", canRetry: true)
        }
        try result.get()
    }

    private func run(_ handler: @escaping ResponseHandler, _ response: NotificationResponse) async {
        let isHandled: Void? = await self.clock.first(within: Self.responseTime) { await handler(response) }
        if isHandled == nil {
            self.logger?.warning(
                "A response was not handled within \(Self.responseTime.components.seconds) s",
                metadata: ["notification": "\(response.requestIdentifier)"]
            )
        }
        self.handled.insert(response.id)
        self.handling[response.id] = nil
    }
}
