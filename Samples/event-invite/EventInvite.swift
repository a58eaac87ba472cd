// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import SampleSystem
import UserNotifications

/// Invites the user to an event, and prints the answer.
@main
struct EventInvite: AsyncParsableCommand {
    @Option(help: "Run as this system, which 'Samples/two-systems/create' has made.")
    var on: String?

    @Option(help: "The seconds after which the invitation is shown.")
    var after = 1

    @Argument(help: "The event.")
    var event = "Lunch"

    static let invitation = NotificationCategory(
        identifier: "event-invite",
        actions: [
            NotificationAction(identifier: "accept", title: "Accept"),
            NotificationAction(identifier: "decline", title: "Decline", options: .destructive),
            NotificationAction(
                TextInputNotificationAction(
                    identifier: "comment",
                    title: "Comment",
                    textInputButtonTitle: "Send",
                    textInputPlaceholder: "Your comment"
                )
            ),
        ],
        options: .customDismissAction
    )

    func run() async throws {
        let center = try await UserNotificationCenter(
            connectingToDaemonOf: SampleSystem.configuration(of: "org.example.event-invite", on: self.on),
            applicationName: "Calendar"
        )
        try await center.setNotificationCategories([Self.invitation])
        // With one identifier for the event, an answer from before the program was started is for the same one.
        let request = NotificationRequest(
            identifier: self.event,
            content: NotificationContent(
                title: self.event,
                subtitle: "Today at 12:30",
                body: "Anna invites you.",
                categoryIdentifier: Self.invitation.identifier
            ),
            trigger: .timeInterval(.seconds(self.after))
        )
        if try await !center.deliveredNotifications.contains(where: { $0.request.identifier == self.event }) {
            try await center.add(request)
            SampleSystem.say("scheduled: \(self.event) in \(self.after) s")
        } else {
            SampleSystem.say("waiting: \(self.event) was shown before")
        }
        for await response in center.responses where response.requestIdentifier == self.event {
            switch response.actionIdentifier {
            case "accept": SampleSystem.say("accepted: \(self.event)")
            case "decline", .dismiss: SampleSystem.say("declined: \(self.event)")
            case "comment": SampleSystem.say("comment: \(response.userText ?? "")")
            default: SampleSystem.say("opened: \(self.event)")
            }
            break
        }
        // An answer from before the program was started arrives after the invitation was scheduled again.
        try await center.removePendingNotifications(withIdentifiers: [self.event])
        try await center.removeDeliveredNotifications(withIdentifiers: [self.event])
        await center.close()
    }
}
