// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
internal import Synchronization

/// Follows whether the login manager (systemd-logind, org.freedesktop.login1(5)) counts this user's session as locked:
/// the property `LockedHint`, which some desktops set that have no screen lock on the session bus.
final class LoginLock: Sendable {
    private let state = Mutex(LoginLockState())
    private let logger: Logger
    private let changed: @Sendable (ScreenLocks.State) -> Void

    /// - Parameter changed: receives each new state.
    init(logger: Logger, changed: @escaping @Sendable (ScreenLocks.State) -> Void) {
        self.logger = logger
        self.changed = changed
    }

    /// Follows the state until cancelled, or until a graceful shutdown.
    func run() async throws {
        try await BusLoop.keepServing("The system bus is not there", level: .debug, self.logger) { await self.serve() }
    }

    private func serve() async -> Result<Void, MessageBus.Failure> {
        let connection = LoginLockConnection { [weak self] state in
            self?.update { login in
                guard let state else { return login.absent() }
                return login.responded(state)
            }
        }
        let result = await withTaskCancellationHandler {
            await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try connection.run() } }
        } onCancel: {
            connection.stop()
        }
        // Nothing changes any more.
        guard !Task.isCancelled else { return result }
        // It is asked again in a second.
        switch result {
        case .success: self.update { $0.ended() }
        case .failure: self.update { $0.absent() }
        }
        return result
    }

    private func update(_ event: (inout LoginLockState) -> ScreenLocks.State?) {
        // In the lock, so that the states arrive in their order.
        self.state.withLock { state in
            guard let new = event(&state) else { return }
            self.changed(new)
            guard new == .unknown else { return }
            self.logger.info("The login manager does not respond. The session counts as locked.")
        }
    }
}

/// What the login manager states about the session, as far as it is known. A value type without I/O. Each method
/// returns the new state, or `nil` if it is the last one.
struct LoginLockState {
    private var last: ScreenLocks.State?
    /// Whether the login manager has ever stated something about this session. It stays there then, also while it
    /// cannot be asked.
    private var hasStated = false

    /// The login manager has responded, or has not in its time.
    mutating func responded(_ state: ScreenLocks.State) -> ScreenLocks.State? {
        if state == .locked || state == .unlocked { self.hasStated = true }
        return self.change(to: state)
    }

    /// The connection to the system bus has ended. The session may be locked meanwhile.
    mutating func ended() -> ScreenLocks.State? { self.change(to: .unknown) }

    /// There is no system bus, or no login manager on it. Either may be restarted now.
    mutating func absent() -> ScreenLocks.State? { self.change(to: self.hasStated ? .unknown : .none) }

    private mutating func change(to state: ScreenLocks.State) -> ScreenLocks.State? {
        guard self.last != state else { return nil }
        self.last = state
        return state
    }
}

/// One connection to the system bus for ``LoginLock``.
private final class LoginLockConnection: Sendable {
    private struct Reading {
        var isDue = true
        var isWaiting = false
        var hasReported = false
    }

    private static let service = "org.freedesktop.login1"
    private static let interface = "org.freedesktop.login1.Session"
    private static let properties = "org.freedesktop.DBus.Properties"
    /// The errors of a bus without a login manager.
    private static let absent = Set(["ServiceUnknown", "NameHasNoOwner"].map { "org.freedesktop.DBus.Error.\($0)" })
    /// This process's session, or the session with the user's screen if the process belongs to none, as a service of
    /// the user does.
    private static let path = "/org/freedesktop/login1/session/auto"
    /// The time in which the login manager responds, and the time after which it is asked again if it did not.
    private static let (time, retryTime) = (Duration.seconds(5), Duration.seconds(10))

    private let loop = BusLoop(.system)
    private let reading = Mutex(Reading())
    private let report: @Sendable (ScreenLocks.State?) -> Void

    /// - Parameter report: receives each response; `nil` if there is no login manager on the bus.
    init(_ report: @escaping @Sendable (ScreenLocks.State?) -> Void) { self.report = report }

    func stop() { self.loop.stop() }

    /// Runs until the bus ends, or ``stop()``.
    func run() throws(MessageBus.Failure) {
        // A bus that accepts the connection and does not respond counts like a login manager that does not respond.
        BlockingCalls.after(Self.time) { [weak self] in
            guard let self else { return }
            self.reading.withLock { if !$0.hasReported { self.report(.unknown) } }
        }
        unsafe try self.loop.run { connection throws(MessageBus.Failure) in
            // The signals come from the path of the session itself.
            let rules = [
                "type='signal',sender='\(Self.service)',interface='\(Self.properties)',member='PropertiesChanged',"
                    + "path_namespace='/org/freedesktop/login1/session'",
                "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.service)'",
            ]
            unsafe try self.loop.subscribe(rules, connection) { [weak self] in self?.received($0) }
        } turn: { connection in
            unsafe self.readIfDue(connection)
            return true
        }
    }

    /// Any program may send such a signal: the login manager itself is asked. The next question waits for the response
    /// to the last.
    private func received(_ signal: BusSignal) {
        switch signal.member {
        case "PropertiesChanged" where signal.text == Self.interface,
            "NameOwnerChanged" where signal.text == Self.service:
            self.reading.withLock { $0.isDue = true }
        default: break
        }
    }

    private func readIfDue(_ connection: OpaquePointer) {
        let isDue = self.reading.withLock { reading -> Bool in
            guard reading.isDue, !reading.isWaiting else { return false }
            (reading.isDue, reading.isWaiting) = (false, true)
            return true
        }
        guard isDue else { return }
        let call = MessageBus.Call(
            destination: Self.service,
            path: Self.path,
            interface: Self.properties,
            method: "Get",
            arguments: [.string(Self.interface), .string("LockedHint")]
        )
        let flags = G_DBUS_CALL_FLAGS_NO_AUTO_START
        unsafe self.loop.send(call, over: connection, flags: flags, timeout: Self.time) { [weak self] result in
            switch result {
            case .success(let response):
                self?.responded(ScreenLocks.State(isActive: unsafe BusSignal.variantBool(of: response.pointer)))
            case .failure(let failure):
                let isAbsent = failure.name.map { Self.absent.contains($0) } ?? false
                self?.responded(isAbsent ? nil : ScreenLocks.State(ofLoginManager: failure))
            }
        }
    }

    private func responded(_ state: ScreenLocks.State?) {
        self.reading.withLock { reading in
            (reading.isWaiting, reading.hasReported) = (false, true)
            self.report(state)
        }
        guard state == .unknown else { return }
        BlockingCalls.after(Self.retryTime) { [weak self] in
            self?.reading.withLock { $0.isDue = true }
            self?.loop.wakeUp()
        }
    }
}
