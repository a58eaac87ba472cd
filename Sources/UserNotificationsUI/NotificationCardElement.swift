// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// One element of a ``NotificationCard``.
public enum NotificationCardElement: Sendable, Hashable {
    /// How a text is shown.
    public enum TextStyle: String, Sendable, Hashable, CaseIterable {
        /// As usual text.
        case body
        /// Larger.
        case heading
        /// Smaller and paler.
        case caption
    }

    /// A text, without markup. Valid range: at most 4096 bytes.
    case text(String, style: TextStyle = .body)
    /// An image, which is an attachment of the notification, and its description for screen readers, of at most 512
    /// bytes. The card shows the description in place of an image that cannot be decoded, or of a GIF of more than
    /// 35 million pixels.
    case image(attachment: String, description: String = "")
    /// A progress bar with a label of at most 512 bytes. Without a fraction, from 0 to 1, it shows that something
    /// happens.
    case progress(Double?, label: String = "")
    /// A button. Valid ranges: identifier 1–128 bytes, title 1–512 bytes.
    case button(_ identifier: String, title: String, isDestructive: Bool = false)
    /// A slider. Valid ranges: identifier 1–128 bytes, label at most 512 bytes, value within the range, which is
    /// finite, and a step of more than 0, at most the length of the range; `nil` for a hundredth of it. The user can
    /// choose only values that are a multiple of the step from the lower bound.
    case slider(
        _ identifier: String,
        label: String = "",
        value: Double,
        in: ClosedRange<Double> = 0...1,
        step: Double? = nil
    )
    /// A switch. Valid ranges: identifier 1–128 bytes, label at most 512 bytes.
    case toggle(_ identifier: String, label: String = "", isOn: Bool = false)
    /// A field in which the user enters text. Valid ranges: identifier 1–128 bytes, placeholder at most 512 bytes, text
    /// at most 4096 bytes. When the user chooses the action `focusOnAction` and the field is empty, it gets the input
    /// focus in place of a response; the next time, the response is sent.
    case textField(_ identifier: String, placeholder: String = "", text: String = "", focusOnAction: String? = nil)

    /// The identifier of a button, slider, toggle or text field; `nil` for a text, an image or a progress bar.
    public var identifier: String? {
        switch self {
        case .text, .image, .progress: nil
        case .button(let identifier, _, _), .slider(let identifier, _, _, _, _), .toggle(let identifier, _, _),
            .textField(let identifier, _, _, _):
            identifier
        }
    }

    func validate() throws(NotificationCardError) {
        if let identifier { try CardCheck.identifier(identifier, "Id") }
        switch self {
        case .text(let text, _): try CardCheck.text(text, "Text", max: CardCheck.textBytes)
        case .image(let attachment, let description):
            try CardCheck.identifier(attachment, "Attachment")
            try CardCheck.text(description, "Description", max: CardCheck.titleBytes)
        case .progress(let fraction, let label):
            try CardCheck.number(fraction ?? 0, in: 0...1, "Fraction")
            try CardCheck.text(label, "Label", max: CardCheck.titleBytes)
        case .button(_, let title, _):
            guard !title.isEmpty else { throw NotificationCardError("The title is empty.", field: "Title") }
            try CardCheck.text(title, "Title", max: CardCheck.titleBytes)
        case .slider(_, let label, let value, let range, let step):
            try CardCheck.text(label, "Label", max: CardCheck.titleBytes)
            guard (range.upperBound - range.lowerBound).isFinite, range.lowerBound < range.upperBound else {
                throw NotificationCardError("The range must be finite and not empty.", field: "Max")
            }
            try CardCheck.number(value, in: range, "Value")
            let length = range.upperBound - range.lowerBound
            guard let step else { return }
            guard step > 0, step <= length else {
                throw NotificationCardError("The step must be more than 0 and at most \(length).", field: "Step")
            }
        case .toggle(_, let label, _): try CardCheck.text(label, "Label", max: CardCheck.titleBytes)
        case .textField(_, let placeholder, let text, let focusOnAction):
            try CardCheck.text(placeholder, "Placeholder", max: CardCheck.titleBytes)
            try CardCheck.text(text, "Text", max: CardCheck.textBytes)
            if let focusOnAction { try CardCheck.identifier(focusOnAction, "FocusOnAction") }
        }
    }
}
