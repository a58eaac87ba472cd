// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import UserNotifications
import ValueSets

/// An application that invites the user to events.
enum Calendar {
    // snippet.category
    static let invitation = NotificationCategory(
        identifier: "event-invite",
        actions: [
            NotificationAction(identifier: "accept", title: "Accept"),
            NotificationAction(identifier: "decline", title: "Decline", options: .destructive),
            NotificationAction(TextInputNotificationAction(identifier: "comment", title: "Comment")),
        ],
        options: .customDismissAction
    )
    // snippet.end

    // snippet.ask
    static func invite(_ configuration: RemoteSystemsConfiguration) async throws -> UserNotificationCenter {
        let center = try await UserNotificationCenter(
            connectingToDaemonOf: configuration,
            applicationName: "Calendar"
        )
        guard try await center.requestAuthorization() else { return center }
        try await center.setNotificationCategories([Self.invitation])
        try await center.add(
            NotificationRequest(
                identifier: "event-42",
                content: NotificationContent(
                    title: "Lunch",
                    body: "Anna invites you.",
                    categoryIdentifier: Self.invitation.identifier
                )
            )
        )
        return center
    }
    // snippet.end

    // snippet.answers
    static func answers(_ center: UserNotificationCenter) async {
        for await response in center.responses {
            switch response.actionIdentifier {
            case "accept": print("Accepted: \(response.requestIdentifier)")
            case "decline", .dismiss: print("Declined: \(response.requestIdentifier)")
            case "comment": print("Comment: \(response.userText ?? "")")
            default: print("Opened: \(response.requestIdentifier)")
            }
        }
    }
    // snippet.end

    // A reminder comes later, every day, or at a place.
    // snippet.schedule
    static func schedule(at center: UserNotificationCenter) async throws {
        let reminders = [
            NotificationRequest(
                identifier: "tea",
                content: NotificationContent(title: "Tea is ready"),
                trigger: .timeInterval(.seconds(600))
            ),
            NotificationRequest(
                identifier: "stand-up",
                content: NotificationContent(title: "Stand-up"),
                trigger: .calendar(DateComponents(hour: 9, minute: 30), repeats: true)
            ),
            NotificationRequest(
                identifier: "book",
                content: NotificationContent(title: "Return the book"),
                trigger: .location(NotificationRegion(latitude: 52.52, longitude: 13.405, radius: 200))
            ),
        ]
        for reminder in reminders { try await center.add(reminder) }
    }
    // snippet.end

    // snippet.pending
    static func cancelTea(at center: UserNotificationCenter) async throws {
        for waiting in try await center.pendingNotifications {
            print("\(waiting.request.content.title): \(waiting.date?.description ?? "at a place")")
        }
        try await center.removePendingNotifications(withIdentifiers: ["tea"])
    }
    // snippet.end
}

// A program without a screen asks on one of the user's other systems.
// snippet.service
func mayDeploy(_ build: Int, askingOn system: RemoteSystem) async throws -> Bool {
    let connection = RemoteNotificationConnection(RemoteSystemConnectionRequest(system: system))
    try await connection.open()
    var question = RemoteNotification(
        NotificationRequest(
            identifier: "deploy-\(build)",
            content: NotificationContent(title: "Deploy build \(build)?", categoryIdentifier: "deploy")
        ),
        category: NotificationCategory(
            identifier: "deploy",
            actions: [NotificationAction(identifier: "yes", title: "Deploy")]
        )
    )
    question.expiration = .seconds(600)
    let delivery = try await connection.deliver(question)
    guard delivery.status != .withheld else {
        print("The question was not shown: \(delivery.reason ?? "")")
        return false
    }
    for await response in connection.responses where response.requestIdentifier == question.request.identifier {
        await connection.close()
        return response.actionIdentifier == "yes"
    }
    return false
}
// snippet.end

// An extension schedules a notification of its application.
// snippet.reminder
struct Reminding: NotificationServiceExtension {
    func didReceive(
        _ request: NotificationRequest,
        _ context: NotificationServiceContext
    ) async throws -> NotificationContent {
        let reminder = NotificationRequest(
            identifier: "reminder",
            content: NotificationContent(title: request.content.title, body: "It begins in an hour."),
            trigger: .timeInterval(.seconds(3600))
        )
        try await context.schedule(reminder)
        return request.content
    }
}
// snippet.end
