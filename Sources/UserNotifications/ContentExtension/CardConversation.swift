// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import UserNotificationsUI

/// What happens between the user, the window and the extension of one view. A value without I/O.
struct CardConversation {
    enum Event: Hashable {
        case reply(ContentExtensionReply)
        case extensionEnded(String)
        case window(CardWindowEvent)
        case windowEnded
        /// The time for the response of the extension to an action is over.
        case responseIsLate
        /// The time for a first card is over, in a window without the texts.
        case cardIsLate
        /// The user has responded elsewhere, or the notification was withdrawn or replaced.
        case notificationEnded
    }

    enum Action: Hashable {
        case show(CardWindowCommand)
        case ask(ContentExtensionRequest)
        /// The time for the response of the extension begins, or is not needed any more.
        case awaitsResponse(Bool)
        case respond(NotificationActionIdentifier, text: String?)
        case dismiss
        /// For the log.
        case report(String)
        /// Both programs are ended. `isFailure`: nothing was shown, so the notification is shown again.
        case finish(isFailure: Bool)
    }

    private struct Choice {
        var action: NotificationActionIdentifier
        var text: String?
    }

    /// The action that the extension handles.
    private var choice: Choice?
    private var hasCard = false
    private var hasExtension = true
    private var isFinished = false

    mutating func receive(_ event: Event) -> [Action] {
        guard !self.isFinished else { return [] }
        switch event {
        case .reply(let reply): return self.receive(reply)
        case .window(.action(let identifier, let text, let values)):
            guard self.choice == nil else { return [] }
            let choice = Choice(action: NotificationActionIdentifier(identifier), text: text)
            guard self.hasExtension else { return self.forward(choice) }
            self.choice = choice
            let response = NotificationCardResponse(actionIdentifier: choice.action, userText: text, values: values)
            return [.show(.busy(true)), .awaitsResponse(true), .ask(.response(response))]
        case .window(.changed(let identifier, let values)):
            guard self.hasExtension else { return [] }
            return [.ask(.change(NotificationCardChange(identifier: identifier, values: values)))]
        case .window(.closed):
            // What the user has chosen before would be lost.
            return self.choice.map { self.forward($0) } ?? self.finish()
        case .windowEnded:
            // The user has not closed it: there is no display, or its program has crashed.
            let report = Action.report("The window has ended.")
            return [report] + (self.choice.map { self.forward($0) } ?? self.finish(isFailure: true))
        case .notificationEnded: return self.finish()
        case .cardIsLate:
            // What the user has chosen waits for the extension.
            guard !self.hasCard, self.choice == nil else { return [] }
            return [.report("The extension has shown nothing in time.")] + self.finish(isFailure: true)
        case .extensionEnded(let reason):
            self.hasExtension = false
            let report = Action.report("The extension has ended: \(reason)")
            if let choice { return [report] + self.forward(choice) }
            // The texts and the actions stay.
            return self.hasCard ? [report] : [report] + self.finish(isFailure: true)
        case .responseIsLate:
            guard let choice else { return [] }
            return [.report("The extension has not handled the action \(choice.action) in time.")]
                + self.forward(choice)
        }
    }

    private mutating func receive(_ reply: ContentExtensionReply) -> [Action] {
        switch reply {
        case .card(let card):
            self.hasCard = true
            return [.show(.card(card))]
        case .actions(let actions): return [.show(.actions(actions.map(CardWindowAction.init)))]
        case .option(.doNotDismiss):
            guard self.choice != nil else { return [] }
            self.choice = nil
            return [.awaitsResponse(false), .show(.busy(false))]
        case .option(.dismiss): return [.dismiss] + self.finish()
        case .option(.dismissAndForwardAction): return self.choice.map { self.forward($0) } ?? []
        case .performDefaultAction: return [.respond(.default, text: nil)] + self.finish()
        }
    }

    private mutating func forward(_ choice: Choice) -> [Action] {
        [.respond(choice.action, text: choice.text)] + self.finish()
    }

    private mutating func finish(isFailure: Bool = false) -> [Action] {
        self.isFinished = true
        return [.finish(isFailure: isFailure)]
    }
}

extension CardWindowAction {
    init(_ action: NotificationAction) {
        self.init(
            identifier: action.identifier.rawValue,
            title: action.title,
            isDestructive: action.options.contains(.destructive),
            textInput: action.textInput.map { ($0.placeholder, $0.buttonTitle) }
        )
    }
}
