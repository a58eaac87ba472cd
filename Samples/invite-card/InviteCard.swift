// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserNotifications
import UserNotificationsUI

/// The view of an invitation, with a slider for the number of guests.
@main
actor InviteCard: NotificationContentExtension {
    private var event = ""
    private var guests = 1

    init() {}

    func didReceive(
        _ notification: DeliveredNotification,
        _ context: NotificationCardContext
    ) async throws -> NotificationCard {
        self.event = notification.request.content.title
        return self.card
    }

    func didChange(_ change: NotificationCardChange, _ context: NotificationCardContext) async throws {
        self.guests = Int(change.values["guests"]?.double ?? 1)
        try context.update(self.card)
    }

    func didReceive(
        _ response: NotificationCardResponse,
        _ context: NotificationCardContext
    ) async throws -> ContentExtensionResponseOption {
        if response.actionIdentifier == "accept" {
            try context.update(NotificationCard(elements: [.text("See you!", style: .heading)]))
            // So that it can be read.
            try await Task.sleep(for: .seconds(1))
        }
        return .dismissAndForwardAction
    }

    private var card: NotificationCard {
        NotificationCard(elements: [
            .text(self.event, style: .heading),
            .text(self.guests == 1 ? "You come alone." : "You come with \(self.guests - 1) more."),
            .slider("guests", label: "How many are you?", value: Double(self.guests), in: 1...8, step: 1),
        ])
    }
}
