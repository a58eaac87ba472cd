// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGIO
import RemoteSystems
import Testing
import UserNotifications
import ValueSets

@testable import RemoteSystemsDesktop

/// What the desktop portal is asked for.
@Suite struct PortalTests {
    private static func notification(_ identifier: String, _ title: String = "Deploy?") -> PresentedNotification {
        PresentedNotification(
            identifier: identifier,
            content: NotificationContent(title: title, subtitle: "Staging", body: "<b>1284</b>"),
            category: NotificationCategory(
                identifier: "c",
                actions: [
                    NotificationAction(identifier: "app.yes", title: "Deploy"),
                    NotificationAction(TextInputNotificationAction(identifier: "why not", title: "Comment")),
                ]
            ),
            applicationName: "Build server",
            systemName: "Laptop"
        )
    }

    private static let replies: ValueSet = [
        "version": 2,
        "SupportedOptions": ["category": ["im.received"], "button-purpose": ["im.reply-with-text"]],
    ]

    @Test func `a notification has the sender, plain text, and actions that are never those of an object (N-10, X-78)`()
    {
        let set = PortalNotification.dictionary(Self.notification("q"), 7, for: PortalAbilities())
        #expect(set["title"] == "Deploy?" && set["priority"] == "normal")
        // Version 1 refuses keys that it does not know.
        #expect(set["sound"] == nil && set["display-hint"] == nil)
        #expect(set["body"] == "Staging\n‹b›1284‹/b›\n– “Build server” on “Laptop”")
        let second = PortalNotification.dictionary(Self.notification("q"), 7, for: PortalAbilities(["version": 2]))
        #expect(second["body"] == "Staging\n<b>1284</b>\n– “Build server” on “Laptop”")
        #expect(set["default-action"] == "respond" && set["default-action-target"] == "7 default")
        // A text cannot be entered.
        #expect(set["buttons"] == [["label": "Deploy", "action": "respond", "target": "7 app.yes"]])
        #expect(set["category"] == nil)
        let target = PortalNotification.read("7 why not")
        #expect(target?.number == 7 && target?.key == "why not")
        for text in ["", "7", "a b", "-1 x"] { #expect(PortalNotification.read(text) == nil) }
    }

    @Test func `each way to show notifications states what it is able to (N-10)`() {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.portal",
            network: .loopback,
            discovery: []
        )
        #expect(SessionPresenter(configuration).capabilities == [.actions, .body, .dismissal])
        // The portal never says that the user has dismissed one, and what it is able to is unknown before it was asked.
        #expect(PortalPresenter(configuration).capabilities == [.actions, .body])
    }

    @Test func `a call to show that is cancelled before the server responds throws`() async {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "com.example.cancelled",
            network: .loopback,
            discovery: []
        )
        let presenter = SessionPresenter(configuration)
        let showing = Task { try await presenter.show(Self.notification("q")) }
        showing.cancel()
        await #expect(throws: CancellationError.self) { try await showing.value }
    }

    @Test(arguments: [
        (NotificationInterruptionLevel.passive, "low"), (.active, "normal"), (.timeSensitive, "high"),
        (.critical, "urgent"),
    ])
    func `the level is the priority, and the sound the desktop's (X-78)`(
        level: NotificationInterruptionLevel,
        priority: String
    ) {
        var notification = Self.notification("q")
        notification.content.interruptionLevel = level
        notification.content.sound = .standard
        let set = PortalNotification.dictionary(notification, 1, for: PortalAbilities(["version": 2]))
        #expect(set["priority"] == .string(priority) && set["sound"] == "default")
        #expect(set["display-hint"] == ["hide-content-on-lock-screen"])
        notification.isSilenced = true
        #expect(
            PortalNotification.dictionary(notification, 1, for: PortalAbilities(["version": 2]))["sound"] == "silent"
        )
    }

    @Test func `a text is entered where the portal says that it has a field (N-12, X-79)`() {
        #expect(PortalAbilities(Self.replies).showsTextField)
        for properties: ValueSet in [
            [:], ["version": 2], ["version": 1, "SupportedOptions": Self.replies["SupportedOptions"] ?? .null],
            ["version": 2, "SupportedOptions": ["category": ["im.received"]]],
            ["version": "2", "SupportedOptions": 7],
        ] {
            #expect(!PortalAbilities(properties).showsTextField)
        }
        let set = PortalNotification.dictionary(Self.notification("q"), 1, for: PortalAbilities(Self.replies))
        #expect(set["category"] == "im.received")
        #expect(set["buttons"]?.array?.last?.dictionary?["purpose"] == "im.reply-with-text")
    }

    @Test(arguments: [
        "('a q', 'respond', [<'7 why not'>, <{'activation-token': <'t'>}>, <'Because'>])",
        "('a q', 'respond', [<'7 why not'>, <'Because'>])",
    ])
    func `the text is read beside the data of the desktop, and without them (N-12, X-79)`(parameters: String) throws {
        guard let parsed = unsafe g_variant_parse(nil, parameters, nil, nil, nil) else {
            throw ValueSetError(.invalidText, "GLib cannot read \(parameters)")
        }
        defer { unsafe g_variant_unref(parsed) }
        let signal = unsafe BusSignal(":1.1", "org.example", "ActionInvoked", parsed)
        #expect(signal?.texts == ["a q", "respond"])
        #expect(signal?.variantTexts == ["7 why not", "Because"])
    }

    @Test func `the portal is asked for each content once, and a choice concerns the present one (N-43, X-80)`() {
        var table = PortalTable()
        let (first, second) = (Self.notification("q", "one"), Self.notification("q", "two"))
        table.want(first)
        let shown = table.nextSteps()
        #expect(shown == [.add(first, number: 1)])
        table.want(first)
        let same = table.nextSteps()
        #expect(same.isEmpty && table.isSent(first))
        table.want(second)
        let changed = table.nextSteps()
        #expect(changed == [.add(second, number: 2)])
        #expect(table.notification(1) == nil && table.notification(2) == second)
        // It was not accepted, or the user's choice has removed it.
        table.forget(2)
        let again = table.nextSteps()
        #expect(again == [.add(second, number: 3)])
        // Another portal has started.
        table.forget()
        let restarted = table.nextSteps()
        #expect(restarted == [.add(second, number: 4)])
        table.close("q")
        let closed = table.nextSteps()
        #expect(closed == [.remove("q")] && table.notification(4) == nil)
    }

    @Test func `the newest stay, because a portal never says that one is gone (X-80)`() {
        var table = PortalTable()
        for number in 0..<20 {
            var notification = Self.notification("\(number)")
            notification.systemID = "\(number / 4)"
            table.want(notification)
        }
        let steps = table.nextSteps()
        #expect(steps.count == NotificationScreen.max)
        #expect(!table.hasPlace(Self.notification("0")))
        table.closeAll()
        let removals = table.nextSteps()
        #expect(removals.count == NotificationScreen.max)
    }

    @Test func `a message that newer ones have displaced is not sent to the portal again`() {
        var table = PortalTable()
        let messages = (1...6).map { number in
            var message = Self.notification("\(number)")
            message.category = nil
            return message
        }
        var steps: [PortalTable.Step] = []
        for message in messages {
            table.want(message)
            steps += table.nextSteps()
        }
        #expect(steps.count { if case .add = $0 { true } else { false } } == messages.count)
        #expect(steps.suffix(4).contains(.remove("1")) && steps.contains(.remove("2")))
        table.close("6")
        let last = table.nextSteps()
        #expect(last == [.remove("6")])
    }
}
