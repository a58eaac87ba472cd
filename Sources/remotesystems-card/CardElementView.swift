// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import UserNotificationsUI
import ValueSets

/// The widgets of one element of a card.
@MainActor
final class CardElementView {
    /// The largest image, in pixels.
    private static let (maxImageWidth, maxImageHeight) = (376, 300)

    let widget: Widget
    /// The identifier of a control; `nil` for what the user cannot change.
    let identifier: String?
    private let kind: String
    private let label: Widget?
    private let control: Widget?
    private var element: NotificationCardElement
    /// Whether a change comes from the extension and not from the user.
    private var isUpdating = false

    /// - Parameters:
    ///   - images: the files of the attachments, by their identifiers.
    ///   - changed: called when the user has used the control; `isContinuous` while a slider moves.
    init(
        _ element: NotificationCardElement,
        images: [String: String],
        changed: @escaping (_ identifier: String, _ isContinuous: Bool) -> Void
    ) {
        self.element = element
        self.identifier = element.identifier
        self.kind = Self.kind(of: element, images)
        var report: (Bool) -> Void = { _ in }
        let identifier = element.identifier ?? ""
        switch element {
        case .text(let text, let style):
            let label = Widget.label(text, style: Self.cssClass(of: style))
            (self.widget, self.label, self.control) = (label, label, nil)
        case .image(let attachment, let description):
            let picture =
                images[attachment].flatMap { path in
                    Widget.picture(
                        path,
                        description: description,
                        maxWidth: Self.maxImageWidth,
                        maxHeight: Self.maxImageHeight
                    )
                } ?? Widget.label(description, style: "card-caption")
            (self.widget, self.label, self.control) = (picture, nil, nil)
        case .progress(let fraction, _):
            let progress = fraction == nil ? Widget.spinner() : Widget.progress()
            if fraction == nil { progress.setSpinning(true) }
            let label = Widget.label("", style: "card-caption")
            (self.widget, self.label, self.control) = (Self.column(label, progress), label, progress)
        case .button(_, let title, let isDestructive):
            let button = Widget.button(title) { report(false) }
            if isDestructive { button.addClass("destructive-action") }
            (self.widget, self.label, self.control) = (button, nil, button)
        case .slider(_, _, _, let range, let step):
            let label = Widget.label("", style: "card-caption")
            let slider = Widget.slider(range, SliderSteps(in: range, step: step)) { report(true) }
            (self.widget, self.label, self.control) = (Self.column(label, slider), label, slider)
        case .toggle:
            let (label, toggle) = (Widget.label(""), Widget.toggle { report(false) })
            let row = Widget.box(isVertical: false)
            label.expand()
            row.append(label)
            row.append(toggle)
            (self.widget, self.label, self.control) = (row, label, toggle)
        case .textField(_, let placeholder, _, _):
            let entry = Widget.entry(placeholder) { report(false) }
            (self.widget, self.label, self.control) = (entry, nil, entry)
        }
        self.show(element)
        report = { [unowned self] isContinuous in
            guard !self.isUpdating else { return }
            self.snap()
            changed(identifier, isContinuous)
        }
    }

    /// Moves a slider that the user has moved to a value that its step permits. GTK only rounds to decimals.
    private func snap() {
        guard case .slider(_, _, _, let range, let step) = self.element, let control else { return }
        self.isUpdating = true
        defer { self.isUpdating = false }
        control.setSliderValue(SliderSteps(in: range, step: step).nearest(to: control.sliderValue))
    }

    private static func column(_ widgets: Widget...) -> Widget {
        let column = Widget.box(isVertical: true, spacing: 2)
        for widget in widgets { column.append(widget) }
        return column
    }

    private static func cssClass(of style: NotificationCardElement.TextStyle) -> String? {
        switch style {
        case .body: nil
        case .heading: "card-heading"
        case .caption: "card-caption"
        }
    }

    /// What cannot be changed in place.
    private static func kind(of element: NotificationCardElement, _ images: [String: String]) -> String {
        switch element {
        case .text(_, let style): "text \(style)"
        case .image(let attachment, let description): "image \(attachment) \(description)"
        case .progress(let fraction, _): fraction == nil ? "spinner" : "progress"
        case .button(let identifier, _, let isDestructive): "button \(isDestructive) \(identifier)"
        case .slider(let identifier, _, _, let range, let step): "slider \(range) \(step ?? 0) \(identifier)"
        case .toggle(let identifier, _, _): "toggle \(identifier)"
        case .textField(let identifier, let placeholder, _, _):
            "textField \(placeholder.count) \(placeholder) \(identifier)"
        }
    }

    /// Shows an element in place, without losing what the user does with the control.
    ///
    /// - Returns: whether that is possible.
    func update(_ element: NotificationCardElement, images: [String: String]) -> Bool {
        guard Self.kind(of: element, images) == self.kind else { return false }
        let before = self.element
        self.element = element
        guard element != before else { return true }
        self.show(element, before: before)
        return true
    }

    private func show(_ element: NotificationCardElement, before: NotificationCardElement? = nil) {
        self.isUpdating = true
        defer { self.isUpdating = false }
        switch element {
        case .text(let text, _): self.label?.setText(text)
        case .image: break
        case .progress(let fraction, let label):
            self.setLabel(label)
            if let fraction { self.control?.setFraction(fraction) }
        case .button(_, let title, _): self.control?.setButtonTitle(title)
        case .slider(_, let label, let value, _, _):
            self.setLabel(label)
            if case .slider(_, _, value, _, _)? = before { return }
            self.control?.setSliderValue(value)
        case .toggle(_, let label, let isOn):
            self.setLabel(label)
            if case .toggle(_, _, isOn)? = before { return }
            self.control?.setOn(isOn)
        case .textField(_, _, let text, _):
            // What the user has entered stays unless the extension sets another text.
            if case .textField(_, _, text, _)? = before { return }
            self.control?.setEnteredText(text)
        }
    }

    private func setLabel(_ text: String) {
        self.label?.setText(text)
        self.label?.setVisible(!text.isEmpty)
    }

    /// The value of the control; `nil` for none.
    var value: Value? {
        switch self.element {
        case .text, .image, .progress, .button: nil
        case .slider: self.control.map { .double($0.sliderValue) }
        case .toggle: self.control.map { .bool($0.isOn) }
        case .textField: self.control.map { .string($0.enteredText) }
        }
    }

    /// Whether the control is to get the input focus in place of a response to an action.
    func takesFocus(of action: String) -> Bool {
        guard case .textField(_, _, _, action?) = self.element else { return false }
        return self.control?.enteredText.isEmpty == true
    }

    func focus() { self.control?.focus() }
}
