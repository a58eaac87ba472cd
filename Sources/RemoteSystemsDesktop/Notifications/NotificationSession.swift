// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
internal import Synchronization

/// One connection to the session bus for notifications.
final class NotificationSession: Sendable {
    private struct State {
        var table = NotificationTable()
        /// The unique bus name of the notification server; its well-known name before the bus has started it; `nil`
        /// after it has ended, until something changes.
        var server: String?
        /// What the server is able to do; `nil` before it was asked.
        var abilities: NotificationServerAbilities?
        /// Where an earlier process has shown notifications, by their keys.
        var places: [String: DesktopNotificationPlace]
        /// The instant before which a server is not called that did not respond.
        var pause: ContinuousClock.Instant?
        /// Whether a screen lock has reported a change.
        var locksChanged = false
        var isStopping = false
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// The reason of a notification that the user has closed.
    private static let dismissed: UInt32 = 2
    /// The interfaces of screen locks, with their paths.
    private static let locks = [
        ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
        ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ]

    private let events: AsyncStream<DesktopNotificationEvent>.Continuation
    private let logger: Logger
    private let state: Mutex<State>
    private let loop = BusLoop()

    /// The time in which a server responds, and the time for which one is left alone that did not.
    private static let (callTime, pauseTime) = (Duration.seconds(5), Duration.seconds(30))

    init(
        _ events: AsyncStream<DesktopNotificationEvent>.Continuation,
        places: [String: DesktopNotificationPlace],
        _ logger: Logger
    ) {
        self.events = events
        self.state = Mutex(State(places: places))
        self.logger = logger
    }

    func present(_ notifications: [DesktopNotification]) {
        self.state.withLock { state in
            state.table.want(notifications)
            // The bus starts it.
            if state.server == nil { state.server = Self.name }
        }
        self.loop.wakeUp()
    }

    /// Closes all notifications, then the connection. A server that does not respond is given up after a second.
    func stop() {
        self.state.withLock { $0.isStopping = true }
        self.present([])
        BlockingCalls.after(.seconds(1)) { [loop] in loop.stop() }
    }

    /// - Parameter begun: runs when the bus has accepted the connection.
    func run(begun: () -> Void) throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            begun()
            unsafe try self.subscribe(connection)
            self.setServer(unsafe self.owner(of: Self.name, connection))
            unsafe self.readLocks(connection)
        } turn: { connection in
            if self.state.withLock({ state in
                defer { state.locksChanged = false }
                return state.locksChanged
            }) {
                unsafe self.readLocks(connection)
            }
            unsafe self.takeSteps(connection)
            return !self.state.withLock { $0.isStopping }
        }
    }

    // MARK: Showing

    private func takeSteps(_ connection: OpaquePointer) {
        while let step = self.nextStep() {
            do throws(MessageBus.Failure) {
                unsafe try self.take(step, connection)
            } catch {
                self.logger.info("A notification was not shown", metadata: ["reason": "\(error.message)"])
                if error.isTimeout { self.pause() }
                guard case .notify(let notification, _) = step else { continue }
                self.events.yield(.notShown(key: notification.key, reason: error.message))
                // It is tried again after the pause.
                if !error.isTimeout { self.state.withLock { $0.table.refused(notification) } }
            }
        }
    }

    /// Leaves a server alone that does not respond. Each call blocks this thread, and with it what the user does.
    private func pause() {
        self.state.withLock { $0.pause = .now + Self.pauseTime }
        BlockingCalls.after(Self.pauseTime) { [weak self] in self?.loop.wakeUp() }
    }

    private func nextStep() -> NotificationTable.Step? {
        self.state.withLock { state in
            guard state.server != nil, state.pause.map({ $0 <= .now }) ?? true else { return nil }
            state.pause = nil
            return state.table.nextStep
        }
    }

    private func take(_ step: NotificationTable.Step, _ connection: OpaquePointer) throws(MessageBus.Failure) {
        switch step {
        case .close(let id):
            self.state.withLock { $0.table.closed(id) }
            // Fails if the server has closed it a moment before.
            unsafe try? self.call("CloseNotification", [.uint32(id)], connection)
        case .notify(let notification, let replaced):
            var id: UInt32 = 0
            let arguments = notification.arguments(replacing: replaced, for: unsafe self.abilities(connection))
            unsafe try self.call("Notify", arguments, connection) { response in
                id = unsafe BusSignal.number(of: response) ?? 0
            }
            let (isShown, server) = self.state.withLock { state in
                (state.table.notified(notification, as: id), state.server ?? "")
            }
            guard isShown else {
                self.events.yield(
                    .notShown(key: notification.key, reason: "The server gives no number of its own to it")
                )
                return
            }
            self.events.yield(.shown(key: notification.key, place: DesktopNotificationPlace(server: server, id: id)))
        }
    }

    /// What the server is able to do. It is asked once.
    private func abilities(_ connection: OpaquePointer) -> NotificationServerAbilities {
        if let abilities = self.state.withLock({ $0.abilities }) { return abilities }
        var abilities = NotificationServerAbilities()
        unsafe try? self.call("GetServerInformation", [], connection) { response in
            abilities.software = unsafe BusSignal.texts(of: response).first ?? ""
        }
        unsafe try? self.call("GetCapabilities", [], connection) { response in
            guard let list = unsafe g_variant_get_child_value(response, 0) else { return }
            defer { unsafe g_variant_unref(list) }
            abilities.capabilities = Set(unsafe BusSignal.texts(of: list))
        }
        self.state.withLock { $0.abilities = abilities }
        return abilities
    }

    private func call(
        _ method: String,
        _ arguments: [MessageBus.Argument],
        _ connection: OpaquePointer,
        read: (OpaquePointer) -> Void = { _ in }
    ) throws(MessageBus.Failure) {
        let call = MessageBus.Call(
            destination: Self.name,
            path: Self.path,
            interface: Self.name,
            method: method,
            arguments: arguments
        )
        unsafe try MessageBus.send(call, over: connection, timeout: Self.callTime, self.loop.cancellable) {
            response,
            _ in
            unsafe read(response)
        }
    }

    // MARK: Events

    /// Asks the bus for the signals, and lets them call ``received(_:)``.
    private func subscribe(_ connection: OpaquePointer) throws(MessageBus.Failure) {
        let rules =
            [
                "type='signal',sender='\(Self.name)',interface='\(Self.name)'",
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'",
            ] + Self.locks.map { "type='signal',interface='\($0.0)',member='ActiveChanged'" }
        unsafe try self.loop.subscribe(rules, connection) { [weak self] in self?.received($0) }
    }

    private func received(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case (Self.name, "ActionInvoked"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let key = self.state.withLock({ $0.table.activated(id, action: signal.text) })
            else { return }
            self.events.yield(.activated(key: key, action: signal.text))
        case (Self.name, "NotificationReplied"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let (key, action) = self.state.withLock({ $0.table.replied(id) })
            else { return }
            self.events.yield(.replied(key: key, action: action, text: signal.text))
        case (Self.name, "NotificationClosed"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let notification = self.state.withLock({ $0.table.reportedClosed(id) })
            else { return }
            self.events.yield(.closed(notification, byUser: signal.numbers.dropFirst().first == Self.dismissed))
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard signal.texts.count == 3, signal.texts[0] == Self.name else { return }
            self.setServer(signal.texts[2].isEmpty ? nil : signal.texts[2])
        case (_, "ActiveChanged"):
            guard Self.locks.contains(where: { $0.0 == signal.interface }) else { return }
            if signal.bool == true {
                self.events.yield(.locked(true))
            } else {
                // Any program may send the signal. That the session is unlocked is asked of the lock itself.
                self.state.withLock { $0.locksChanged = true }
            }
        default:
            break
        }
    }

    private func setServer(_ server: String?) {
        self.state.withLock { state in
            // A server that was started by a notification shows that one.
            if state.server != server, state.server != Self.name { state.table.serverEnded() }
            state.server = server
            state.abilities = nil
            state.pause = nil
            for (key, place) in state.places where place.server == server { state.table.adopt(key, id: place.id) }
            if server != nil { state.places = [:] }
            state.table.retry()
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

    private func readLocks(_ connection: OpaquePointer) {
        var isLocked = false
        for (name, path) in Self.locks {
            let call = MessageBus.Call(
                destination: name,
                path: path,
                interface: name,
                method: "GetActive",
                arguments: []
            )
            let flags = G_DBUS_CALL_FLAGS_NO_AUTO_START
            unsafe try? MessageBus.send(
                call,
                over: connection,
                flags: flags,
                timeout: Self.callTime,
                self.loop.cancellable
            ) { response, _ in
                if unsafe BusSignal.bool(of: response) == true { isLocked = true }
            }
        }
        self.events.yield(.locked(isLocked))
    }
}
