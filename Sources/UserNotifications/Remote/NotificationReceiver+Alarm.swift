// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems

/// One timer for all that is due: schedules, snoozed notifications, ends of validity, and attempts to send again.
extension NotificationReceiver {
    /// Sets the timer to the earliest time at which something is due.
    func setAlarm() {
        self.watchLocation()
        self.alarm?.cancel()
        let date = [self.pending.next, self.received.nextSnoozeEnd].compactMap(\.self).min()
            .map { WallClockWatch.instant(of: $0, self.clock) }
        // It need not be exact, and the clock may be set.
        let late = self.routing.nextExpiration.map { date in
            self.clock.now + .seconds(min(max(date.timeIntervalSince(self.clock.date), 60), 86_400))
        }
        let posted = self.outbox.nextExpiration.map { date in
            let rest = max(date.timeIntervalSince(self.clock.date), 0)
            // A millisecond later, so that the date has been reached in spite of rounding.
            return self.clock.now + .seconds(min(rest, 86_400)) + .milliseconds(rest > 0 ? 1 : 0)
        }
        let retry = self.outbox.nextRetry(after: self.clock.now)
        let times = [
            self.received.nextExpiration, date, late, posted, retry, self.attachments.nextExpiration,
            self.mirror?.retry, self.mirror?.notifications.nextTurn(after: self.clock.now),
        ]
        guard let next = times.compactMap(\.self).min() else {
            self.alarm = nil
            return
        }
        self.alarm = self.clock.task(at: next) { [weak self] in await self?.handleAlarm() }
    }

    /// Does what has become due, and sets the timer again.
    private func handleAlarm() async {
        // The alarm runs this. A later alarm must not cancel it.
        self.alarm = nil
        self.sendMirroredDue()
        await self.end(self.received.removeExpired(self.clock.now), .expired)
        let late = self.routing.expire(at: self.clock.date)
        await self.commitOrLog { late.map { .remove(.response, key: $0) } }
        await self.expireOutbox()
        self.collectAttachments()
        await self.deliverDue()
    }
}
