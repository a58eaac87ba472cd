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
        /// What the server calls itself; `nil` before it was asked.
        var software: String?
        /// Whether the last step failed. It is tried again when something changes.
        var hasFailed = false
        var isStopping = false
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    /// The interfaces of screen locks, with their paths.
    private static let locks = [
        ("org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"),
        ("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"),
    ]

    private let events: AsyncStream<DesktopNotificationEvent>.Continuation
    private let logger: Logger
    private let state = Mutex(State())
    private let loop = BusLoop()

    init(_ events: AsyncStream<DesktopNotificationEvent>.Continuation, _ logger: Logger) {
        self.events = events
        self.logger = logger
    }

    func present(_ notifications: [DesktopNotification]) {
        self.state.withLock { state in
            state.table.want(notifications)
            state.hasFailed = false
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

    func run() throws(MessageBus.Failure) {
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            unsafe try self.subscribe(connection)
            self.setServer(unsafe self.owner(of: Self.name, connection))
            unsafe self.readLocks(connection)
        } turn: { connection in
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
                self.state.withLock { $0.hasFailed = true }
                self.logger.info("A notification was not shown", metadata: ["reason": "\(error.message)"])
            }
        }
    }

    private func nextStep() -> NotificationTable.Step? {
        self.state.withLock { state in
            guard state.server != nil, !state.hasFailed else { return nil }
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
            let drawsClick = unsafe self.software(connection) == Self.drawingClicks
            let arguments = Self.arguments(of: notification, replacing: replaced, drawsClick: drawsClick)
            unsafe try self.call("Notify", arguments, connection) { response in
                id = unsafe BusSignal.number(of: response) ?? 0
            }
            self.state.withLock { $0.table.notified(notification, as: id) }
        }
    }

    /// The server that draws a button for a click on the notification itself.
    private static let drawingClicks = "Xfce Notify Daemon"

    /// What the server calls itself.
    private func software(_ connection: OpaquePointer) -> String {
        if let software = self.state.withLock({ $0.software }) { return software }
        var name = ""
        unsafe try? self.call("GetServerInformation", [], connection) { response in
            name = unsafe BusSignal.texts(of: response).first ?? ""
        }
        self.state.withLock { $0.software = name }
        return name
    }

    private static func arguments(
        of notification: DesktopNotification,
        replacing id: UInt32,
        drawsClick: Bool
    ) -> [MessageBus.Argument] {
        let actions = notification.actions.filter { action in
            // Not the same button twice.
            !drawsClick || action.key != DesktopNotification.Action.click
                || !notification.actions.contains { $0.key != action.key && $0.label == action.label }
        }
        var hints: [(String, MessageBus.Hint)] = [("category", .string("device"))]
        if notification.isQuiet { hints += [("urgency", .byte(0)), ("suppress-sound", .bool(true))] }
        if notification.isResident { hints.append(("resident", .bool(true))) }
        return [
            .string("RemoteSystems"), .uint32(id), .string(""), .string(notification.summary),
            .string(notification.markupBody),
            .strings(actions.flatMap { [$0.key, $0.label] }), .hints(hints),
            // 0: never expires; -1: the server decides.
            .int32(notification.isResident ? 0 : -1),
        ]
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
        unsafe try MessageBus.send(call, over: connection, self.loop.cancellable) { response, _ in
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
        for rule in rules {
            unsafe try MessageBus.send(.bus("AddMatch", [.string(rule)]), over: connection, self.loop.cancellable)
        }
        unsafe g_dbus_connection_signal_subscribe(
            connection,
            nil,
            nil,
            nil,
            nil,
            nil,
            G_DBUS_SIGNAL_FLAGS_NONE,
            { _, sender, _, interface, member, parameters, data in
                guard let data = unsafe data, let parameters = unsafe parameters,
                    let signal = unsafe BusSignal(sender, interface, member, parameters)
                else { return }
                unsafe Unmanaged<NotificationSession>.fromOpaque(data).takeUnretainedValue().received(signal)
            },
            Unmanaged.passRetained(self).toOpaque(),
            { data in if let data = unsafe data { unsafe Unmanaged<NotificationSession>.fromOpaque(data).release() } }
        )
    }

    private func received(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case (Self.name, "ActionInvoked"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let key = self.state.withLock({ $0.table.activated(id, action: signal.text) })
            else { return }
            self.events.yield(.activated(key: key, action: signal.text))
        case (Self.name, "NotificationClosed"):
            guard signal.sender == self.state.withLock({ $0.server }), let id = signal.number,
                let key = self.state.withLock({ $0.table.reportedClosed(id) })
            else { return }
            self.events.yield(.dismissed(key: key))
        case ("org.freedesktop.DBus", "NameOwnerChanged"):
            guard signal.texts.count == 3, signal.texts[0] == Self.name else { return }
            self.setServer(signal.texts[2].isEmpty ? nil : signal.texts[2])
        case (_, "ActiveChanged"):
            guard Self.locks.contains(where: { $0.0 == signal.interface }), let isActive = signal.bool else { return }
            self.events.yield(.locked(isActive))
        default:
            break
        }
    }

    private func setServer(_ server: String?) {
        self.state.withLock { state in
            // A server that was started by a notification shows that one.
            if state.server != server, state.server != Self.name { state.table.serverEnded() }
            state.server = server
            state.software = nil
            state.hasFailed = false
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
            unsafe try? MessageBus.send(call, over: connection, flags: flags, self.loop.cancellable) { response, _ in
                if unsafe BusSignal.bool(of: response) == true { isLocked = true }
            }
        }
        self.events.yield(.locked(isLocked))
    }
}
