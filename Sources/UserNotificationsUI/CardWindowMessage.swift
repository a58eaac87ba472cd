// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import ValueSets

/// What the host daemon sends the program that shows a card: lines of JSON.
package enum CardWindowCommand: Sendable, Hashable {
    /// Shows the window. The first line.
    case open(CardWindowContent)
    /// Shows a card, in place of the one before.
    case card(NotificationCard)
    /// Shows other buttons below the card.
    case actions([CardWindowAction])
    /// Whether a response is awaited; the buttons cannot be used then.
    case busy(Bool)
    /// Closes the window. The end of the input does that, too.
    case close

    package var valueSet: ValueSet {
        switch self {
        case .open(let content): ["Open": .dictionary(content.valueSet)]
        case .card(let card): ["Card": .dictionary(card.valueSet)]
        case .actions(let actions): ["Actions": .array(actions.map { .dictionary($0.valueSet) })]
        case .busy(let isBusy): ["Busy": .bool(isBusy)]
        case .close: ["Close": true]
        }
    }

    package init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        if let content = try reader.dictionary("Open") {
            self = .open(try CardWindowContent(content))
        } else if let card = try reader.dictionary("Card") {
            self = .card(try NotificationCard(card))
        } else if set["Actions"] != nil {
            self = .actions(try CardWindowAction.actions(reader))
        } else if let isBusy = try reader.bool("Busy") {
            self = .busy(isBusy)
        } else if set["Close"] != nil {
            self = .close
        } else {
            throw NotificationCardError("The command is unknown.", field: "")
        }
    }
}

/// What is shown before and beside the card.
package struct CardWindowContent: Sendable, Hashable {
    /// The title of the window, until a card has another one.
    package var title: String
    package var subtitle: String
    package var body: String
    /// Whether the texts are left out below the card.
    package var hidesTexts: Bool
    /// Who has sent the notification: always shown, last.
    package var sender: String
    /// The height of the card in relation to its width, until there is one.
    package var initialRatio: Double
    package var actions: [CardWindowAction]
    /// The image files by the identifiers of the attachments.
    package var images: [String: String]

    package init(
        title: String,
        subtitle: String = "",
        body: String = "",
        hidesTexts: Bool = false,
        sender: String,
        initialRatio: Double = 0.5,
        actions: [CardWindowAction] = [],
        images: [String: String] = [:]
    ) {
        (self.title, self.subtitle, self.body, self.sender) = (title, subtitle, body, sender)
        self.hidesTexts = hidesTexts
        (self.initialRatio, self.actions, self.images) = (initialRatio, actions, images)
    }

    var valueSet: ValueSet {
        var images: ValueSet = [:]
        for (identifier, path) in self.images { images[identifier] = .string(path) }
        return [
            "Title": .string(self.title), "Subtitle": .string(self.subtitle), "Body": .string(self.body),
            "HidesTexts": .bool(self.hidesTexts),
            "Sender": .string(self.sender), "InitialRatio": .double(self.initialRatio),
            "Actions": .array(self.actions.map { .dictionary($0.valueSet) }), "Images": .dictionary(images),
        ]
    }

    init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        self.title = try reader.string("Title") ?? ""
        self.subtitle = try reader.string("Subtitle") ?? ""
        self.body = try reader.string("Body") ?? ""
        self.hidesTexts = try reader.bool("HidesTexts") ?? false
        self.sender = try reader.string("Sender") ?? ""
        self.initialRatio = try reader.number("InitialRatio") ?? 0.5
        try CardCheck.number(self.initialRatio, in: 0.01...10, "InitialRatio")
        self.actions = try CardWindowAction.actions(reader)
        self.images = [:]
        for (identifier, path) in try reader.dictionary("Images") ?? [:] {
            if let path = path.string { self.images[identifier] = path }
        }
    }
}

/// A button below the card, or a field with a button that sends its text.
package struct CardWindowAction: Sendable, Hashable {
    package var identifier: String
    package var title: String
    package var isDestructive: Bool
    /// The texts of the field and its button; `nil` for a button alone.
    package var textInput: (placeholder: String, buttonTitle: String)? {
        get { self.placeholder.map { ($0, self.buttonTitle) } }
        set { (self.placeholder, self.buttonTitle) = (newValue?.placeholder, newValue?.buttonTitle ?? "") }
    }
    private var placeholder: String?
    private var buttonTitle = ""

    package init(
        identifier: String,
        title: String,
        isDestructive: Bool = false,
        textInput: (placeholder: String, buttonTitle: String)? = nil
    ) {
        (self.identifier, self.title, self.isDestructive) = (identifier, title, isDestructive)
        self.textInput = textInput
    }

    var valueSet: ValueSet {
        var set: ValueSet = ["Id": .string(self.identifier), "Title": .string(self.title)]
        if self.isDestructive { set["Destructive"] = true }
        if let placeholder {
            set["Placeholder"] = .string(placeholder)
            set["ButtonTitle"] = .string(self.buttonTitle)
        }
        return set
    }

    private init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        self.init(
            identifier: try reader.requiredString("Id"),
            title: try reader.requiredString("Title"),
            isDestructive: try reader.bool("Destructive") ?? false
        )
        self.placeholder = try reader.string("Placeholder")
        self.buttonTitle = try reader.string("ButtonTitle") ?? ""
    }

    static func actions(_ reader: CardReader) throws(NotificationCardError) -> [CardWindowAction] {
        var actions: [CardWindowAction] = []
        for value in try reader.array("Actions") { actions.append(try CardWindowAction(value.dictionary ?? [:])) }
        return actions
    }
}

/// What the program that shows a card reports: lines of JSON.
package enum CardWindowEvent: Sendable, Hashable {
    /// The user chose an action. With the text of its field, and the values of all controls.
    case action(String, text: String?, values: ValueSet)
    /// The user has used a control. With the values of all controls.
    case changed(String, values: ValueSet)
    /// The user has closed the window.
    case closed

    package var valueSet: ValueSet {
        switch self {
        case .action(let action, let text, let values):
            var set: ValueSet = ["Action": .string(action), "Values": .dictionary(values)]
            if let text { set["Text"] = .string(text) }
            return set
        case .changed(let control, let values): return ["Changed": .string(control), "Values": .dictionary(values)]
        case .closed: return ["Closed": true]
        }
    }

    package init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        let values = try reader.dictionary("Values") ?? [:]
        if let action = try reader.string("Action") {
            self = .action(action, text: try reader.string("Text"), values: values)
        } else if let control = try reader.string("Changed") {
            self = .changed(control, values: values)
        } else if set["Closed"] != nil {
            self = .closed
        } else {
            throw NotificationCardError("The event is unknown.", field: "")
        }
    }
}
