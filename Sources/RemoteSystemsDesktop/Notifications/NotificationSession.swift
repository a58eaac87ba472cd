// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
internal import Synchronization

/// One connection to the session bus for notifications.
final class NotificationSession: Sendable {
    struct State {
        var table = NotificationTable()
        /// The unique bus name of the notification server; its well-known name before the bus has started it; `nil`
        /// after it has ended, until something changes.
        var server: String?
        /// The id of the bus.
        var bus = ""
        /// What the server calls itself, and what it is able to do; `nil` before it was asked.
        var software: String?
        var abilities: NotificationServerAbilities?
        /// Where an earlier process has shown notifications, by their keys.
        var places: [String: DesktopNotificationPlace]
        /// The instant before which a server is not called that did not respond.
        var pause: ContinuousClock.Instant?
        /// The call to the server whose response is waited for. There is one at a time.
        var waiting: Waiting?
        /// The number of calls to servers.
        var calls = 0
        /// The number of notifications to which no server has responded in time.
        var unanswered = 0
        /// The number of servers so far. A response of an earlier one does not count.
        var servers = 0
        /// The last token with which a window may be raised, and its notification. It precedes the user's action.
        var token: (id: UInt32, text: String)?
        var locks = ScreenLocks()
        /// Whether it is known whether the session is locked. Nothing is shown before.
        var knowsLock = false
        /// Whether the wanted notifications are for another state of the lock than the present one. Their texts may be
        /// wrong.
        var isOutdated = false
        var isStopping = false
        /// Whether the session has ended, and the server has responded to everything and shows nothing.
        var hasClosedAll = false

        /// Whether the server is known not to respond: it is left alone, or a call waits for a long time.
        func isSilent(at now: ContinuousClock.Instant) -> Bool {
            if let pause = self.pause, pause > now { return true }
            return self.waiting.map { $0.since + NotificationSession.lateTime <= now } ?? false
        }

        /// The place of a number of the server.
        func place(_ id: UInt32) -> DesktopNotificationPlace {
            DesktopNotificationPlace(server: "\(self.server ?? "") \(self.bus)", id: id)
        }
    }

    /// A call that waits for its response.
    struct Waiting {
        var call: Int
        /// The instant of the call.
        var since: ContinuousClock.Instant
        /// What the server was asked to show, and the instant at which the server counts as one that does not respond.
        var notification: (DesktopNotification, until: ContinuousClock.Instant)?
    }

    /// The time after which a call is late. Shorter than the time for which one notification waits for the server, so
    /// that the next one does not wait for as long again.
    static let lateTime = Duration.seconds(2)
    static let name = "org.freedesktop.Notifications"
    /// The reason of a notification that the user has closed.
    private static let dismissed: UInt32 = 2
    private static let maxTokenBytes = 512

    let events: AsyncStream<DesktopNotificationEvent>.Continuation
    let logger: Logger
    let state: Mutex<State>
    let loop = BusLoop()

    init(
        _ events: AsyncStream<DesktopNotificationEvent>.Continuation,
        places: [String: DesktopNotificationPlace],
        _ logger: Logger
    ) {
        self.events = events
        self.state = Mutex(State(places: places))
        self.logger = logger
    }

    /// - Parameter isLocked: whether the session is locked for these notifications; `nil` if that is unknown. A report
    ///   of the lock may be on its way to the caller.
    func present(_ notifications: [DesktopNotification], isLocked: Bool?) {
        self.state.withLock { state in
            state.table.want(notifications)
            state.isOutdated = isLocked != state.locks.isLocked
            // The bus starts it.
            if state.server == nil { state.server = Self.name }
        }
        self.loop.wakeUp()
    }

    /// Closes all notifications, then the connection. A server that does not respond is given up after a second.
    func stop() {
        self.state.withLock { $0.isStopping = true }
        self.present([], isLocked: nil)
        BlockingCalls.after(.seconds(1)) { [loop] in loop.stop() }
    }

    /// - Parameter begun: runs when the bus has accepted the connection.
    func run(begun: () -> Void) throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            begun()
            let bus = unsafe g_dbus_connection_get_guid(connection).map { unsafe String(cString: $0) } ?? ""
            self.state.withLock { $0.bus = bus }
            unsafe try self.subscribe(connection)
            self.setServer(unsafe self.owner(of: Self.name, connection))
        } turn: { connection in
            unsafe self.askLocks(connection)
            let isCalling = unsafe self.callServer(connection)
            return self.state.withLock { state in
                guard !isCalling, state.isStopping else { return true }
                // During a pause, the server may not have closed what it was asked to close.
                state.hasClosedAll = state.table.isEmpty && state.pause == nil && state.places.isEmpty
                return false
            }
        }
    }

    private func owner(of name: String, _ connection: OpaquePointer) -> String {
        var owner: String?
        unsafe try? MessageBus.send(.bus("GetNameOwner", [.string(name)]), over: connection, self.loop.cancellable) {
            response,
            _ in
            owner = unsafe BusSignal.texts(of: response).first
        }
        return owner ?? Self.name
    }

    // MARK: Events

    /// Asks the bus for the signals, and lets them call ``received(_:)``.
    private func subscribe(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        let locks = ScreenLocks.interfaces.map(\.0)
        let rules =
            ["type='signal',sender='\(Self.name)',interface='\(Self.name)'"]
            + ([Self.name] + locks).map {
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\($0)'"
            }
            + locks.map { "type='signal',interface='\($0)',member='ActiveChanged'" }
        unsafe try self.loop.subscribe(rules, connection) { [weak self] in self?.received($0) }
    }

    private func received(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case (Self.name, "ActivationToken"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                (1...Self.maxTokenBytes).contains(signal.text.utf8.count)
            else { return }
            self.state.withLock { $0.token = (id, signal.text) }
        case (Self.name, "ActionInvoked"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number else { return }
            let (content, token) = self.state.withLock { state in
                defer { state.token = nil }
                return (state.table.activated(id, action: signal.text), state.token)
            }
            guard let content else { return }
            self.events.yield(.activated(content, action: signal.text, token: token?.id == id ? token?.text : nil))
        case (Self.name, "NotificationReplied"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let (content, action) = self.state.withLock({ $0.table.replied(id) })
            else { return }
            self.events.yield(.replied(content, action: action, text: signal.text))
        case (Self.name, "NotificationClosed"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number else { return }
            let (isOwn, content) = self.state.withLock { ($0.table.holds(id), $0.table.reportedClosed(id)) }
            if let content {
                self.events.yield(.closed(content, byUser: signal.numbers.dropFirst().first == Self.dismissed))
            }
            if isOwn { self.reportRemoved(id) }
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard signal.texts.count == 3 else { return }
            guard signal.texts[0] == Self.name else { return self.state.withLock { $0.locks.changedOwner() } }
            self.setServer(signal.texts[2].isEmpty ? nil : signal.texts[2])
        case (_, "ActiveChanged"):
            guard ScreenLocks.interfaces.contains(where: { $0.0 == signal.interface }) else { return }
            guard signal.bool == true else { return self.state.withLock { $0.locks.reportedUnlocked() } }
            self.state.withLock { $0.locks.reportedLocked() }
            self.reportLock()
        default:
            break
        }
    }

    /// The server shows nothing under a number any more.
    func reportRemoved(_ id: UInt32) {
        // What is closed at the end is shown again by the next process, and replaces nothing then.
        let place = self.state.withLock { state -> DesktopNotificationPlace? in
            state.isStopping ? nil : state.place(id)
        }
        if let place { self.events.yield(.removed(place)) }
    }

    private func setServer(_ server: String?) {
        self.state.withLock { state in
            // A server that was started by a notification shows that one.
            if state.server != server, state.server != Self.name {
                state.table.serverEnded()
                state.waiting = nil
                state.servers += 1
            }
            state.server = server
            (state.software, state.abilities, state.pause) = (nil, nil, nil)
            for (key, place) in state.places where place == state.place(place.id) {
                state.table.adopt(key, id: place.id)
            }
            if server != nil { state.places = [:] }
            state.table.retry()
        }
    }

    // MARK: Screen locks

    /// The time in which a lock responds, and the time after which one that did not is asked again.
    private static let (lockTime, lockRetryTime) = (Duration.seconds(5), Duration.seconds(10))

    /// Asks all locks if that is due. None blocks the others.
    private func askLocks(_ connection: OpaquePointer) {
        guard let round = self.state.withLock({ $0.locks.canAsk ? $0.locks.ask() : nil }) else { return }
        for (name, path) in ScreenLocks.interfaces {
            let call = MessageBus.Call(
                destination: name,
                path: path,
                interface: name,
                method: "GetActive",
                arguments: []
            )
            let flags = G_DBUS_CALL_FLAGS_NO_AUTO_START
            unsafe self.loop.send(call, over: connection, flags: flags, timeout: Self.lockTime) { [weak self] result in
                let state: ScreenLocks.State =
                    switch result {
                    case .success(let response): .init(isActive: unsafe BusSignal.bool(of: response.pointer))
                    case .failure(let failure): .init(failure)
                    }
                self?.lockResponded(name, state, round)
            }
        }
    }

    private func lockResponded(_ name: String, _ state: ScreenLocks.State, _ round: Int) {
        guard let together = self.state.withLock({ $0.locks.responded(name, state, in: round) }) else { return }
        self.reportLock()
        guard together == .unknown else { return }
        self.logger.info("A screen lock does not respond. The session counts as locked.")
        BlockingCalls.after(Self.lockRetryTime) { [weak self] in
            self?.state.withLock { $0.locks.retry(after: round) }
            self?.loop.wakeUp()
        }
    }

    /// States what the login manager knows. On the loop's thread, like what the locks state, so that the events are in
    /// the order of the reports.
    func report(login: ScreenLocks.State) {
        self.loop.post { [weak self] _ in
            self?.state.withLock { $0.locks.loginReported(login) }
            self?.reportLock()
        }
    }

    private func reportLock() {
        let isLocked = self.state.withLock { state -> Bool? in
            guard let isLocked = state.locks.isLocked else { return nil }
            state.knowsLock = true
            state.isOutdated = true
            return isLocked
        }
        if let isLocked { self.events.yield(.locked(isLocked)) }
    }
}
