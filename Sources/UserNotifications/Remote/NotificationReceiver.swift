// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
package import RemoteSystems
internal import RemoteSystemsIdentity
internal import ServiceLifecycle
internal import ValueSets

/// Receives the notifications of other systems, shows them to the user of this one, and sends the responses back.
package actor NotificationReceiver: Service {
    /// The maximum number of responses that wait for one sender to connect again, and for all.
    private static let maxWaiting = 64
    private static let maxWaitingInAll = 512
    /// The maximum number of programs of this system that watch.
    private static let maxWatchers = 16

    let presenter: (any NotificationPresenter)?
    private let name: @Sendable (SystemID) -> String?
    let store: (any NotificationStore)?
    let clock: FeatureClock
    let logger: Logger
    var received: ReceivedNotifications
    /// The keys of the notifications that an earlier process had received, until they are shown.
    var restored: Set<String> = []
    var pending = PendingNotifications()
    var clockWatch: WallClockWatch
    /// The connection over which each sender has sent last. Its responses go there.
    private var links: [NotificationSender: AppServiceConnection] = [:]
    var waiting: [NotificationSender: [NotificationResponse]] = [:]
    private var sending: Set<NotificationSender> = []
    private var watchers: [ObjectIdentifier: NotificationWatcher] = [:]
    /// The last call of the presenter. Calls are made in order.
    private var lastCall: Task<Void, Never>?
    private var alarm: Task<Void, Never>?

    /// - Parameters:
    ///   - presenter: shows the notifications. `nil` on a system without a desktop: they are kept in a list.
    ///   - store: keeps everything while the program does not run. `nil`: nothing is kept. Defaults to `nil`.
    ///   - name: the name of a system of the account, if it is known.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        presenter: (any NotificationPresenter)?,
        store: (any NotificationStore)? = nil,
        name: @escaping @Sendable (SystemID) -> String?
    ) {
        self.presenter = presenter
        self.name = name
        self.store = store
        self.clock = FeatureClock(configuration)
        self.clockWatch = WallClockWatch(self.clock)
        self.logger = configuration.logger
        self.received = ReceivedNotifications(self.clock.now)
    }

    /// The service with which other systems send notifications.
    package nonisolated var service: AppService {
        var options = AppService.Options()
        options.summary = "Shows notifications to the user of this system."
        options.pushRequestSchema = .full
        options.pushResponseSchema = .full
        return AppService(
            NotificationMessage.service,
            requestSchema: .full,
            responseSchema: .full,
            concurrentRequests: 8,
            options: options,
            provider: NotificationService(receiver: self)
        )
    }

    /// Delivers what is due, and follows what the user does. Closes what is shown at a graceful shutdown.
    ///
    /// ``restore(_:)`` comes before it.
    package func run() async throws {
        self.showRestored()
        await self.deliverDue()
        if let presenter {
            await cancelWhenGracefulShutdown {
                for await event in presenter.events { await self.received(event) }
            }
        }
        // The presenter may have ended before.
        try? await gracefulShutdown()
        for entry in self.received.all where entry.isShown { await self.presenter?.close(entry.key) }
        self.alarm?.cancel()
    }

    // MARK: Requests

    func deliver(
        _ message: ValueSet,
        from caller: AppServiceCaller,
        over connection: AppServiceConnection
    ) async throws(NotificationError) -> NotificationDelivery {
        let sender = Self.sender(caller)
        try self.received.admit(sender, self.clock.now)
        let notification = try RemoteNotification(message)
        guard notification.request.content.hasAlert else {
            return NotificationDelivery(.withheld, reason: "The notification has no text.")
        }
        let name = caller.isLocal ? nil : self.name(caller.systemID) ?? "\(caller.systemID.short)"
        let entry = try self.received.add(notification, from: sender, name: name, self.clock.now)
        self.resume(sender, over: connection)
        self.setAlarm()
        self.report("delivered", entry)
        // It is shown even if it cannot be stored.
        await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(entry))] }
        return await self.show(entry)
    }

    /// Sends the sender's responses over this connection from now on, with those that were not sent yet.
    ///
    /// - Returns: which of the notifications still wait for the user, and how many responses were not sent yet.
    func resume(
        _ identifiers: [String],
        _ caller: AppServiceCaller,
        over connection: AppServiceConnection
    ) -> NotificationResumption {
        let sender = Self.sender(caller)
        let resumption = NotificationResumption(
            waiting: identifiers.filter { self.received.contains($0, of: sender) },
            responseCount: self.waiting[sender]?.count ?? 0
        )
        self.resume(sender, over: connection)
        return resumption
    }

    private func resume(_ sender: NotificationSender, over connection: AppServiceConnection) {
        // After its end nothing would remove it.
        guard connection.info != nil else { return }
        self.links[sender] = connection
        self.sendResponses(to: sender)
    }

    func withdraw(_ identifiers: [String], by caller: AppServiceCaller) async -> Int {
        let withdrawn = self.received.withdraw(identifiers, of: Self.sender(caller))
        self.setAlarm()
        await self.commitOrLog { withdrawn.map { .remove(.received, key: $0.key) } }
        for entry in withdrawn { await self.close(entry, "withdrawn") }
        return withdrawn.count
    }

    /// The notifications that wait for the user.
    func list() -> [ReceivedNotifications.Entry] { self.received.all }

    /// The user has responded with a command.
    func respond(_ key: String, _ action: NotificationActionIdentifier, text: String?) async throws(NotificationError) {
        let entry = try self.received.respond(key, action, text: text)
        self.setAlarm()
        await self.responded(entry, action, text)
        await self.close(entry, "answered")
    }

    func watch(_ connection: AppServiceConnection) throws(NotificationError) -> [ReceivedNotifications.Entry] {
        let id = ObjectIdentifier(connection)
        guard self.watchers[id] != nil || self.watchers.count < Self.maxWatchers else {
            throw NotificationError(.limitExceeded, "\(Self.maxWatchers) programs watch already. End one of them.")
        }
        if self.watchers[id] == nil, connection.info != nil {
            self.watchers[id] = NotificationWatcher(connection, self.clock)
        }
        return self.received.all
    }

    func ended(_ connection: ObjectIdentifier) {
        self.watchers.removeValue(forKey: connection)?.end()
        for (sender, link) in self.links where ObjectIdentifier(link) == connection { self.links[sender] = nil }
    }

    static func sender(_ caller: AppServiceCaller) -> NotificationSender {
        NotificationSender(
            systemID: "\(caller.systemID)",
            application: caller.claimedApplicationID,
            linkedAccountID: caller.authorizationKind == .sameUser ? nil : caller.accountID.map { "\($0)" }
        )
    }

    // MARK: Showing

    func show(_ entry: ReceivedNotifications.Entry, isSilenced: Bool = false) async -> NotificationDelivery {
        guard let presenter else {
            return NotificationDelivery(.kept, reason: "The system has no desktop that shows notifications.")
        }
        let failure = await self.inOrder {
            // A later notification may have replaced it, or the sender has withdrawn it.
            guard await self.isCurrent(entry) else { return nil as String? }
            do {
                var presented = entry.presented
                presented.isSilenced = isSilenced
                await self.presents(entry)
                try await presenter.show(presented)
                await self.shown(entry.key)
                return nil
            } catch {
                return (error as? NotificationError)?.message ?? "The notification server does not respond."
            }
        }
        guard let failure else { return NotificationDelivery(.shown) }
        self.logger.info("A notification was not shown", metadata: ["reason": "\(failure)"])
        return NotificationDelivery(.kept, reason: failure)
    }

    /// Shows again what an earlier process has shown, without a sound.
    private func showRestored() {
        let restored = self.received.all.filter { self.restored.contains($0.key) }
        self.restored = []
        guard self.presenter != nil, !restored.isEmpty else { return }
        _ = self.clock.task { for entry in restored { _ = await self.show(entry, isSilenced: true) } }
    }

    private func isCurrent(_ entry: ReceivedNotifications.Entry) -> Bool {
        self.received[entry.key]?.number == entry.number
    }

    private func presents(_ entry: ReceivedNotifications.Entry) { self.received.present(entry) }

    private func shown(_ key: String) async {
        self.received.set(key, isShown: true)
        // Without it, another process would show it a second time.
        guard let presenter = self.presenter as? any PlacedNotificationPresenter,
            let entry = self.received.set(key, place: presenter.place(of: key))
        else { return }
        await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(entry))] }
    }

    private func close(_ entry: ReceivedNotifications.Entry, _ event: String) async {
        self.report(event, entry)
        guard let presenter else { return }
        await self.inOrder { await presenter.close(entry.key) }
    }

    private func inOrder<Result: Sendable>(_ call: @escaping @Sendable () async -> Result) async -> Result {
        let last = self.lastCall
        let task = self.clock.task {
            await last?.value
            return await call()
        }
        self.lastCall = self.clock.task { _ = await task.value }
        return await task.value
    }

    private func received(_ event: NotificationPresenterEvent) async {
        switch event {
        case .activated(let key, let action, let text, _):
            // The user has seen another text, and is asked again.
            guard self.received.isPresented(key) else { return }
            do throws(NotificationError) {
                try await self.respond(key, action, text: text)
            } catch {
                self.logger.debug("A response was not accepted", metadata: ["reason": "\(error)"])
            }
        case .closed(let key, .dismissed):
            guard self.received.isPresented(key), let entry = self.received.remove(key) else { return }
            self.setAlarm()
            self.report("dismissed", entry)
            if entry.notification.category?.options.contains(.customDismissAction) == true {
                await self.responded(entry, .dismiss, nil)
            } else {
                await self.commitOrLog { [.remove(.received, key: key)] }
            }
        case .closed(let key, _):
            // It stays in the list.
            self.received.set(key, isShown: false)
        }
    }

    func setAlarm() {
        self.alarm?.cancel()
        let date = self.pending.next.map { WallClockWatch.instant(of: $0, self.clock) }
        guard let next = [self.received.nextExpiration, date].compactMap(\.self).min() else {
            self.alarm = nil
            return
        }
        self.alarm = self.clock.task { [clock, weak self] in
            guard (try? await clock.sleep(until: next)) != nil else { return }
            await self?.wake()
        }
    }

    private func wake() async {
        let expired = self.received.expire(self.clock.now)
        await self.commitOrLog { expired.map { .remove(.received, key: $0.key) } }
        for entry in expired { await self.close(entry, "expired") }
        await self.deliverDue()
    }

    // MARK: Responses

    private func responded(
        _ entry: ReceivedNotifications.Entry,
        _ action: NotificationActionIdentifier,
        _ text: String?
    ) async {
        let response = NotificationResponse(
            id: UUID().uuidString.lowercased(),
            requestIdentifier: entry.notification.request.identifier,
            actionIdentifier: action,
            userText: text
        )
        guard self.waiting.values.reduce(0, { $0 + $1.count }) < Self.maxWaitingInAll,
            self.waiting[entry.sender, default: []].count < Self.maxWaiting
        else {
            self.logger.warning("A response was dropped: too many wait for their senders")
            return
        }
        self.waiting[entry.sender, default: []].append(response)
        // Together, so that an answer is neither lost nor asked for again.
        await self.commitOrLog { () throws(NotificationError) in
            [
                .remove(.received, key: entry.key),
                .put(try NotificationRecord(response, to: entry.sender, date: self.clock.date)),
            ]
        }
        self.sendResponses(to: entry.sender)
    }

    private func sendResponses(to sender: NotificationSender) {
        guard self.waiting[sender] != nil, let link = self.links[sender], self.sending.insert(sender).inserted else {
            return
        }
        _ = self.clock.task { await self.sendResponses(to: sender, over: link) }
    }

    private func sendResponses(to sender: NotificationSender, over link: AppServiceConnection) async {
        while let response = self.waiting[sender]?.first {
            let sent = try? await link.send(NotificationMessage.response(response), timeout: .seconds(10))
            guard sent?.status == .success else { break }
            self.waiting[sender]?.removeAll { $0.id == response.id }
            if self.waiting[sender]?.isEmpty == true { self.waiting[sender] = nil }
            await self.commitOrLog { [.remove(.response, key: response.id)] }
        }
        self.sending.remove(sender)
        // The sender may have connected again meanwhile.
        if let current = self.links[sender], current !== link { self.sendResponses(to: sender) }
    }

    func report(_ event: String, _ entry: ReceivedNotifications.Entry) {
        for watcher in self.watchers.values { watcher.report(NotificationMessage.event(event, entry)) }
    }
}

/// A program of this system that receives every change.
private struct NotificationWatcher {
    private let feed: AsyncStream<ValueSet>.Continuation
    private let task: Task<Void, Never>

    init(_ connection: AppServiceConnection, _ clock: FeatureClock) {
        let (events, feed) = AsyncStream.makeStream(of: ValueSet.self, bufferingPolicy: .bufferingNewest(256))
        self.feed = feed
        self.task = clock.task {
            for await event in events {
                guard (try? await connection.send(event, timeout: .seconds(10)))?.status == .success else { return }
            }
        }
    }

    func report(_ event: ValueSet) { self.feed.yield(event) }

    func end() {
        self.feed.finish()
        self.task.cancel()
    }
}
