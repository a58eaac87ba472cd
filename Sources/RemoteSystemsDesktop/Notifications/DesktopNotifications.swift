// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Shows notifications on the desktop of the session bus, and reports what the user does with them.
///
/// Notifications are stated as a list. The server is brought to show exactly these, also after it was restarted.
package final class DesktopNotifications: Service {
    private struct State {
        var wanted: (notifications: [DesktopNotification], isLocked: Bool?) = ([], nil)
        /// The numbers at the icons of applications, by their desktop entries.
        var badges: [String: Int] = [:]
        var session: NotificationSession?
        /// What the login manager states about locks; `nil` before that is known.
        var login: ScreenLocks.State?
        /// Why there is no session bus now; `nil` before the first attempt and while there is one.
        var failure: String?
        /// Where notifications are shown, by their keys.
        var places: [String: DesktopNotificationPlace] = [:]
        var hasClosedAll = false
    }

    /// What the user does. For one reader.
    package let events: AsyncStream<DesktopNotificationEvent>
    private let feed: AsyncStream<DesktopNotificationEvent>.Continuation
    private let state = Mutex(State())
    private let logger: Logger

    package init(logger: Logger) {
        // The events of a user. More can only come from a program that pretends to be the server.
        (self.events, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        self.logger = logger
    }

    /// Whether there is a session bus, whose desktop may show notifications.
    package static var isPossible: Bool { MessageBus.isSessionKnown }

    /// Whether ``run()`` has ended, and has closed all notifications. A server that does not respond is given up.
    package var hasClosedAll: Bool { self.state.withLock { $0.hasClosedAll } }

    /// Whether the server is known not to respond. It is called again later.
    var isServerSilent: Bool {
        self.state.withLock { $0.session?.state.withLock { $0.isSilent(at: .now) } ?? false }
    }

    /// Shows these notifications, and no others.
    ///
    /// - Parameter isLocked: whether the session is locked for these notifications, as ``events`` last reported it;
    ///   `nil` before that. Nothing changes on the screen until it is the present state.
    package func present(_ notifications: [DesktopNotification], isLocked: Bool?) {
        self.state.withLock { state in
            state.wanted = (notifications, isLocked)
            state.session?.present(notifications, isLocked: isLocked)
            self.reportFailure(state)
        }
    }

    /// Shows a number at the icon of an application; 0 for none.
    package func setBadge(_ count: Int, of desktopEntry: String) {
        self.state.withLock { state in
            state.badges[desktopEntry] = count == 0 ? nil : count
            state.session?.present(badges: [desktopEntry: count])
        }
    }

    /// States where an earlier process has shown notifications. They are replaced instead of shown twice, if their
    /// server still runs. Called before ``run()``.
    package func adopt(_ places: [String: DesktopNotificationPlace]) {
        self.state.withLock { $0.places = places }
    }

    /// Reports at once that nothing is shown while there is no bus.
    private func reportFailure(_ state: State) {
        guard let failure = state.failure else { return }
        for notification in state.wanted.notifications { self.feed.yield(.notShown(notification, reason: failure)) }
    }

    /// Serves until cancelled, or until a graceful shutdown. The notifications are then closed.
    package func run() async throws {
        defer { self.feed.finish() }
        let login = LoginLock(logger: self.logger) { [weak self] state in
            self?.state.withLock { own in
                own.login = state
                own.session?.report(login: state)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await login.run() }
            group.addTask {
                try await BusLoop.keepServing("Notifications cannot be shown", self.logger) { await self.serve() }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private func serve() async -> Result<Void, MessageBus.Failure> {
        let places = self.state.withLock { state in
            defer { state.places = [:] }
            return state.places
        }
        let session = NotificationSession(self.feed, places: places, self.logger)
        self.state.withLock { state in
            state.session = session
            if let login = state.login { session.report(login: login) }
            session.present(state.wanted.notifications, isLocked: state.wanted.isLocked)
            session.present(badges: state.badges)
        }
        let result = await withTaskCancellationHandler {
            await BlockingCalls.run {
                Result { () throws(MessageBus.Failure) in
                    try session.run { self.state.withLock { $0.failure = nil } }
                }
            }
        } onCancel: {
            session.stop()
        }
        self.state.withLock { state in
            state.session = nil
            state.hasClosedAll = session.state.withLock { $0.hasClosedAll }
            guard case .failure(let failure) = result else { return }
            state.failure = failure.message
            self.reportFailure(state)
        }
        return result
    }
}
