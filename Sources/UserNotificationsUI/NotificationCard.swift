// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The custom view of a notification: what a content extension shows in a window when the user opens a notification.
///
/// The elements are shown from top to bottom. Below them are the texts of the notification, unless the extension hides
/// them, and the buttons of its actions.
///
/// ```swift
/// NotificationCard(elements: [
///     .text("Summer party", style: .heading),
///     .image(attachment: "map", description: "Where it is"),
///     .slider("guests", label: "Guests", value: 2, in: 1...8, step: 1),
///     .textField("comment", placeholder: "A few words", focusOnAction: "accept"),
/// ])
/// ```
public struct NotificationCard: Sendable, Hashable {
    /// A size in pixels of an unscaled screen.
    public struct Size: Sendable, Hashable {
        /// The width. Valid range: 200–800.
        public var width: Int
        /// The height. Valid range: 80–1000.
        public var height: Int

        /// Creates a size.
        public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
    }

    /// The title of the window; `nil` for the title of the notification. Defaults to `nil`. Valid length: 0–512 bytes.
    public var title: String?
    /// The elements of the view, from top to bottom. At most 32, with unique identifiers.
    public var elements: [NotificationCardElement]
    /// The size of the view; `nil` for the size that the elements need. Defaults to `nil`.
    public var preferredSize: Size?
    /// Whether the user can use the controls. Defaults to `true`.
    public var isInteractive: Bool

    /// Creates a card.
    ///
    /// - Parameters:
    ///   - title: The title of the window. Defaults to `nil`: that of the notification.
    ///   - elements: The elements of the view, from top to bottom.
    ///   - preferredSize: The size of the view. Defaults to `nil`: the size that the elements need.
    public init(title: String? = nil, elements: [NotificationCardElement], preferredSize: Size? = nil) {
        self.title = title
        self.elements = elements
        self.preferredSize = preferredSize
        self.isInteractive = true
    }

    /// Checks every field against its range.
    ///
    /// - Throws: ``NotificationCardError`` that names the field.
    public func validate() throws(NotificationCardError) {
        try CardCheck.text(self.title ?? "", "Title", max: CardCheck.titleBytes)
        if let size = self.preferredSize {
            try CardCheck.number(Double(size.width), in: 200...800, "PreferredSize.Width")
            try CardCheck.number(Double(size.height), in: 80...1000, "PreferredSize.Height")
        }
        guard self.elements.count <= Self.maxElements else {
            throw NotificationCardError("A card has at most \(Self.maxElements) elements.", field: "Elements")
        }
        var identifiers: Set<String> = []
        for (index, element) in self.elements.enumerated() {
            do throws(NotificationCardError) {
                try element.validate()
                guard let identifier = element.identifier, !identifiers.insert(identifier).inserted else { continue }
                throw NotificationCardError("Another control has the same identifier.", field: "Id")
            } catch {
                throw error.inside("Elements[\(index)]")
            }
        }
    }

    private static let maxElements = 32
}
