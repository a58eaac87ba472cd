// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// The numbers at the icons of applications. They stay when a notification ends, until the application changes them.
extension NotificationReceiver {
    /// An application of this system sets its number.
    func setBadge(_ count: Int, of sender: NotificationSender) async throws(NotificationError) {
        try self.checkPermission(of: sender)
        try FieldCheck.identifier(sender.application, "Application")
        let before = try self.badges.set(count, of: sender.application, isLocal: true)
        guard before != count else { return }
        do throws(NotificationError) {
            try await self.commit([self.showBadge(count, of: sender.application)])
        } catch {
            // The program learns that it is not set. It may have been set again meanwhile.
            if self.badges.counts[sender.application, default: 0] == count {
                _ = try self.badges.set(before, of: sender.application, isLocal: true)
                _ = try self.showBadge(before, of: sender.application)
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
        guard let count = notification.request.content.badge, sender.linkedAccountID == nil else { return false }
        let application = notification.application(of: sender)
        do throws(NotificationError) {
            guard try self.badges.set(count, of: application, isLocal: false) != count else { return true }
        } catch {
            self.logger.info("A badge was not set", metadata: ["reason": "\(error)"])
            return false
        }
        await self.commitOrLog { () throws(NotificationError) in [try self.showBadge(count, of: application)] }
        return true
    }

    func showRestoredBadges() {
        guard let presenter = self.presenter as? any BadgePresenter else { return }
        for (application, count) in self.badges.counts { presenter.setBadge(count, of: application) }
    }

    private func showBadge(_ count: Int, of application: String) throws(NotificationError) -> NotificationStoreChange {
        (self.presenter as? any BadgePresenter)?.setBadge(count, of: application)
        guard count > 0 else { return .remove(.badge, key: application) }
        return .put(try NotificationRecord(badge: count, of: application, at: self.clock.date))
    }
}
