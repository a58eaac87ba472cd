// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Synchronization
public import UserNotifications

/// A desktop in memory, and its user, for the tests of applications that show notifications.
///
/// ```swift
/// let desktop = StagedNotificationPresenter()
/// let center = UserNotificationCenter(presenter: desktop, applicationName: "Calendar")
/// try await center.add(request)
/// desktop.choose("accept", on: "42")
/// ```
public final class StagedNotificationPresenter: BadgePresenter {
    private struct State {
        var shown: [PresentedNotification] = []
        var history: [PresentedNotification] = []
        var badges: [String: Int] = [:]
        var failure: NotificationError?
        /// What the program that shows notifications reads, and another one after it.
        var events: AsyncStream<NotificationPresenterEvent>
        var feed: AsyncStream<NotificationPresenterEvent>.Continuation

        init() { (self.events, self.feed) = AsyncStream.makeStream() }
    }

    /// The staged user's events, such as a chosen action. For one reader.
    public var events: AsyncStream<NotificationPresenterEvent> { self.state.withLock { $0.events } }
    /// The capabilities of the staged desktop.
    public let capabilities: NotificationPresenterCapabilities

    private let state = Mutex(State())

    /// Creates a desktop that shows nothing yet.
    ///
    /// - Parameter capabilities: What the desktop can show. Defaults to actions, text input, body, images, sound,
    ///   persistence and dismissal.
    public init(
        capabilities: NotificationPresenterCapabilities = [
            .actions, .textInput, .body, .images, .sound, .persistence, .dismissal,
        ]
    ) {
        self.capabilities = capabilities
    }

    /// Begins with an empty screen, for the daemon of a system that has appeared again.
    func restart() {
        self.state.withLock { state in
            state.feed.finish()
            (state.events, state.feed) = AsyncStream.makeStream()
            state.shown = []
        }
    }

    /// The notifications on the screen, the oldest first.
    public var shown: [PresentedNotification] { self.state.withLock { $0.shown } }

    /// All notifications that were shown, in their order, replaced ones included.
    public var history: [PresentedNotification] { self.state.withLock { $0.history } }

    /// The numbers at the icons of applications, by the ids of their desktop entries.
    public var badges: [String: Int] { self.state.withLock { $0.badges } }

    package func setBadge(_ count: Int, of desktopEntry: String) {
        self.state.withLock { $0.badges[desktopEntry] = count == 0 ? nil : count }
    }

    /// Shows a notification, or fails as ``fail(_:)`` has set it.
    public func show(_ notification: PresentedNotification) async throws {
        try self.state.withLock { state in
            if let failure = state.failure { throw failure }
            state.shown.removeAll { $0.identifier == notification.identifier }
            state.shown.append(notification)
            state.history.append(notification)
        }
    }

    /// Removes a notification from the screen.
    public func close(_ identifier: String) async {
        self.state.withLock { $0.shown.removeAll { $0.identifier == identifier } }
    }

    // MARK: The user and the server

    /// The user chooses an action.
    ///
    /// - Parameters:
    ///   - action: The action. Defaults to `default`: the notification itself.
    ///   - identifier: The identifier of the shown notification.
    ///   - text: The text that the user enters. Defaults to `nil`.
    ///   - activationToken: The token with which a window may be raised. Defaults to `nil`: the server sends none.
    public func choose(
        _ action: NotificationActionIdentifier = .default,
        on identifier: String,
        text: String? = nil,
        activationToken: String? = nil
    ) {
        self.report(.activated(identifier: identifier, action: action, text: text, activationToken: activationToken))
    }

    /// A notification leaves the screen.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the shown notification.
    ///   - reason: The reason. Defaults to `dismissed`: the user closed it.
    public func end(_ identifier: String, _ reason: NotificationClosedReason = .dismissed) {
        self.state.withLock { $0.shown.removeAll { $0.identifier == identifier } }
        self.report(.closed(identifier: identifier, reason: reason))
    }

    private func report(_ event: NotificationPresenterEvent) { _ = self.state.withLock { $0.feed.yield(event) } }

    /// Lets every further call fail.
    ///
    /// - Parameter failure: The error; `nil` for none.
    public func fail(_ failure: NotificationError?) { self.state.withLock { $0.failure = failure } }
}
