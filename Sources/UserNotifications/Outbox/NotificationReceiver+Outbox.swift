// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// Sends notifications of this system's programs to systems of the user that are away now, when they are back.
extension NotificationReceiver {
    /// The maximum number of systems in one request.
    static let maxTargets = 64

    /// Takes over a notification for systems that are away.
    ///
    /// It has been stored when this returns, for all systems or for none.
    func post(_ message: ValueSet, by sender: NotificationSender) async throws(NotificationError) {
        let reader = FieldReader(message)
        let texts = try reader.strings("Systems", max: Self.maxTargets)
        let systems = Set(texts.compactMap { SystemID($0) }.map { "\($0)" })
        guard !systems.isEmpty, systems.count == Set(texts).count, !systems.contains(sender.systemID) else {
            throw NotificationError(.invalidContent, "It takes the ids of other systems.", field: "Systems")
        }
        let trust = self.trust()
        if let revoked = systems.sorted().compactMap({ SystemID($0) }).first(where: { !trust($0, nil) }) {
            throw NotificationError(
                .invalidContent,
                "The system \(revoked.short) was revoked, and receives no notifications.",
                field: "Systems"
            )
        }
        var notification: RemoteNotification
        do throws(NotificationError) {
            notification = try RemoteNotification(try reader.dictionary("Notification") ?? [:])
            _ = try self.locateAttachments(of: &notification, isLocal: true)
        } catch {
            throw error.inside("Notification")
        }
        // The program may have ended when the user responds.
        notification.isOneWay = true
        let date = self.clock.date
        let life = notification.expiration.map { min($0.timeInterval, Outbox.life) } ?? Outbox.life
        let identifier = notification.request.identifier
        var (added, replaced) = ([Outbox.Entry](), [Outbox.Entry]())
        do throws(NotificationError) {
            for system in systems.sorted() {
                let key = Outbox.Key(system: system, application: sender.application, identifier: identifier)
                let entry = Outbox.Entry(key: key, notification: notification, date: date, expires: date + life)
                let previous = self.outbox[key]
                try self.outbox.put(entry)
                added.append(entry)
                if let previous { replaced.append(previous) }
            }
            try await self.commit(
                added.map { entry throws(NotificationError) in .put(try NotificationRecord(entry)) }
            )
        } catch {
            // A later request may have replaced it meanwhile.
            for entry in added where self.outbox[entry.key] == entry { self.outbox.remove(entry.key) }
            for entry in replaced where self.outbox[entry.key] == nil { self.outbox.restore(entry) }
            throw error
        }
        self.watchStates()
        self.sendOutbox()
    }

    /// The notifications that wait for systems that are away, and those that have ended with a problem, as a program of
    /// this system may read them.
    func posted() -> [Outbox.Listed] {
        self.outbox.listed(at: self.clock.date).map { listed in
            var listed = listed
            if listed.isWaiting {
                listed.entry.notification = self.withCheckedFiles(listed.entry.notification)
            } else {
                // Its files are not kept.
                let count = listed.entry.notification.request.content.attachments.count
                for index in 0..<count { listed.entry.notification.request.content.attachments[index].path = nil }
            }
            return listed
        }
    }

    /// Removes notifications that wait for systems that are away.
    ///
    /// - Parameter application: the only application whose notifications are removed; `nil` for any.
    /// - Returns: how many were removed.
    func unpost(
        _ identifiers: Set<String>,
        of application: String? = nil
    ) async throws(NotificationError) -> Int {
        let isUnwanted = { (key: Outbox.Key) in
            identifiers.contains(key.identifier) && (application.map { $0 == key.application } ?? true)
        }
        let entries = self.outbox.all.filter { isUnwanted($0.key) }
        for entry in entries { self.outbox.remove(entry.key) }
        do throws(NotificationError) {
            try await self.commit(entries.map { .remove(.outbox, key: NotificationRecord.key(of: $0.key)) })
        } catch {
            // They would come back from the store.
            for entry in entries where self.outbox[entry.key] == nil { self.outbox.restore(entry) }
            throw error
        }
        return entries.count + self.outbox.removeEnded(isUnwanted)
    }

    /// Sends what can be sent now.
    func sendOutbox() {
        defer { self.setAlarm() }
        guard !self.outbox.isEmpty else { return }
        var daemons: [String: RemoteSystemApplication] = [:]
        for system in self.otherSystems {
            daemons["\(system.id)"] = system.application(RemoteSystemHost.machineApplicationID)
        }
        while let entry = self.outbox.next(for: Set(daemons.keys), at: self.clock.date, self.clock.now),
            let daemon = daemons[entry.key.system]
        {
            _ = self.clock.task { await self.send(entry, to: daemon) }
        }
    }

    private func send(_ entry: Outbox.Entry, to daemon: RemoteSystemApplication) async {
        let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(application: daemon))
        let outcome: Outbox.Outcome
        var isOpen = false
        do {
            try await connection.open()
            isOpen = true
            // That takes time: its own may be over now.
            if let notification = entry.remaining(at: self.clock.date) {
                self.report(try await connection.deliver(notification, onBehalfOf: entry.key.application), of: entry)
            } else {
                self.outbox.note(Outbox.late, about: entry, .taken, at: self.clock.date)
            }
            outcome = .taken
        } catch {
            outcome = isOpen ? Self.outcome(of: error) : .unreachable
            self.outbox.note("\(error)", about: entry, outcome, at: self.clock.date)
            self.logger.log(
                level: outcome == .refused ? .notice : .info,
                "A notification for a system that was away was not delivered",
                metadata: [
                    "system": "\(entry.key.system)", "application": "\(entry.key.application)",
                    "reason": "\(error)", "retries": "\(outcome != .refused)",
                ]
            )
        }
        await connection.close()
        if self.outbox.sent(entry, outcome, self.clock.now) {
            await self.commitOrLog { [.remove(.outbox, key: NotificationRecord.key(of: entry.key))] }
        }
        self.sendOutbox()
    }

    /// Logs and lists what a system has withheld or left out. The program that has handed it over may have ended.
    private func report(_ delivery: NotificationDelivery, of entry: Outbox.Entry) {
        guard let reason = delivery.reason else { return }
        // One that is kept waits for the user, as its sender wanted.
        if delivery.status != .kept { self.outbox.note(reason, about: entry, .taken, at: self.clock.date) }
        self.logger.notice(
            "A notification for a system that was away was delivered with a restriction",
            metadata: [
                "system": "\(entry.key.system)", "application": "\(entry.key.application)",
                "status": "\(delivery.status.rawValue)", "reason": "\(reason)",
            ]
        )
    }

    /// Whether a later attempt may succeed.
    static func outcome(of error: any Error) -> Outbox.Outcome {
        let code = (error as? RemoteSystemError)?.failureCode.flatMap(NotificationMessage.code(ofFailure:))
        // The user has denied it, or the system does not understand it. Everything else may change. One that ends the
        // connection each time delays no others, either.
        return [.notAuthorized, .invalidContent, .payloadTooLarge, .categoryUnknown].contains(code)
            ? .refused : .postponed
    }

    /// Gives up what has waited for too long.
    func expireOutbox() async {
        let late = self.outbox.expire(at: self.clock.date)
        if !late.isEmpty {
            self.logger.notice(
                "Notifications were given up: their systems were away for too long",
                metadata: ["count": "\(late.count)", "systems": "\(Set(late.map(\.key.system)).sorted())"]
            )
        }
        await self.commitOrLog { late.map { .remove(.outbox, key: NotificationRecord.key(of: $0.key)) } }
        self.sendOutbox()
    }
}

extension NotificationPage {
    /// A page of the notifications for systems that are away.
    ///
    /// - Parameter own: the only application whose notifications are listed, with their user info; `nil` for all.
    init(_ listed: [Outbox.Listed], own: String?, after: String?) throws(NotificationError) {
        let all = listed.filter { listed in own.map { $0 == listed.entry.key.application } ?? true }
            .map { (NotificationRecord.key(of: $0.entry.key), $0.valueSet(withUserInfo: own != nil)) }
            .sorted { $0.0 < $1.0 }
        try self.init(all, after: after)
    }
}

extension Outbox.Entry {
    /// The notification with the rest of its time; `nil` if none is left.
    func remaining(at date: Date) -> RemoteNotification? {
        let rest = self.expires.timeIntervalSince(date)
        guard rest > 0 else { return nil }
        var notification = self.notification
        if let expiration = notification.expiration {
            // Whole seconds, rounded up. The clock may have been set back.
            notification.expiration = min(expiration, .seconds(Int64(min(rest.rounded(.up), Outbox.life))))
        }
        return notification
    }
}

extension Outbox.Listed {
    fileprivate func valueSet(withUserInfo hasUserInfo: Bool) -> ValueSet {
        var notification = self.entry.notification
        if !hasUserInfo { notification.request.content.userInfo = [:] }
        var set = notification.valueSet
        set.putFiles(of: notification.request.content)
        set["System"] = .string(self.entry.key.system)
        set["Application"] = .string(self.entry.key.application)
        set["Date"] = .date(self.entry.date)
        set["Expires"] = .date(self.entry.expires)
        set.put(self.problem, "Problem")
        if !self.isWaiting { set["Waiting"] = false }
        return set
    }
}
