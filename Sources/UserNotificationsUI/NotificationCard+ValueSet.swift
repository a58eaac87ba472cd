// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import ValueSets

extension NotificationCard {
    /// The card as a value set, from which JSON is made.
    public var valueSet: ValueSet {
        var set: ValueSet = ["Elements": .array(self.elements.map { .dictionary($0.valueSet) })]
        if let title { set["Title"] = .string(title) }
        if let size = self.preferredSize {
            set["PreferredSize"] = ["Width": .integer(Int64(size.width)), "Height": .integer(Int64(size.height))]
        }
        if !self.isInteractive { set["Interactive"] = false }
        return set
    }

    /// Creates a card from a value set, and checks every field. Unknown keys are ignored.
    ///
    /// - Parameter set: The value set.
    /// - Throws: ``NotificationCardError`` that names the field.
    public init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        var elements: [NotificationCardElement] = []
        for (index, value) in try reader.array("Elements").enumerated() {
            do throws(NotificationCardError) {
                guard let element = value.dictionary else {
                    throw NotificationCardError("The element must be a dictionary.", field: "")
                }
                elements.append(try NotificationCardElement(element))
            } catch {
                throw error.inside("Elements[\(index)]")
            }
        }
        var size: Size?
        if let dictionary = try reader.dictionary("PreferredSize") {
            let sides = CardReader(dictionary)
            do throws(NotificationCardError) {
                // Validated below.
                size = Size(width: try sides.int("Width"), height: try sides.int("Height"))
            } catch {
                throw error.inside("PreferredSize")
            }
        }
        self.init(title: try reader.string("Title"), elements: elements, preferredSize: size)
        self.isInteractive = try reader.bool("Interactive") ?? true
        try self.validate()
    }
}

extension NotificationCardElement {
    var valueSet: ValueSet {
        var set: ValueSet = [:]
        if let identifier { set["Id"] = .string(identifier) }
        switch self {
        case .text(let text, let style):
            set["Type"] = "Text"
            set["Text"] = .string(text)
            if style != .body { set["Style"] = .string(style.rawValue) }
        case .image(let attachment, let description):
            set["Type"] = "Image"
            set["Attachment"] = .string(attachment)
            set.put(description, "Description")
        case .progress(let fraction, let label):
            set["Type"] = "Progress"
            if let fraction { set["Fraction"] = .double(fraction) }
            set.put(label, "Label")
        case .button(_, let title, let isDestructive):
            set["Type"] = "Button"
            set["Title"] = .string(title)
            if isDestructive { set["Destructive"] = true }
        case .slider(_, let label, let value, let range, let step):
            set["Type"] = "Slider"
            set["Value"] = .double(value)
            set["Min"] = .double(range.lowerBound)
            set["Max"] = .double(range.upperBound)
            if let step { set["Step"] = .double(step) }
            set.put(label, "Label")
        case .toggle(_, let label, let isOn):
            set["Type"] = "Switch"
            set["On"] = .bool(isOn)
            set.put(label, "Label")
        case .textField(_, let placeholder, let text, let focusOnAction):
            set["Type"] = "TextField"
            set.put(placeholder, "Placeholder")
            set.put(text, "Text")
            if let focusOnAction { set["FocusOnAction"] = .string(focusOnAction) }
        }
        return set
    }

    init(_ set: ValueSet) throws(NotificationCardError) {
        let reader = CardReader(set)
        switch try reader.requiredString("Type") {
        case "Text":
            let style = try reader.string("Style") ?? TextStyle.body.rawValue
            guard let style = TextStyle(rawValue: style) else {
                let styles = TextStyle.allCases.map(\.rawValue).joined(separator: ", ")
                throw NotificationCardError("The style must be one of \(styles).", field: "Style")
            }
            self = .text(try reader.requiredString("Text"), style: style)
        case "Image":
            self = .image(
                attachment: try reader.requiredString("Attachment"),
                description: try reader.string("Description") ?? ""
            )
        case "Progress":
            self = .progress(try reader.number("Fraction"), label: try reader.string("Label") ?? "")
        case "Button":
            self = .button(
                try reader.requiredString("Id"),
                title: try reader.requiredString("Title"),
                isDestructive: try reader.bool("Destructive") ?? false
            )
        case "Slider":
            let (min, max) = (try reader.number("Min") ?? 0, try reader.number("Max") ?? 1)
            guard min < max else { throw NotificationCardError("Max must be more than Min.", field: "Max") }
            self = .slider(
                try reader.requiredString("Id"),
                label: try reader.string("Label") ?? "",
                value: try reader.number("Value") ?? min,
                in: min...max,
                step: try reader.number("Step")
            )
        case "Switch":
            self = .toggle(
                try reader.requiredString("Id"),
                label: try reader.string("Label") ?? "",
                isOn: try reader.bool("On") ?? false
            )
        case "TextField":
            self = .textField(
                try reader.requiredString("Id"),
                placeholder: try reader.string("Placeholder") ?? "",
                text: try reader.string("Text") ?? "",
                focusOnAction: try reader.string("FocusOnAction")
            )
        case let type:
            throw NotificationCardError(
                "The type '\(type)' is unknown. Known: Text, Image, Progress, Button, Slider, Switch, TextField.",
                field: "Type"
            )
        }
    }
}

extension ValueSet {
    /// Sets a text unless it is empty.
    fileprivate mutating func put(_ text: String, _ key: String) { if !text.isEmpty { self[key] = .string(text) } }
}
