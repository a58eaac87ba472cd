// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

/// The order of notifications in lists.
@Suite struct NotificationGroupsTests {
    private static func delivered(
        _ id: String,
        _ thread: String? = nil,
        _ relevance: Double = 0
    ) -> DeliveredNotification {
        var content = NotificationContent(title: id)
        content.threadIdentifier = thread
        content.relevanceScore = relevance
        return DeliveredNotification(request: NotificationRequest(identifier: id, content: content), date: .now)
    }

    @Test func `notifications of a thread are together, the most relevant first (X-60)`() {
        let list = [
            Self.delivered("1"), Self.delivered("2", "a", 0.2), Self.delivered("3", "b"), Self.delivered("4", "a", 0.9),
            Self.delivered("5"), Self.delivered("6", "a", 0.2), Self.delivered("7", "b"),
        ]
        #expect(list.grouped.map(\.request.identifier) == ["1", "4", "2", "6", "3", "7", "5"])
        #expect([DeliveredNotification]().grouped.isEmpty)
    }

    @Test func `threads of different senders with the same name stay apart (X-60)`() {
        let list = ["a1", "b1", "a2", "b2"].map {
            (sender: String($0.prefix(1)), notification: Self.delivered($0, "t"))
        }
        let grouped = NotificationGroups.grouped(list) {
            [$0.sender]
        } content: {
            $0.notification.request.content
        }
        #expect(grouped.map(\.notification.request.identifier) == ["a1", "a2", "b1", "b2"])
    }
}
