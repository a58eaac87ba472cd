// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO
internal import Logging
internal import Synchronization

/// The calls to the notification server: one after the other, without blocking the loop.
///
/// A notification waits for its response without a limit, and is not sent again before. A server that has stood still
/// executes all calls that have arrived when it goes on: each notification is shown once, and its late response has the
/// number under which it is replaced or closed. Signals and responses are handled in the server's order: a click before
/// the response concerns the earlier content.
extension NotificationSession {
    private static let path = "/org/freedesktop/Notifications"
    /// The time in which a server responds, and the time for which one is left alone that did not.
    private static let (callTime, pauseTime) = (Duration.seconds(5), Duration.seconds(30))

    /// The error with which Plasma refuses for a second what equals its last notification, and the time after which
    /// that is tried again, once.
    private static let (repetition, repetitionTime) =
        ("org.freedesktop.Notifications.Error.ExcessNotificationGeneration", Duration.milliseconds(1200))

    private enum Errand {
        case askSoftware, askCapabilities
        case step(NotificationTable.Step)
    }

    /// Makes the next call, unless one waits for its response.
    ///
    /// - Returns: whether a call waits for its response.
    func callServer(_ connection: OpaquePointer) -> Bool {
        self.endWaiting()
        if let errand = self.nextErrand() { unsafe self.run(errand, connection) }
        return self.state.withLock { $0.waiting != nil }
    }

    private func nextErrand() -> Errand? {
        self.state.withLock { state in
            guard state.waiting == nil, state.server != nil,
                (state.knowsLock && !state.isOutdated) || state.isStopping, state.pause.map({ $0 <= .now }) ?? true,
                let step = state.table.nextStep
            else { return nil }
            state.pause = nil
            guard case .notify = step, state.abilities == nil else { return .step(step) }
            return state.software == nil ? .askSoftware : .askCapabilities
        }
    }

    private func run(_ errand: Errand, _ connection: OpaquePointer) {
        switch errand {
        case .askSoftware:
            unsafe self.call("GetServerInformation", [], connection) { session, result in
                session.learn(result) { state, response in
                    state.software =
                        response.map { unsafe NotificationServerAbilities.software(in: $0.pointer) } ?? ""
                }
            }
        case .askCapabilities:
            unsafe self.call("GetCapabilities", [], connection) { session, result in
                session.learn(result) { state, response in
                    state.abilities = NotificationServerAbilities(
                        software: state.software ?? "",
                        capabilities: response.flatMap {
                            unsafe NotificationServerAbilities.capabilities(in: $0.pointer)
                        }
                    )
                }
            }
        case .step(.close(let id)):
            self.state.withLock { $0.table.closed(id) }
            // Fails if the server has closed it a moment before.
            unsafe self.call("CloseNotification", [.uint32(id)], connection) { session, result in
                if case .failure(let failure) = result, failure.isTimeout {
                    session.pause()
                } else {
                    session.reportRemoved(id)
                }
            }
        case .step(.notify(let notification, let replaced)):
            let (abilities, wasHeard) = self.state.withLock { state in
                state.table.send(notification)
                return (state.abilities ?? NotificationServerAbilities(), state.table.wasHeard(notification))
            }
            var sent = notification
            sent.isSilent = notification.isSilent || wasHeard
            let arguments = sent.arguments(replacing: replaced, for: abilities)
            unsafe self.call("Notify", arguments, showing: notification, connection) { session, result in
                session.responded(notification, result.map { unsafe BusSignal.number(of: $0.pointer) ?? 0 })
            }
        }
    }

    /// Notes what the server has responded to a question about itself. A server that refuses a question has the
    /// defaults. One that does not respond is asked again after the pause, before anything is sent to it.
    private func learn(
        _ result: Result<BusResponse, MessageBus.Failure>,
        _ note: (inout State, BusResponse?) -> Void
    ) {
        switch result {
        case .success(let response): self.state.withLock { note(&$0, response) }
        case .failure(let failure) where failure.isTimeout: self.pause()
        case .failure: self.state.withLock { note(&$0, nil) }
        }
    }

    /// The server has responded to a notification, in time or late.
    private func responded(_ notification: DesktopNotification, _ result: Result<UInt32, MessageBus.Failure>) {
        let reason: String
        switch result {
        case .success(let id):
            let (isShown, isHeard, place) = self.state.withLock { state in
                state.pause = nil
                let isShown = state.table.notified(notification, as: id)
                return (isShown, isShown ? state.table.isHeard(notification) : false, state.place(id))
            }
            guard !isShown else {
                self.events.yield(.shown(notification, place: place))
                if isHeard { self.giveFeedback(for: notification) }
                return
            }
            reason = "The notification server returned no id that is only this notification's"
        case .failure(let failure):
            let isRetried = self.state.withLock { state in
                state.table.refused(notification)
                guard failure.name == Self.repetition else { return false }
                return state.table.retriesRepetition(notification)
            }
            guard !isRetried else { return self.retry(notification) }
            reason = failure.message
        }
        self.notShown(notification, reason)
    }

    private func retry(_ notification: DesktopNotification) {
        BlockingCalls.after(Self.repetitionTime) { [weak self] in
            self?.state.withLock { $0.table.retry(notification) }
            self?.loop.wakeUp()
        }
    }

    private func notShown(_ notification: DesktopNotification, _ reason: String) {
        self.logger.info("A notification was not shown", metadata: ["reason": "\(reason)"])
        self.events.yield(.notShown(notification, reason: reason))
    }

    // MARK: Servers that do not respond

    /// Gives up waiting for a notification whose time is over. Its response may still arrive.
    private func endWaiting() {
        let (notification, count) = self.state.withLock { state -> (DesktopNotification?, Int) in
            guard let (notification, until) = state.waiting?.notification, until <= .now else { return (nil, 0) }
            state.waiting = nil
            state.unanswered += 1
            return (notification, state.unanswered)
        }
        guard let notification else { return }
        self.logger.notice("The notification server does not respond", metadata: ["unanswered": "\(count)"])
        self.pause()
        self.notShown(notification, "The server did not respond within \(Self.callTime.components.seconds) s")
    }

    /// Leaves a server alone that does not respond.
    private func pause() {
        self.state.withLock { $0.pause = .now + Self.pauseTime }
        self.wakeUp(after: Self.pauseTime)
    }

    private func wakeUp(after time: Duration) {
        // A little later, so that the time is over on every clock.
        BlockingCalls.after(time + .milliseconds(20)) { [weak self] in self?.loop.wakeUp() }
    }

    // MARK: Calling

    /// Makes a call and returns at once.
    ///
    /// - Parameters:
    ///   - notification: what the call shows. Its response is waited for without a limit.
    ///   - ended: runs on the loop's thread, unless the server has changed.
    private func call(
        _ method: String,
        _ arguments: [MessageBus.Argument],
        showing notification: DesktopNotification? = nil,
        _ connection: OpaquePointer,
        _ ended: @escaping @Sendable (NotificationSession, Result<BusResponse, MessageBus.Failure>) -> Void
    ) {
        let (number, server) = self.state.withLock { state in
            state.calls += 1
            let now = ContinuousClock.now
            state.waiting = Waiting(
                call: state.calls,
                since: now,
                notification: notification.map { ($0, until: now + Self.callTime) }
            )
            return (state.calls, state.servers)
        }
        let call = MessageBus.Call(
            destination: Self.name,
            path: Self.path,
            interface: Self.name,
            method: method,
            arguments: arguments
        )
        let timeout = notification == nil ? Self.callTime : nil
        unsafe self.loop.send(call, over: connection, timeout: timeout) { [weak self] result in
            guard let self else { return }
            let counts = self.state.withLock { state in
                guard state.servers == server else { return false }
                if state.waiting?.call == number { state.waiting = nil }
                return true
            }
            if counts { ended(self, result) }
        }
        if notification != nil { self.wakeUp(after: Self.callTime) }
    }
}
