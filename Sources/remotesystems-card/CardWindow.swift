// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import UserNotificationsUI
import ValueSets

/// The window of a card: the card, the texts of the notification, its actions, and who has sent it.
@MainActor
final class CardWindow {
    private static let (width, margin) = (400, 12)
    /// The maximum height of a card that states no size.
    private static let maxHeight = 600
    /// The maximum height of the notification's texts. The actions and the sender stay on the screen, however long
    /// they are.
    private static let maxTextHeight = 200
    /// The height of the title bar and of the desktop's panels.
    private static let screenMargin = 100
    /// The height of the actions, the sender, and some of the texts.
    private static let furtherHeight = 200
    /// The time between two reports of a slider that moves, in milliseconds.
    private static let sliderPause: UInt32 = 100

    private let window: Widget
    private let card = Widget.box(isVertical: true)
    private let scroller: Widget
    private let texts = Widget.box(isVertical: true, spacing: 2)
    private let textScroller: Widget
    private let actionBar = CardActionBar()
    private let sender = Widget.label("", style: "card-sender")
    private var elements: [CardElementView] = []
    private var images: [String: String] = [:]
    private var title = ""
    private var isOpen = false
    private var isInteractive = true
    /// The actions whose text field had the focus once.
    private var focused: Set<String> = []
    /// The slider whose last value is not reported yet.
    private var moving: String?

    private static let style = """
        .card-heading { font-size: 140%; font-weight: bold; }
        .card-caption { font-size: 90%; opacity: 0.7; }
        .card-title { font-weight: bold; }
        .card-sender { font-size: 80%; opacity: 0.6; border-top: 1px solid alpha(currentColor, 0.3); padding-top: 6px; }
        """

    init() {
        self.window = Widget.window(width: Self.width) {
            Self.report(.closed)
            exit(0)
        }
        self.scroller = Widget.scroller(self.card)
        self.scroller.expand(isVertical: true)
        self.textScroller = Widget.scroller(self.texts)
        self.textScroller.setHeights(min: 0, max: Self.maxTextHeight)
        self.textScroller.setVisible(false)
        let content = Widget.box(isVertical: true, spacing: 12)
        content.setMargin(Self.margin)
        for widget in [self.scroller, self.textScroller, self.actionBar.widget, self.sender] { content.append(widget) }
        self.window.setChild(content)
        self.actionBar.chosen = { [unowned self] action, text in self.chose(action, text) }
    }

    /// Handles a line of the host daemon. What cannot be used is left out.
    func receive(_ line: String) {
        do {
            try self.perform(try CardWindowCommand(ValueSet(json: line)))
        } catch {
            Card.log("A line of the host daemon cannot be used. \(error)")
        }
    }

    private func perform(_ command: CardWindowCommand) throws {
        switch command {
        case .open(let content): self.open(content)
        case .card(let card): self.show(card)
        case .actions(let actions): self.actionBar.show(actions)
        case .busy(let isBusy): self.actionBar.setBusy(isBusy)
        case .close: exit(0)
        }
    }

    private func open(_ content: CardWindowContent) {
        guard !self.isOpen else { return }
        self.isOpen = true
        Widget.addStyle(Self.style)
        (self.title, self.images) = (content.title, content.images)
        self.window.setTitle(content.title)
        for (text, style) in [(content.title, "card-title"), (content.subtitle, nil), (content.body, nil)] {
            guard !text.isEmpty, !content.hidesTexts else { continue }
            self.texts.append(Widget.label(text, style: style))
            self.textScroller.setVisible(true)
        }
        self.sender.setText(content.sender)
        self.actionBar.show(content.actions)
        // So that the window keeps its size when the card comes.
        let height = Int((Double(Self.width) * content.initialRatio).rounded())
        let maxHeight = min(Self.maxHeight, self.maxCardHeight)
        self.scroller.setHeights(min: min(height, maxHeight), max: maxHeight)
        self.fit(width: Self.width)
        self.window.present()
    }

    /// The height that the screen has for the card. What is higher is scrolled.
    private var maxCardHeight: Int { max(Widget.screenHeight - Self.screenMargin - Self.furtherHeight, 0) }

    private func fit(width: Int) {
        self.window.fit(width: width, maxHeight: max(Widget.screenHeight - Self.screenMargin, 0))
    }

    private func show(_ card: NotificationCard) {
        self.window.setTitle(card.title ?? self.title)
        let isInPlace = self.update(card.elements)
        if !isInPlace { self.replace(card.elements) }
        if card.isInteractive != self.isInteractive {
            self.isInteractive = card.isInteractive
            self.card.setSensitive(card.isInteractive)
        }
        if let size = card.preferredSize {
            self.card.setWidth(size.width)
            let height = min(size.height, self.maxCardHeight)
            self.scroller.setHeights(min: height, max: height)
        } else {
            self.scroller.setHeights(min: 0, max: min(Self.maxHeight, self.maxCardHeight))
        }
        let preferredWidth = card.preferredSize.map { $0.width + 2 * Self.margin } ?? 0
        if !isInPlace { self.fit(width: max(Self.width, preferredWidth)) }
    }

    private func update(_ elements: [NotificationCardElement]) -> Bool {
        guard elements.count == self.elements.count else { return false }
        return zip(self.elements, elements).allSatisfy { $0.update($1, images: self.images) }
    }

    /// Replaces the widgets. What the user has entered in fields that stay is kept.
    private func replace(_ elements: [NotificationCardElement]) {
        let old = self.elements
        for element in old {
            element.widget.hold()
            self.card.remove(element.widget)
        }
        self.elements = elements.map { element in
            // The widget of an unchanged control moves with its value.
            if let index = old.firstIndex(where: { $0.identifier != nil && $0.identifier == element.identifier }),
                old[index].update(element, images: self.images)
            {
                return old[index]
            }
            return CardElementView(element, images: self.images) { [unowned self] identifier, isContinuous in
                self.changed(identifier, isContinuous: isContinuous)
            }
        }
        for element in self.elements { self.card.append(element.widget) }
        for element in old { element.widget.release() }
    }

    // MARK: What the user does

    private var values: ValueSet {
        var values: ValueSet = [:]
        for element in self.elements {
            if let identifier = element.identifier, let value = element.value { values[identifier] = value }
        }
        return values
    }

    private func chose(_ action: String, _ text: String?) {
        if !self.focused.contains(action), let field = self.elements.first(where: { $0.takesFocus(of: action) }) {
            self.focused.insert(action)
            return field.focus()
        }
        Self.report(.action(action, text: text, values: self.values))
    }

    private func changed(_ identifier: String, isContinuous: Bool) {
        guard isContinuous else { return Self.report(.changed(identifier, values: self.values)) }
        let isWaiting = self.moving != nil
        if isWaiting, self.moving != identifier { Self.report(.changed(self.moving ?? "", values: self.values)) }
        self.moving = identifier
        guard !isWaiting else { return }
        Handler.after(milliseconds: Self.sliderPause) { [weak self] in
            guard let self, let identifier = self.moving else { return }
            self.moving = nil
            Self.report(.changed(identifier, values: self.values))
        }
    }

    private static func report(_ event: CardWindowEvent) {
        do {
            Card.report(try event.valueSet.json())
        } catch {
            Card.log("What the user has done cannot be reported. \(error)")
        }
    }
}
