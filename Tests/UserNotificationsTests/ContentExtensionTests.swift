// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// The program of a content extension, and its replies.
@Suite struct ContentExtensionTests {
    private actor Invitations: NotificationContentExtension {
        private var isPrepared = false
        private var guests = 0.0

        init() {}

        func prepare() async throws { self.isPrepared = true }

        func didReceive(
            _ notification: DeliveredNotification,
            _ context: NotificationCardContext
        ) async throws -> NotificationCard {
            NotificationCard(elements: [.text("\(notification.request.content.title) \(self.isPrepared)")])
        }

        func didReceive(
            _ response: NotificationCardResponse,
            _ context: NotificationCardContext
        ) async throws -> ContentExtensionResponseOption {
            guard response.actionIdentifier != "fail" else { throw CancellationError() }
            try context.update(NotificationCard(elements: [.text("\(self.guests) \(response.userText ?? "")")]))
            return .dismiss
        }

        func didChange(_ change: NotificationCardChange, _ context: NotificationCardContext) async throws {
            guard let guests = change.values["guests"]?.double else { throw CancellationError() }
            self.guests = guests
        }
    }

    @Test func `the program prepares itself, serves one view, and forwards what it cannot handle (N-34, N-48, N-55)`()
        async throws
    {
        let notification = DeliveredNotification(
            request: NotificationRequest(identifier: "q", content: NotificationContent(title: "Party")),
            date: Date(timeIntervalSince1970: 1)
        )
        let requests: [ContentExtensionRequest] = [
            .notification(notification),
            .change(NotificationCardChange(identifier: "guests", values: ["guests": 3.0])),
            .change(NotificationCardChange(identifier: "other")),
            .response(NotificationCardResponse(actionIdentifier: "fail")),
            .response(NotificationCardResponse(actionIdentifier: "comment", userText: "ok")),
        ]
        for request in requests { #expect(try ContentExtensionRequest(request.line) == request) }
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        for request in requests { feed.yield(try request.line) }
        feed.finish()
        let written = Mutex<[String]>([])
        let logged = Mutex(0)
        try await ContentExtensionMain.serve(Invitations(), lines) { line in
            written.withLock { $0.append(line) }
        } log: { _ in
            logged.withLock { $0 += 1 }
        }
        let replies = try written.withLock { $0 }.flatMap { try ContentExtensionReply.read($0) }
        #expect(
            replies == [
                .card(NotificationCard(elements: [.text("Party true")])), .option(.dismissAndForwardAction),
                .card(NotificationCard(elements: [.text("3.0 ok")])), .option(.dismiss),
            ]
        )
        #expect(logged.withLock { $0 } == 2)
    }

    @Test(arguments: [
        "no JSON", "{}", #"{"Card":7}"#, #"{"Option":"Stay"}"#, #"{"Actions":[{"Id":"a"}]}"#, #"{"Card":{}}"#,
    ])
    func `a reply that cannot be used is an error`(line: String) {
        #expect(throws: NotificationError.self) { try ContentExtensionReply.read(line) }
    }

    @Test func `a reply may have several parts, as a script writes them (N-32)`() throws {
        let line = #"{"Card":{"Elements":[]},"Actions":[{"Id":"a","Title":"A"}],"Option":"DoNotDismiss"}"#
        #expect(
            try ContentExtensionReply.read(line) == [
                .card(NotificationCard(elements: [])), .actions([NotificationAction(identifier: "a", title: "A")]),
                .option(.doNotDismiss),
            ]
        )
        #expect(try ContentExtensionReply.read(#"{"PerformDefaultAction":true}"#) == [.performDefaultAction])
    }
}
