// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The identifier of a user's choice: an action of the category, the notification itself, or its dismissal.
public struct NotificationActionIdentifier: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The identifier as text.
    public var rawValue: String

    /// Creates an identifier.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier.
    public init(_ text: String) { self.rawValue = text }

    /// Creates an identifier.
    public init(stringLiteral value: String) { self.rawValue = value }

    /// The user chose the notification itself: the application opens what the notification is about.
    public static let `default`: NotificationActionIdentifier = "default"
    /// The user dismissed the notification without a choice.
    public static let dismiss: NotificationActionIdentifier = "dismiss"

    /// The identifier as text.
    public var description: String { self.rawValue }
}

/// A button of a notification, or a field in which the user enters text.
public struct NotificationAction: Sendable, Hashable {
    /// How an action behaves.
    public struct Options: OptionSet, Sendable, Hashable {
        /// The options as a number.
        public var rawValue: Int
        /// Creates options from their number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The session must be unlocked.
        public static let authenticationRequired = Options(rawValue: 1)
        /// The action deletes something. Desktops may show it in another colour.
        public static let destructive = Options(rawValue: 2)
        /// The application's window is raised.
        public static let foreground = Options(rawValue: 4)

        static let all: Options = [.authenticationRequired, .destructive, .foreground]
    }

    /// The texts of a field in which the user enters text.
    public struct TextInput: Sendable, Hashable {
        /// The title of the button that sends the text. Defaults to `Send`. Valid length: 1–512 bytes.
        public var buttonTitle: String
        /// The text in the empty field. Defaults to empty. Valid length: 0–512 bytes.
        public var placeholder: String

        /// Creates the texts of a field.
        public init(buttonTitle: String = "Send", placeholder: String = "") {
            self.buttonTitle = buttonTitle
            self.placeholder = placeholder
        }
    }

    /// The identifier, unique in the category. `default`, `dismiss` and those that begin with `remote-systems.` are
    /// reserved. Valid length: 1–128 bytes.
    public var identifier: NotificationActionIdentifier
    /// The title of the button. Valid length: 1–512 bytes.
    public var title: String
    /// How the action behaves. Defaults to none.
    public var options: Options
    /// The field in which the user enters text; `nil` for a button. Defaults to `nil`.
    public var textInput: TextInput?

    /// Creates a button.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique in the category.
    ///   - title: The title of the button.
    ///   - options: How the action behaves. Defaults to none.
    public init(identifier: NotificationActionIdentifier, title: String, options: Options = []) {
        self.identifier = identifier
        self.title = title
        self.options = options
        self.textInput = nil
    }

    /// Creates an action with a field for text.
    public init(_ action: TextInputNotificationAction) {
        self.identifier = action.identifier
        self.title = action.title
        self.options = action.options
        self.textInput = TextInput(
            buttonTitle: action.textInputButtonTitle,
            placeholder: action.textInputPlaceholder
        )
    }

    func validate() throws(NotificationError) {
        try FieldCheck.identifier(self.identifier.rawValue, "identifier")
        guard self.identifier != .default, self.identifier != .dismiss,
            !self.identifier.rawValue.hasPrefix(NotificationActionIdentifier.builtInPrefix)
        else {
            throw NotificationError(
                .invalidContent,
                "'default', 'dismiss' and identifiers that begin with "
                    + "'\(NotificationActionIdentifier.builtInPrefix)' are reserved.",
                field: "identifier"
            )
        }
        try Self.check(title: self.title, "title")
        guard let textInput else { return }
        try Self.check(title: textInput.buttonTitle, "textInputButtonTitle")
        try FieldCheck.text(textInput.placeholder, "textInputPlaceholder", max: NotificationLimits.titleBytes)
    }

    private static func check(title: String, _ field: String) throws(NotificationError) {
        guard !title.isEmpty else { throw NotificationError(.invalidContent, "The title is empty.", field: field) }
        try FieldCheck.text(title, field, max: NotificationLimits.titleBytes)
    }
}

/// An action with a field in which the user enters text.
///
/// Its response has the text in ``NotificationResponse/userText``.
public struct TextInputNotificationAction: Sendable, Hashable {
    /// The identifier, unique in the category. `default`, `dismiss` and those that begin with `remote-systems.` are
    /// reserved. Valid length: 1–128 bytes.
    public var identifier: NotificationActionIdentifier
    /// The title of the button that opens the field. Valid length: 1–512 bytes.
    public var title: String
    /// How the action behaves. Defaults to none.
    public var options: NotificationAction.Options
    /// The title of the button that sends the text. Defaults to `Send`. Valid length: 1–512 bytes.
    public var textInputButtonTitle: String
    /// The text in the empty field. Defaults to empty. Valid length: 0–512 bytes.
    public var textInputPlaceholder: String

    /// Creates an action with a field for text.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique in the category.
    ///   - title: The title of the button that opens the field.
    ///   - options: How the action behaves. Defaults to none.
    ///   - textInputButtonTitle: The title of the button that sends the text. Defaults to `Send`.
    ///   - textInputPlaceholder: The text in the empty field. Defaults to empty.
    public init(
        identifier: NotificationActionIdentifier,
        title: String,
        options: NotificationAction.Options = [],
        textInputButtonTitle: String = "Send",
        textInputPlaceholder: String = ""
    ) {
        self.identifier = identifier
        self.title = title
        self.options = options
        self.textInputButtonTitle = textInputButtonTitle
        self.textInputPlaceholder = textInputPlaceholder
    }
}
