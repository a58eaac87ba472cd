// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotifications

@testable import RemoteSystemsDesktop

/// Which notifications have a place on the screen.
@Suite struct NotificationScreenTests {
    private let deploy = NotificationAction(identifier: "deploy", title: "Deploy")

    private func arrived(
        _ identifier: String,
        from system: String? = "server",
        account: String? = nil,
        application: String = "com.example.build",
        actions: [NotificationAction] = [],
        level: NotificationInterruptionLevel = .active
    ) -> PresentedNotification {
        var content = NotificationContent(title: "x")
        content.interruptionLevel = level
        var arrived = PresentedNotification(
            identifier: identifier,
            content: content,
            category: NotificationCategory(identifier: "c", actions: actions),
            applicationName: "Build server",
            // All have one name.
            systemName: system.map { _ in "Server" }
        )
        arrived.systemID = system
        arrived.quotaHolder = account ?? system
        if system == nil { arrived.desktopEntry = application }
        return arrived
    }

    private func shown(_ notifications: [PresentedNotification]) -> [String] {
        NotificationScreen.shown(of: notifications).map(\.identifier)
    }

    @Test func `one system cannot fill the screen`() {
        let flood = (0..<64).map { self.arrived("\($0)") }
        #expect(self.shown([self.arrived("100", from: "laptop")] + flood) == ["100", "60", "61", "62", "63"])
        let questions = (0..<64).map { self.arrived("q\($0)", actions: [self.deploy]) }
        #expect(self.shown(questions + flood) == ["q60", "q61", "q62", "q63", "60", "61", "62", "63"])
        let crowd = (0..<64).map { self.arrived("\($0)", from: "system \($0)") }
        #expect(self.shown(crowd) == (48..<64).map { "\($0)" })
    }

    @Test func `the systems of a linked account share the places of one system`() {
        let own = [self.arrived("message", from: "laptop"), self.arrived("question", actions: [self.deploy])]
        let linked = (0..<32).flatMap { number in
            [[], [self.deploy]].map { actions in
                self.arrived("\(number) \(actions.count)", from: "s\(number)", account: "account", actions: actions)
            }
        }
        let expected = (28..<32).flatMap { ["\($0) 0", "\($0) 1"] }
        #expect(self.shown(own + linked) == ["message", "question"] + expected)
    }

    @Test func `each application of this system has the places of one system`() {
        let messages = (0..<9).flatMap { number in
            ["a", "b"].map { self.arrived("\($0)\(number)", from: nil, application: $0) }
        }
        #expect(self.shown(messages) == ["a5", "b5", "a6", "b6", "a7", "b7", "a8", "b8"])
    }

    @Test func `messages take no place from a question or a critical notification (X-76)`() {
        let waiting = [
            self.arrived("question", actions: [self.deploy]), self.arrived("critical", level: .critical),
        ]
        // The buttons of the daemon ask nothing.
        let buttons = [
            NotificationAction(identifier: .openCard, title: "Details"),
            NotificationAction(identifier: .snooze, title: "Later"),
        ]
        let messages = (0..<6).map { self.arrived("\($0)", actions: buttons, level: .passive) }
        #expect(self.shown(waiting + messages) == ["question", "critical", "2", "3", "4", "5"])
    }

    @Test func `questions take no place from a critical notification`() {
        let questions = (0..<6).map { self.arrived("\($0)", actions: [self.deploy]) }
        #expect(self.shown([self.arrived("critical", level: .critical)] + questions) == ["critical", "3", "4", "5"])
    }

    @Test func `a message that newer ones have displaced is over, and a question waits for a place`() {
        var screen = NotificationScreen()
        for number in 0..<6 {
            screen.insert(self.arrived("\(number)"))
            screen.insert(self.arrived("q\(number)", actions: [self.deploy]))
        }
        let displaced = screen.removeDisplaced { _ in true }
        #expect(displaced == ["0", "1"])
        for identifier in ["5", "q5"] { screen.remove(identifier) }
        #expect(screen.shown.map(\.identifier) == ["q1", "2", "q2", "3", "q3", "4", "q4"])
    }

    @Test func `a message that was never on the screen is shown as others end`() {
        var screen = NotificationScreen()
        for number in 0..<6 { screen.insert(self.arrived("\(number)")) }
        let displaced = screen.removeDisplaced { $0 != "1" }
        #expect(displaced == ["0"])
        screen.remove("5")
        #expect(screen.shown.map(\.identifier) == ["1", "2", "3", "4"])
    }
}
