// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The response of a user to a notification.
public struct NotificationResponse: Sendable, Hashable {
    /// The unique identifier of this response. A response that is delivered twice has the same identifier both times.
    public var id: String
    /// The identifier of the request that the user responded to.
    public var requestIdentifier: String
    /// The identifier of the action that the user chose.
    public var actionIdentifier: NotificationActionIdentifier
    /// The text that the user entered; `nil` if the action has no field for text. Valid length: 0–4096 bytes.
    public var userText: String?
    /// The id of the system on which the user responded; `nil` for this system.
    public var systemID: String?
    /// The name of the system on which the user responded; `nil` for this system.
    public var systemName: String?
    /// The token with which the application may raise its window at once (xdg-activation): set it as
    /// `XDG_ACTIVATION_TOKEN`, or give it to the toolkit. `nil` if the user responded on another system or long ago, to
    /// an action without ``NotificationAction/Options/foreground``, or on a desktop that gives none. A click on the
    /// notification itself counts as an action of the foreground.
    public var activationToken: String?
    /// The window or document that the application opens for the notification; `nil` if the content names none.
    public var targetContentIdentifier: String?

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - id: The identifier of this response, unique for all time.
    ///   - requestIdentifier: The identifier of the request that the user responded to.
    ///   - actionIdentifier: What the user chose.
    ///   - userText: The text that the user entered. Defaults to `nil`.
    public init(
        id: String,
        requestIdentifier: String,
        actionIdentifier: NotificationActionIdentifier,
        userText: String? = nil
    ) {
        self.id = id
        self.requestIdentifier = requestIdentifier
        self.actionIdentifier = actionIdentifier
        self.userText = userText
        self.systemID = nil
        self.systemName = nil
        self.activationToken = nil
        self.targetContentIdentifier = nil
    }

    /// Whether the application may come to the foreground for an action.
    static func isForeground(_ action: NotificationActionIdentifier, of category: NotificationCategory?) -> Bool {
        let known = category?.actions.first { $0.identifier == action }
        return action == .default || known?.options.contains(.foreground) == true
    }

    /// Checks every field against its limit.
    ///
    /// - Throws: ``NotificationError`` that names the field.
    public func validate() throws(NotificationError) {
        try FieldCheck.identifier(self.id, "id")
        try FieldCheck.identifier(self.requestIdentifier, "requestIdentifier")
        try FieldCheck.identifier(self.actionIdentifier.rawValue, "actionIdentifier")
        if let userText { try FieldCheck.text(userText, "userText", max: NotificationLimits.userTextBytes) }
        if let systemID { try FieldCheck.identifier(systemID, "systemID") }
        if let targetContentIdentifier {
            try FieldCheck.identifier(targetContentIdentifier, "targetContentIdentifier")
        }
        if let activationToken {
            try FieldCheck.text(activationToken, "activationToken", max: NotificationLimits.titleBytes)
        }
        if let systemName { try FieldCheck.text(systemName, "systemName", max: NotificationLimits.titleBytes) }
    }
}
