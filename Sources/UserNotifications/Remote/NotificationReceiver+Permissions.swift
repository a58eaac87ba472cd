// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// What the user permits senders to show.
extension NotificationReceiver {
    /// - Throws: ``NotificationError`` with `notAuthorized` if the user has denied the sender's notifications.
    func checkPermission(of sender: NotificationSender) throws(NotificationError) {
        guard self.permissions.permission(of: sender) == .denied else { return }
        let user = sender.isLocal ? "The user" : "The user of that system"
        throw NotificationError(.notAuthorized, "\(user) does not permit these notifications.")
    }

    /// Lets a notification of a sender in, or counts why not.
    func admit(_ sender: NotificationSender) throws(NotificationError) {
        do throws(NotificationError) {
            try self.checkPermission(of: sender)
        } catch {
            self.refusals.count(.denied, of: sender)
            throw error
        }
        do throws(NotificationError) {
            try self.received.admit(sender, self.clock.now)
        } catch {
            self.refusals.count(.tooFast, of: sender)
            throw error
        }
    }

    /// Checks the limits of the user before a notification is accepted.
    ///
    /// - Throws: ``NotificationError`` with `rateLimited` if one is reached.
    func checkLimits(of sender: NotificationSender) throws(NotificationError) {
        guard let limit = self.hourly.reached(self.permissions.limits(of: sender), self.clock.now) else { return }
        self.refusals.count(.limited, of: sender)
        let user = sender.isLocal ? "The user" : "The user of that system"
        throw NotificationError(
            .rateLimited,
            "\(user) permits \(limit) of these notifications an hour. Try again within an hour."
        )
    }

    /// Counts a notification for the limits of the user. It was accepted: the attempts before do not count.
    func countForLimits(of sender: NotificationSender) {
        self.hourly.count(self.permissions.limits(of: sender), self.clock.now)
    }

    /// Changes a permission. It has been stored, unless the store could not be opened.
    ///
    /// - Parameter perHour: the maximum number of notifications an hour. Defaults to `nil`: any.
    func set(
        _ permission: NotificationPermission,
        perHour: Int? = nil,
        for subject: NotificationPermissions.Subject
    ) async throws(NotificationError) {
        if let system = subject.system { try FieldCheck.identifier(system, "System") }
        if let application = subject.application { try FieldCheck.identifier(application, "Application") }
        var permissions = self.permissions
        try permissions.set(permission, perHour: perHour, for: subject)
        let record = try NotificationRecord(permission, perHour: perHour, for: subject, at: self.clock.date)
        let isDefault = permission == .allowed && perHour == nil
        var changes: [NotificationStoreChange] = isDefault ? [.remove(.permission, key: record.key)] : [.put(record)]
        if let former = self.permissions.subject(replacedBy: subject) {
            let replaced = try NotificationRecord(permission, perHour: perHour, for: former, at: self.clock.date)
            // The store compares bytes.
            if !replaced.key.utf8.elementsEqual(record.key.utf8) {
                changes.append(.remove(.permission, key: replaced.key))
            }
        }
        // Without a store, everything is shown silently until the user decides. That counts until the process ends.
        if !(self.store is UnavailableNotificationStore) { try await self.commit(changes) }
        try self.permissions.set(permission, perHour: perHour, for: subject)
        self.hourly.forget(subject)
        guard permission == .denied else { return }
        // What the denied senders have shown goes too, and they learn nothing more.
        let present = self.permissions
        await self.removeAll { present.permission(of: $0) == .denied }
    }

    /// Removes what systems have here that the account does not trust any more: they were revoked, or the link with
    /// their account was withdrawn. Also removes what waits for revoked systems: they never receive it.
    func removeUntrusted() async {
        let trust = self.trust()
        let isTrusted = { (system: String, linkedAccount: String?) -> Bool in
            guard let id = SystemID(system) else { return true }
            guard let linkedAccount else { return trust(id, nil) }
            return AccountID(linkedAccount).map { trust(id, $0) } ?? true
        }
        // Only systems of the own account receive what waits.
        let undeliverable = self.outbox.removeAll { !isTrusted($0, nil) }
        if !undeliverable.isEmpty {
            self.logger.notice(
                "Notifications were given up: their systems were revoked",
                metadata: [
                    "count": "\(undeliverable.count)", "systems": "\(Set(undeliverable.map(\.key.system)).sorted())",
                ]
            )
        }
        var changes = self.forgetStates { !isTrusted($0, $1) }
        changes += undeliverable.map { .remove(.outbox, key: NotificationRecord.key(of: $0.key)) }
        await self.removeAll(and: changes) { !$0.isLocal && !isTrusted($0.systemID, $0.linkedAccountID) }
    }

    /// Removes everything that senders have here: their notifications, the responses that wait for them, and their
    /// badges.
    ///
    /// - Parameter changes: what is to be stored with that. Defaults to nothing.
    private func removeAll(
        and changes: [NotificationStoreChange] = [],
        of isUnwanted: (NotificationSender) -> Bool
    ) async {
        let responses = self.routing.removeAll(to: isUnwanted)
        let entries = self.received.removeAll { isUnwanted($0.sender) }
        let badges = self.removeBadges(by: isUnwanted)
        self.setAlarm()
        for entry in entries { self.report(.withdrawn, entry) }
        // Neither in the history, nor gone from other systems: each decides for itself.
        var changes = changes + badges
        changes += responses.map { NotificationStoreChange.remove(.response, key: $0) }
        changes += entries.map { NotificationStoreChange.remove(.received, key: $0.key) }
        await self.commitOrLog { changes }
        self.reportEnd(entries)
        for entry in entries { await self.close(entry) }
    }
}
