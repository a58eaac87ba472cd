// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotificationsUI
import ValueSets

@testable import UserNotifications

/// What happens between the user, the window and the extension of one view.
@Suite struct CardConversationTests {
    private static let card = NotificationCard(elements: [.text("x")])
    private static let accept = CardConversation.Event.window(.action("accept", text: nil, values: ["a": 1]))
    private static let asked: [CardConversation.Action] = [
        .show(.busy(true)), .awaitsResponse(true),
        .ask(.response(NotificationCardResponse(actionIdentifier: "accept", values: ["a": 1]))),
    ]

    /// The actions that the last event causes.
    private static func last(_ events: CardConversation.Event...) -> [CardConversation.Action] {
        var conversation = CardConversation()
        var actions: [CardConversation.Action] = []
        for event in events { actions = conversation.receive(event) }
        return actions
    }

    @Test func `cards and actions of the extension are shown at any time (N-33, N-44, X-61)`() {
        #expect(Self.last(.reply(.card(Self.card))) == [.show(.card(Self.card))])
        #expect(Self.last(.reply(.card(Self.card)), .reply(.card(Self.card))) == [.show(.card(Self.card))])
        let action = NotificationAction(identifier: "b", title: "B", options: .destructive)
        #expect(
            Self.last(.reply(.actions([action])))
                == [.show(.actions([CardWindowAction(identifier: "b", title: "B", isDestructive: true)]))]
        )
    }

    @Test func `the extension gets an action first, and decides what becomes of it (N-30, N-45, N-46, N-47)`() {
        let shown = CardConversation.Event.reply(.card(Self.card))
        #expect(Self.last(shown, Self.accept) == Self.asked)
        // One at a time.
        #expect(Self.last(shown, Self.accept, Self.accept).isEmpty)
        #expect(
            Self.last(shown, Self.accept, .reply(.option(.doNotDismiss)))
                == [.awaitsResponse(false), .show(.busy(false))]
        )
        #expect(Self.last(shown, Self.accept, .reply(.option(.doNotDismiss)), Self.accept) == Self.asked)
        #expect(Self.last(shown, Self.accept, .reply(.option(.dismiss))) == [.dismiss, .finish(isFailure: false)])
        #expect(
            Self.last(shown, Self.accept, .reply(.option(.dismissAndForwardAction)))
                == [.respond("accept", text: nil), .finish(isFailure: false)]
        )
    }

    @Test func `a window that stays empty is closed, and the notification is shown again`() {
        let late = Self.last(.cardIsLate)
        #expect(late.last == .finish(isFailure: true) && late.count == 2)
        #expect(Self.last(.reply(.card(Self.card)), .cardIsLate).isEmpty)
        // The response of the extension has a time of its own.
        #expect(Self.last(Self.accept, .cardIsLate).isEmpty)
    }

    @Test func `a text goes to the extension, and with a forwarded action to the application (N-54, N-55)`() {
        let comment = CardConversation.Event.window(.action("comment", text: "Yes!", values: [:]))
        let response = NotificationCardResponse(actionIdentifier: "comment", userText: "Yes!")
        #expect(Self.last(comment).contains(.ask(.response(response))))
        #expect(
            Self.last(comment, .reply(.option(.dismissAndForwardAction)))
                == [.respond("comment", text: "Yes!"), .finish(isFailure: false)]
        )
    }

    @Test func `an action that the extension does not handle is reported and forwarded (N-48)`() {
        let forwarded: [CardConversation.Action] = [.respond("accept", text: nil), .finish(isFailure: false)]
        let late = Self.last(Self.accept, .responseIsLate)
        #expect(late.dropFirst() == forwarded[...])
        guard case .report = late.first else { return #expect(Bool(false), "\(late)") }
        let dead = Self.last(.reply(.card(Self.card)), Self.accept, .extensionEnded("it has crashed"))
        #expect(dead.dropFirst() == forwarded[...])
        guard case .report(let text) = dead.first else { return #expect(Bool(false), "\(dead)") }
        #expect(text.contains("it has crashed"))
        // After its end, its actions go to the application at once.
        #expect(Self.last(.reply(.card(Self.card)), .extensionEnded("x"), Self.accept) == forwarded)
        // The user has closed the window, and waits no longer.
        #expect(Self.last(Self.accept, .window(.closed)) == forwarded)
        // A response that comes without a question has no effect.
        #expect(Self.last(.reply(.option(.doNotDismiss))).isEmpty && Self.last(.responseIsLate).isEmpty)
        #expect(Self.last(.reply(.option(.dismissAndForwardAction))).isEmpty)
    }

    @Test func `an extension that shows nothing leaves the notification as it was`() {
        let end = Self.last(.extensionEnded("it ended"))
        #expect(end.last == .finish(isFailure: true) && end.count == 2)
        // What was shown stays.
        #expect(Self.last(.reply(.card(Self.card)), .extensionEnded("it ended")).count == 1)
    }

    @Test func `controls are reported while there is an extension, and it can end the view (N-28, X-61)`() {
        let changed = CardConversation.Event.window(.changed("s", values: ["s": 2.0]))
        #expect(Self.last(changed) == [.ask(.change(NotificationCardChange(identifier: "s", values: ["s": 2.0])))])
        #expect(Self.last(.reply(.card(Self.card)), .extensionEnded("x"), changed).isEmpty)
        #expect(
            Self.last(.reply(.performDefaultAction)) == [.respond(.default, text: nil), .finish(isFailure: false)]
        )
        #expect(Self.last(.reply(.option(.dismiss))) == [.dismiss, .finish(isFailure: false)])
    }

    @Test(arguments: [CardConversation.Event.window(.closed), .notificationEnded])
    func `the end of the window or of the notification ends the view, and nothing follows`(
        _ end: CardConversation.Event
    ) {
        #expect(Self.last(.reply(.card(Self.card)), end) == [.finish(isFailure: false)])
        #expect(Self.last(end, Self.accept).isEmpty && Self.last(end, .reply(.option(.dismiss))).isEmpty)
    }

    @Test func `a window that ends without the user leaves the notification, with what was chosen`() {
        let report = CardConversation.Action.report("The window has ended.")
        #expect(Self.last(.reply(.card(Self.card)), .windowEnded) == [report, .finish(isFailure: true)])
        let chosen = Self.last(Self.accept, .windowEnded)
        #expect(chosen.count == 3 && chosen.first == report && chosen.last == .finish(isFailure: false))
    }
}
