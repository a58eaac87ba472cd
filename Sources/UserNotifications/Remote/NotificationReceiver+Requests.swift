// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// The requests of programs of this and of other systems: to deliver, to withdraw and to list notifications.
extension NotificationReceiver {
    /// Takes over a notification, and shows it.
    ///
    /// - Returns: how it was delivered.
    func deliver(
        _ message: ValueSet,
        from caller: AppServiceCaller,
        over connection: AppServiceConnection
    ) async throws(NotificationError) -> NotificationDelivery {
        var (sender, message) = (Self.sender(caller), message)
        // The daemon of another system sends for a program that has ended.
        if caller.claimedApplicationID == RemoteSystemHost.machineApplicationID,
            let application = try FieldReader(message).string("Application")
        {
            try FieldCheck.identifier(application, "Application")
            sender.application = application
        }
        message["Application"] = nil
        try self.admit(sender)
        var notification =
            caller.isLocal ? try RemoteNotification(local: message) : try RemoteNotification(message)
        let leftOut = try self.locateAttachments(
            of: &notification,
            isLocal: caller.isLocal,
            arePermitted: sender.may(.attachments)
        )
        guard notification.request.content.hasAlert else {
            let isBadge = await self.setBadge(of: notification, sender)
            guard notification.isContentAvailable else {
                if isBadge { return NotificationDelivery(.handled) }
                return NotificationDelivery(.withheld, reason: "The notification has no text.")
            }
            return try await self.update(notification, of: sender)
        }
        if let end = self.end(of: notification, from: sender) { return end }
        let earlier = self.received.entry(notification.request.identifier, of: sender)
        // One that is sent again after a lost connection counts once. It has less time left then. One that an extension
        // has changed here counts again.
        var repeated = earlier?.notification
        repeated?.expiration = notification.expiration
        let isCounted = notification.deliveryID == nil || repeated != notification
        if isCounted { try self.checkLimits(of: sender) }
        if notification.isContentAvailable { self.updateBeside(notification, of: sender) }
        let name = caller.isLocal ? nil : self.name(caller.systemID) ?? caller.systemID.short
        let (date, now) = (self.clock.date, self.clock.now)
        let link = self.connect(connection, of: sender, receivesAll: false)
        let readyBy = self.isExtended(notification, sender) ? now + Self.extensionTime : nil
        let added = try self.received.add(
            notification,
            from: sender,
            name: name,
            link: link,
            readyBy: readyBy,
            at: date,
            now
        )
        if isCounted { self.countForLimits(of: sender) }
        let entry = self.withKnownState(added)
        let superseded = self.supersede(earlier, by: entry)
        if let key = entry.stateKey {
            self.watchStates()
            self.arrivals.yield(key.digest)
        }
        self.setAlarm()
        if readyBy == nil { self.reportDelivery(entry) }
        // A later one with the same identifier waited for its trigger.
        let pending = PendingNotifications.Key(sender: sender, identifier: notification.request.identifier)
        let replaced = self.pending.remove(pending)
        let displaced = self.received.takeDisplaced()
        // It is shown even if it cannot be stored.
        await self.commitOrLog { () throws(NotificationError) in
            let removal = replaced.map {
                NotificationStoreChange.remove(.pending, key: NotificationRecord.key(of: $0.key))
            }
            return try self.arrival(of: entry) + [removal].compactMap(\.self) + self.settle(superseded, .withdrawn)
                + self.changes(ending: displaced, .expired)
        }
        await self.close(displaced: displaced)
        // A repetition of what is on the screen makes no sound: it is not counted in the limit of an hour.
        let isSilenced = !isCounted && earlier?.isShown == true
        var delivery =
            readyBy == nil ? await self.show(entry, isSilenced: isSilenced) : await self.showExtended(entry)
        let category = self.unknownCategory(of: notification, sender).map {
            "It has no actions: the category '\($0)' was not sent along, and has no view here."
        }
        for text in [leftOut, readyBy == nil ? self.extensionIsMissing(notification, sender) : nil, category] {
            if let text { delivery.add(text) }
        }
        return delivery
    }

    /// A notification has taken the place of an earlier one of its sender.
    ///
    /// - Returns: the earlier one, if it is another delivery. The other systems remove it: they may not receive the new
    ///   one.
    func supersede(
        _ earlier: ReceivedNotifications.Entry?,
        by entry: ReceivedNotifications.Entry
    ) -> [ReceivedNotifications.Entry] {
        guard let earlier else { return [] }
        self.superseded.yield(earlier.number)
        guard earlier.stateKey != entry.stateKey else { return [] }
        if earlier.link != entry.link { self.reportEnd([earlier]) }
        return [earlier]
    }

    /// Sends responses over this connection from now on, with those that were not sent yet.
    ///
    /// - Parameters:
    ///   - identifiers: the notifications that it concerns. Empty for all of the sender.
    ///   - deliveryID: the only delivery that it concerns; `nil` for any. Another program may have replaced it.
    ///   - isForeground: whether the sender decides how its notifications are shown.
    /// - Returns: which of the notifications still wait for the user, and how many responses were not sent yet.
    func resume(
        _ identifiers: [String],
        deliveryID: UUID?,
        _ caller: AppServiceCaller,
        isForeground: Bool,
        over connection: AppServiceConnection
    ) -> NotificationResumption {
        let sender = Self.sender(caller)
        let link = self.connect(connection, of: sender, receivesAll: identifiers.isEmpty)
        // Another connection of the sender may be in the foreground.
        if isForeground || self.foreground[sender] == link { self.foreground[sender] = isForeground ? link : nil }
        var count = self.routing.responses(for: sender).count
        let waiting = self.received.identifiers(identifiers, of: sender, deliveryID)
        if let link, !identifiers.isEmpty {
            self.received.set(link, for: waiting, of: sender)
            count = self.routing.claim(Set(identifiers), deliveryID, of: sender, by: link)
        }
        self.sendResponses()
        if caller.isLocal, identifiers.isEmpty { self.applications.yield(sender.application) }
        return NotificationResumption(waiting: waiting, responseCount: count)
    }

    /// - Returns: the link; `nil` if the connection has ended. Nothing would remove it then.
    private func connect(
        _ connection: AppServiceConnection,
        of sender: NotificationSender,
        receivesAll: Bool
    ) -> ResponseRouting.Link? {
        guard connection.info != nil else { return nil }
        let link = ObjectIdentifier(connection)
        self.connections[link] = connection
        self.routing.connected(link, of: sender, receivesAll: receivesAll)
        return link
    }

    /// - Parameter deliveryID: the only delivery that is withdrawn; `nil` for any. A later one with the same identifier
    ///   may have come from another program.
    func withdraw(_ identifiers: [String], deliveryID: UUID?, by caller: AppServiceCaller) async -> Int {
        let sender = Self.sender(caller)
        let own = self.received.identifiers(identifiers, of: sender, deliveryID)
        let withdrawn = self.received.withdraw(own, of: sender)
        await self.end(withdrawn, .withdrawn)
        return withdrawn.count
    }

    /// The notifications that wait for the user.
    func list() -> [ReceivedNotifications.Entry] {
        // The name of a system may become known only after its first notification has come.
        for entry in self.received.all {
            guard let id = SystemID(entry.sender.systemID), entry.systemName == id.short, let name = self.name(id)
            else { continue }
            self.received.set(entry.key, systemName: name)
        }
        // Programs of this system see what the user sees.
        return self.received.all.filter { $0.readyBy == nil }.map { entry in
            var listed = entry
            listed.notification = self.withCheckedFiles(entry.notification)
            return listed
        }
    }

    /// The user has responded.
    ///
    /// - Throws: ``NotificationError``, and the notification stays.
    func respond(_ key: String, _ action: NotificationActionIdentifier, text: String?) async throws(NotificationError) {
        await self.close(try await self.answer(key, action, text: text))
    }

    /// Takes over a response of the user.
    ///
    /// - Parameter activationToken: with which the application may raise its window. Defaults to `nil`: none.
    /// - Returns: its notification, which is gone and may still be on the screen.
    func answer(
        _ key: String,
        _ action: NotificationActionIdentifier,
        text: String?,
        activationToken: String? = nil
    ) async throws(NotificationError) -> ReceivedNotifications.Entry {
        let checked = try self.received.check(key, action, text: text)
        if !checked.notification.isOneWay { try self.routing.checkRoom(for: checked.sender, link: checked.link) }
        let entry = try self.received.respond(key, action, text: text)
        self.setAlarm()
        let end: NotificationEnd = action == .dismiss ? .dismissed : .answered
        self.report(end, entry)
        await self.responded(entry, action, text, activationToken: activationToken)
        return entry
    }

    /// A connection of a sender or of a program that watches has ended.
    func ended(_ connection: ObjectIdentifier) {
        self.watchers.removeValue(forKey: connection)?.end()
        self.connections[connection] = nil
        for (sender, link) in self.foreground where link == connection { self.foreground[sender] = nil }
        // Another connection may get the same identifier.
        self.received.ended(connection)
        self.routing.ended(connection)
        self.sendResponses()
    }

    static func sender(_ caller: AppServiceCaller) -> NotificationSender {
        NotificationSender(
            systemID: "\(caller.systemID)",
            application: caller.claimedApplicationID,
            linkedAccountID: caller.authorizationKind == .sameUser ? nil : caller.accountID.map { "\($0)" },
            isLocal: caller.isLocal
        )
    }
}
