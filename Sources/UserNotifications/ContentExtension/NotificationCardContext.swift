// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import UserNotificationsUI
public import ValueSets

/// Changes a view that is shown.
///
/// What is shown after the view was closed is lost without an error.
public struct NotificationCardContext: Sendable {
    let scheduler: ExtensionScheduler
    let send: @Sendable (ContentExtensionReply) -> Void

    /// Shows another card. Fields in which the user has entered text keep it, unless their text has changed.
    ///
    /// - Parameter card: The card.
    /// - Throws: `NotificationCardError`.
    public func update(_ card: NotificationCard) throws {
        try card.validate()
        self.send(.card(card))
    }

    /// Shows other actions below the view. The user's choice comes to the extension; those that the category does not
    /// have cannot be forwarded.
    ///
    /// - Parameter actions: The actions, at most ``NotificationLimits/actions``.
    /// - Throws: ``NotificationError``.
    public func setActions(_ actions: [NotificationAction]) throws {
        try NotificationCategory(identifier: "actions", actions: actions).validate()
        self.send(.actions(actions))
    }

    /// Schedules a notification of the extension's application, which this system delivers also after the view is
    /// closed.
    ///
    /// The parameters, the result and the errors are those of
    /// ``NotificationServiceContext/schedule(_:category:applicationName:)``.
    @discardableResult
    public func schedule(
        _ request: NotificationRequest,
        category: NotificationCategory? = nil,
        applicationName: String? = nil
    ) async throws -> Date? {
        try await self.scheduler.schedule(request, category, applicationName)
    }

    /// Opens the application with the notification, as if the user had chosen the notification itself.
    public func performDefaultAction() { self.send(.performDefaultAction) }

    /// Removes the notification, and closes the view.
    public func dismiss() { self.send(.option(.dismiss)) }
}

/// The fate of a notification after its extension has handled an action.
public enum ContentExtensionResponseOption: String, Sendable, Hashable, CaseIterable {
    /// It stays, and the view too.
    case doNotDismiss = "DoNotDismiss"
    /// It is removed. The application does not learn the action.
    case dismiss = "Dismiss"
    /// It is removed, and the application learns the action.
    case dismissAndForwardAction = "DismissAndForwardAction"
}

/// An action that the user has chosen below a view.
public struct NotificationCardResponse: Sendable, Hashable {
    /// The action.
    public var actionIdentifier: NotificationActionIdentifier
    /// The text that the user entered; `nil` if the action has no field for text.
    public var userText: String?
    /// The values of the controls by their identifiers: a number for a slider, true or false for a switch, a string for
    /// a text field.
    public var values: ValueSet

    /// Creates a response.
    public init(actionIdentifier: NotificationActionIdentifier, userText: String? = nil, values: ValueSet = [:]) {
        (self.actionIdentifier, self.userText, self.values) = (actionIdentifier, userText, values)
    }
}

/// A control of a view that the user has used.
public struct NotificationCardChange: Sendable, Hashable {
    /// The identifier of the control.
    public var identifier: String
    /// The values of all controls by their identifiers, as in ``NotificationCardResponse/values``.
    public var values: ValueSet

    /// Creates a change of the control with this identifier.
    public init(identifier: String, values: ValueSet = [:]) { (self.identifier, self.values) = (identifier, values) }
}
