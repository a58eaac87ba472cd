// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// What the user responds, on its way to the senders.
extension NotificationReceiver {
    func responded(
        _ entry: ReceivedNotifications.Entry,
        _ action: NotificationActionIdentifier,
        _ text: String?,
        activationToken: String? = nil
    ) async {
        let end: NotificationEnd = action == .dismiss ? .dismissed : .answered
        guard !entry.notification.isOneWay else {
            return await self.commitOrLog { () throws(NotificationError) in
                try self.changes(ending: [entry], end, by: action)
            }
        }
        var response = NotificationResponse(
            id: UUID().uuidString.lowercased(),
            requestIdentifier: entry.notification.request.identifier,
            actionIdentifier: action,
            userText: text
        )
        response.targetContentIdentifier = entry.notification.request.content.targetContentIdentifier
        let (date, stored) = (self.clock.date, response)
        // It is valid for a moment only, so it is not stored.
        if entry.sender.isLocal, NotificationResponse.isForeground(action, of: entry.notification.category) {
            response.activationToken = activationToken
        }
        let deliveryID = entry.notification.deliveryID
        self.routing.add(response, to: entry.sender, deliveryID, at: date, link: entry.link)
        // Together, so that an answer is neither lost nor asked for again.
        await self.commitOrLog { () throws(NotificationError) in
            [.put(try NotificationRecord(stored, to: entry.sender, deliveryID, date: date))]
                + (try self.changes(ending: [entry], end, by: action))
        }
        self.sendResponses()
    }

    /// Reports to the senders that wait for a response that none comes from here any more. One that does not understand
    /// that waits for its time.
    func reportEnd(_ entries: [ReceivedNotifications.Entry]) {
        for entry in entries where !entry.notification.isOneWay {
            guard let connection = entry.link.flatMap({ self.connections[$0] }) else { continue }
            _ = self.clock.task {
                _ = try? await connection.send(NotificationMessage.ended(entry.notification), timeout: .seconds(10))
            }
        }
    }

    /// Sends what can be sent, and starts the applications of this system that do not run.
    func sendResponses() {
        while let step = self.routing.next() {
            switch step {
            case .start(let application, let number):
                guard let wake else { continue }
                _ = self.clock.task { await self.start(application, number, wake) }
            case .send(let response, let link):
                guard let connection = self.connections[link] else {
                    self.routing.ended(link)
                    continue
                }
                _ = self.clock.task { await self.send(response, over: connection) }
            }
        }
    }

    /// Starts an application, and again if it does not connect.
    ///
    /// One that has just crashed may count as running: the end of its connection here may be noticed before the end of
    /// its registration with the host, which then starts nothing.
    private func start(
        _ application: String,
        _ number: Int,
        _ wake: @Sendable (_ application: String) async -> Bool
    ) async {
        guard await wake(application) else { return }
        guard (try? await self.clock.sleep(until: self.clock.now + Self.connectTime)) != nil else { return }
        self.routing.startEnded(number)
        self.sendResponses()
    }

    private func send(_ response: NotificationResponse, over connection: AppServiceConnection) async {
        let sent = try? await connection.send(NotificationMessage.response(response), timeout: Self.responseTime)
        let link = ObjectIdentifier(connection)
        let outcome = self.outcome(of: sent, over: connection)
        self.routing.sent(response.id, over: link, outcome)
        switch outcome {
        case .taken: await self.commitOrLog { [.remove(.response, key: response.id)] }
        case .refused:
            self.logger.warning(
                "A response was dropped: its sender refused it",
                metadata: [
                    "notification": "\(response.requestIdentifier)", "reason": "\(sent?.error?.message ?? "")",
                ]
            )
            await self.commitOrLog { [.remove(.response, key: response.id)] }
        case .postponed:
            _ = self.clock.task(at: self.clock.now + Self.retryTime) { await self.retry(over: link) }
        case .lost: break
        }
        self.sendResponses()
    }

    private func outcome(
        of response: AppServiceResponse?,
        over connection: AppServiceConnection
    ) -> ResponseRouting.Outcome {
        if response?.status == .success { return .taken }
        // Its end may be noticed in a moment only.
        guard connection.info != nil, response?.status != .connectionClosed else { return .lost }
        // The sender has said so itself. Every other failure may be one of the way.
        return response?.status == .failure && response?.error?.canRetry == false ? .refused : .postponed
    }

    private func retry(over link: ResponseRouting.Link) {
        self.routing.retry(over: link)
        self.sendResponses()
    }

    private static let retryTime = Duration.seconds(30)
    /// The time in which an application connects after it has come up.
    static let connectTime = Duration.seconds(10)
}
