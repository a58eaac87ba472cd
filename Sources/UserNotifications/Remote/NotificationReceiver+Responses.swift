// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// What the user responds, on its way to the senders.
extension NotificationReceiver {
    /// - Throws: ``NotificationError`` with `limitExceeded` if too many responses wait for their senders.
    func checkWaiting(for sender: NotificationSender) throws(NotificationError) {
        guard self.waiting.values.reduce(0, { $0 + $1.count }) < Self.maxWaitingInAll,
            self.waiting[sender, default: []].count < Self.maxWaiting
        else {
            throw NotificationError(
                .limitExceeded,
                "Too many responses wait for the sender, which is away. Respond when it is back."
            )
        }
    }

    func responded(
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

    func sendResponses(to sender: NotificationSender) {
        guard self.waiting[sender] != nil else { return }
        guard let link = self.links[sender] else {
            guard let wake, sender.isLocal else { return }
            // It connects when it runs. One that does not is started again for its next response.
            _ = self.clock.task { await wake(sender.application) }
            return
        }
        guard self.sending.insert(sender).inserted else { return }
        _ = self.clock.task { await self.sendResponses(to: sender, over: link) }
    }

    func sendResponses(to sender: NotificationSender, over link: AppServiceConnection) async {
        while let response = self.waiting[sender]?.first {
            let sent = try? await link.send(NotificationMessage.response(response), timeout: Self.responseTime)
            guard sent?.status == .success else { break }
            self.waiting[sender]?.removeAll { $0.id == response.id }
            if self.waiting[sender]?.isEmpty == true { self.waiting[sender] = nil }
            await self.commitOrLog { [.remove(.response, key: response.id)] }
        }
        self.sending.remove(sender)
        // The sender may have connected again meanwhile.
        if let current = self.links[sender], current !== link { self.sendResponses(to: sender) }
    }
}
