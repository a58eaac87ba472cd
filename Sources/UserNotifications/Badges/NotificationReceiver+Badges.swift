// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsTransport

/// The numbers at the icons of applications. They stay when a notification ends, until the application changes them.
extension NotificationReceiver {
    /// An application of this system sets its number.
    func setBadge(_ count: Int, of sender: NotificationSender) async throws(NotificationError) {
        try self.checkPermission(of: sender)
        try FieldCheck.identifier(sender.application, "Application")
        let before = try self.badges.set(count, of: sender.application, by: sender)
        let badge = self.badges[sender.application]
        guard before != badge else { return }
        do throws(NotificationError) {
            try await self.commit([self.showBadge(of: sender.application)])
        } catch {
            // The program learns that it is not set. It may have been set again meanwhile.
            if self.badges[sender.application] == badge {
                self.badges.restore(before, of: sender.application)
                _ = try self.showBadge(of: sender.application)
            }
            throw error
        }
    }

    /// A notification sets the number of its application here. Only systems of the same account set numbers of this
    /// system's applications.
    ///
    /// - Returns: whether it may.
    @discardableResult
    func setBadge(of notification: RemoteNotification, _ sender: NotificationSender) async -> Bool {
        guard let count = notification.request.content.badge, sender.may(.badge) else { return false }
        let application = notification.application(of: sender)
        do throws(NotificationError) {
            let before = try self.badges.set(count, of: application, by: sender)
            guard before != self.badges[application] else { return true }
        } catch {
            self.logger.info("A badge was not set", metadata: ["reason": "\(error)"])
            return false
        }
        await self.commitOrLog { () throws(NotificationError) in [try self.showBadge(of: application)] }
        return true
    }

    /// Removes the numbers of senders whose notifications the user has denied.
    func removeBadges(by isDenied: (NotificationSender) -> Bool) -> [NotificationStoreChange] {
        self.badges.removeAll(by: isDenied).map { application in
            (self.presenter as? any BadgePresenter)?.setBadge(0, of: application)
            return .remove(.badge, key: application)
        }
    }

    /// Takes over the numbers that an earlier process has stored, within the limits. The rest is removed from the
    /// store.
    ///
    /// - Parameter records: the records of badges.
    func restoreBadges(_ records: [NotificationRecord]) async {
        self.badges.restore(records.compactMap { try? $0.badge() })
        let excess = records.filter { self.badges[$0.key] == nil }
        guard !excess.isEmpty else { return }
        self.logger.notice(
            "Stored badges that are too many or unreadable are removed",
            metadata: ["removed": "\(excess.count)", "kept": "\(self.badges.all.count)"]
        )
        await self.commitOrLog { excess.map { .remove(.badge, key: $0.key) } }
    }

    func showRestoredBadges() async {
        // An earlier process may have ended between a denial and what it removes.
        let denied = self.removeBadges { self.permissions.permission(of: $0) == .denied }
        if let presenter = self.presenter as? any BadgePresenter {
            for (application, badge) in self.badges.all { presenter.setBadge(badge.count, of: application.text) }
        }
        await self.commitOrLog { denied }
    }

    /// Shows the number of an application.
    ///
    /// - Returns: what is to be stored.
    private func showBadge(of application: String) throws(NotificationError) -> NotificationStoreChange {
        let badge = self.badges[application]
        (self.presenter as? any BadgePresenter)?.setBadge(badge?.count ?? 0, of: application)
        guard let badge else { return .remove(.badge, key: application) }
        return .put(try NotificationRecord(badge, of: application, at: self.clock.date))
    }
}
