// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
public import RemoteSystems
public import ServiceLifecycle
internal import Synchronization
public import UserNotifications
internal import ValueSets

/// Shows notifications with the desktop portal, for programs in a sandbox such as Flatpak's
/// (`org.freedesktop.portal.Notification`,
/// <https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.Notification.html>).
///
/// It is used as ``SessionPresenter``, which shows more: the portal neither says whether a notification is shown nor
/// that the user has closed it, has a text field only in its version 2, and shows no images here. What a locked screen
/// shows is the desktop's choice; version 2 is asked to hide the texts there. Nothing is shown before ``run()``.
public final class PortalPresenter: NotificationPresenter, Service {
    private struct State {
        var table = PortalTable()
        var abilities = PortalAbilities()
        /// The connection to the bus; `nil` while there is none.
        var loop: BusLoop?
        /// The unique bus name of the portal; `nil` while it does not run. Nothing is sent before it is known.
        var owner: String?
        /// Whether the portal is asked what it is able to do, which starts it.
        var isAsking = false
        /// What waits for the portal, by the notification's identifier. `nil` in the stream: it has accepted it.
        var waiting: [String: AsyncStream<String?>.Continuation] = [:]
        /// The calls that wait for their responses.
        var calls = 0
        var isStopping = false

        /// Nothing that waits is shown.
        mutating func refuse(_ reason: String) {
            for waiting in self.waiting.values { waiting.yield(reason) }
            self.waiting = [:]
        }
    }

    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.portal.Notification"
    /// The time in which the portal responds. The bus may have to start it.
    private static let callTime = Duration.seconds(25)
    /// The time in which it accepts a notification.
    private static let showTime = Duration.seconds(3)
    /// The time in which something follows from a choice of the user.
    private static let choiceTime = Duration.seconds(2)
    private static let limits = ValueSetLimits(depth: 6, keysPerDictionary: 64, items: 512, bytes: 64 << 10)

    /// The user's events, such as a chosen action. Only one task may iterate over them.
    public let events: AsyncStream<NotificationPresenterEvent>
    private let feed: AsyncStream<NotificationPresenterEvent>.Continuation
    private let logger: Logger
    /// What the identifiers at the portal begin with. Programs outside of sandboxes share theirs.
    private let prefix: String
    private let state = Mutex(State())

    /// Creates a presenter.
    ///
    /// - Parameter configuration: The application's configuration, whose logger and application id are used.
    public init(_ configuration: RemoteSystemsConfiguration) {
        (self.events, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        self.logger = configuration.logger
        self.prefix = "\(configuration.applicationID) "
    }

    /// The capabilities of the portal. Text fields need its version 2 and the desktop's support. The portal never
    /// reports dismissals.
    public var capabilities: NotificationPresenterCapabilities {
        self.state.withLock { $0.abilities.showsTextField } ? [.actions, .body, .textInput] : [.actions, .body]
    }

    /// Serves until cancelled, or until a graceful shutdown. The notifications are then removed.
    public func run() async throws {
        defer { self.feed.finish() }
        try await BusLoop.keepServing("Notifications cannot be shown", self.logger) { await self.serve() }
    }

    /// Returns when the portal has accepted the notification. It may not be shown nevertheless.
    ///
    /// - Parameter notification: The notification.
    /// - Throws: `NotificationError` with the code `notShown`, or `CancellationError` if the task is cancelled before.
    ///   The notification is shown when that is possible.
    public func show(_ notification: PresentedNotification) async throws {
        let (results, waiting) = AsyncStream.makeStream(of: String?.self, bufferingPolicy: .bufferingOldest(1))
        let loop = self.state.withLock { state -> BusLoop? in
            state.table.want(notification)
            let identifier = notification.identifier
            if state.loop == nil {
                _ = waiting.yield("There is no session bus with a desktop portal.")
            } else if !state.table.hasPlace(notification) {
                _ = waiting.yield("Too many notifications are shown at the same time.")
            } else if state.table.isSent(notification), state.waiting[identifier] == nil {
                _ = waiting.yield(nil)
            } else {
                state.waiting.updateValue(waiting, forKey: identifier)?.yield("Another one replaces it.")
            }
            self.send(&state)
            return state.owner == nil ? state.loop : nil
        }
        // The portal is started again where it has ended.
        if let loop { self.askPortal(loop) }
        BlockingCalls.after(Self.showTime) { _ = waiting.yield("The desktop portal does not respond.") }
        for await reason in results {
            guard let reason else { return }
            throw NotificationError(.notShown, reason)
        }
        // The stream ends without an element if the task is cancelled.
        try Task.checkCancellation()
    }

    /// Removes a notification. Does nothing if it is not shown.
    ///
    /// - Parameter identifier: The identifier of the notification.
    public func close(_ identifier: String) async {
        self.update { state in
            state.table.close(identifier)
            state.waiting.removeValue(forKey: identifier)?.yield("It was withdrawn.")
        }
    }

    // MARK: The connection

    private func serve() async -> Result<Void, MessageBus.Failure> {
        let loop = BusLoop()
        let result = await withTaskCancellationHandler {
            await BlockingCalls.run {
                Result { () throws(MessageBus.Failure) in
                    unsafe try loop.run { connection throws(MessageBus.Failure) in
                        unsafe try self.begin(loop, connection)
                    }
                }
            }
        } onCancel: {
            self.stop(loop)
        }
        self.state.withLock { state in
            (state.loop, state.owner, state.calls, state.isAsking) = (nil, nil, 0, false)
            state.refuse("The session bus has ended.")
        }
        return result
    }

    /// Removes all notifications, then the connection. A portal that does not respond is given up after a second.
    private func stop(_ loop: BusLoop) {
        self.state.withLock { $0.isStopping = true }
        self.update { $0.table.closeAll() }
        if self.state.withLock({ $0.calls }) == 0 { loop.stop() }
        BlockingCalls.after(.seconds(1)) { loop.stop() }
    }

    private func begin(_ loop: BusLoop, _ connection: OpaquePointer) throws(MessageBus.Failure) {
        let rules = [
            "type='signal',sender='\(Self.name)',path='\(Self.path)',interface='\(Self.interface)'",
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='\(Self.name)'",
        ]
        unsafe try loop.subscribe(rules, connection) { [weak self] signal in self?.received(signal) }
        self.state.withLock { $0.loop = loop }
        self.askPortal(loop)
    }

    /// Asks the portal what it is able to do, which starts it, and then lets it show everything.
    private func askPortal(_ loop: BusLoop) {
        let isFirst = self.state.withLock { state in
            defer { state.isAsking = true }
            return !state.isAsking
        }
        guard isFirst else { return }
        let call = MessageBus.Call(
            destination: Self.name,
            path: Self.path,
            interface: "org.freedesktop.DBus.Properties",
            method: "GetAll",
            arguments: [.string(Self.interface)]
        )
        loop.post { connection in
            unsafe loop.send(call, over: connection.pointer, timeout: Self.callTime) { [weak self] result in
                switch result {
                case .success(let response): self?.hasStarted(Self.properties(response) ?? [:], loop)
                case .failure(let failure): self?.hasNoPortal(failure)
                }
            }
        }
    }

    private func hasStarted(_ properties: ValueSet, _ loop: BusLoop) {
        self.state.withLock { $0.abilities = PortalAbilities(properties) }
        let call = MessageBus.Call.bus("GetNameOwner", [.string(Self.name)])
        loop.post { connection in
            unsafe loop.send(call, over: connection.pointer, timeout: Self.callTime) { [weak self] result in
                guard let self else { return }
                let owner = (try? result.get()).flatMap { unsafe BusSignal.texts(of: $0.pointer).first }
                self.update { state in
                    (state.owner, state.isAsking) = (owner, false)
                    state.table.forget()
                }
            }
        }
    }

    private func hasNoPortal(_ failure: MessageBus.Failure) {
        self.logger.info("Notifications cannot be shown", metadata: ["reason": "\(failure.message)"])
        self.state.withLock { state in
            state.isAsking = false
            state.refuse("There is no desktop portal: \(failure.message).")
        }
    }

    private static func properties(_ response: BusResponse) -> ValueSet? {
        guard let first = unsafe g_variant_get_child_value(response.pointer, 0) else { return nil }
        defer { unsafe g_variant_unref(first) }
        return unsafe try? ValueSet(gVariant: first, limits: Self.limits)
    }

    // MARK: Events

    private func received(_ signal: BusSignal) {
        switch (signal.interface, signal.member) {
        case ("org.freedesktop.DBus", "NameOwnerChanged")
        where signal.sender == "org.freedesktop.DBus" && signal.texts.count == 3 && signal.text == Self.name:
            self.ownerChanged(signal.texts[2])
        case (Self.interface, "ActionInvoked"):
            // Any program can send this signal.
            guard signal.sender == self.state.withLock({ $0.owner }), signal.texts.count == 2 else { return }
            self.chosen(signal.variantTexts)
        default: break
        }
    }

    private func ownerChanged(_ owner: String) {
        let loop = self.state.withLock { state -> BusLoop? in
            guard state.owner != owner, !state.isAsking else { return nil }
            state.owner = nil
            return owner.isEmpty ? nil : state.loop
        }
        if let loop { self.askPortal(loop) }
    }

    /// - Parameter texts: the target of the action, and the text that the user has entered.
    private func chosen(_ texts: [String]) {
        guard let target = texts.first.flatMap(PortalNotification.read) else { return }
        // A choice that concerns an older content is none of the newer one.
        let notification = self.state.withLock { $0.table.notification(target.number) }
        guard let notification else { return }
        // The portal has removed it. If nothing follows from the choice, it is shown again.
        BlockingCalls.after(Self.choiceTime) { [weak self] in self?.update { $0.table.forget(target.number) } }
        let takesText = notification.category?.actions.contains {
            $0.identifier.rawValue == target.key && $0.textInput != nil
        }
        self.feed.yield(
            .activated(
                identifier: notification.identifier,
                action: NotificationActionIdentifier(target.key),
                text: takesText == true ? texts.dropFirst().last : nil
            )
        )
    }

    // MARK: Calls

    private func update(_ change: (inout State) -> Void) {
        self.state.withLock { state in
            change(&state)
            self.send(&state)
        }
    }

    /// Inside the lock, so that the portal gets changes in their order.
    private func send(_ state: inout State) {
        guard let loop = state.loop, state.owner != nil else { return }
        for step in state.table.nextSteps() {
            state.calls += 1
            let call = self.call(step, state.abilities)
            loop.post { connection in
                unsafe loop.send(call, over: connection.pointer, timeout: Self.callTime) { [weak self] result in
                    self?.ended(step, result.map { _ in }, loop)
                }
            }
        }
    }

    private func call(_ step: PortalTable.Step, _ abilities: PortalAbilities) -> MessageBus.Call {
        let (method, arguments): (String, [MessageBus.Argument]) =
            switch step {
            case .add(let notification, let number):
                (
                    "AddNotification",
                    [
                        .string(self.prefix + notification.identifier),
                        .dictionary(PortalNotification.dictionary(notification, number, for: abilities)),
                    ]
                )
            case .remove(let identifier): ("RemoveNotification", [.string(self.prefix + identifier)])
            }
        return MessageBus.Call(
            destination: Self.name,
            path: Self.path,
            interface: Self.interface,
            method: method,
            arguments: arguments
        )
    }

    private func ended(_ step: PortalTable.Step, _ result: Result<Void, MessageBus.Failure>, _ loop: BusLoop) {
        var reason: String?
        if case .failure(let failure) = result {
            self.logger.info("A notification was not shown", metadata: ["reason": "\(failure.message)"])
            reason = "The desktop portal does not show it: \(failure.message)."
        }
        let isLast = self.state.withLock { state in
            state.calls -= 1
            if case .add(let notification, let number) = step, state.table.notification(number) != nil {
                if reason != nil { state.table.forget(number) }
                state.waiting.removeValue(forKey: notification.identifier)?.yield(reason)
            }
            return state.isStopping && state.calls == 0
        }
        if isLast { loop.stop() }
    }
}
