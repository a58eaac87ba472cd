// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import UserNotificationsUI
import ValueSets

extension DesktopTests {
    /// Where the parts of a card are on a screen, and the controls that the user moves.
    @Suite struct CardLayouts {
        @Test func `a window has the height of its ratio, and then the size that the card prefers (N-39, N-40)`()
            async throws
        {
            try await ShownCard.with { low in
                try await ShownCard.with { high in
                    var content = low.content
                    content.initialRatio = 0.25
                    try low.send(.open(content))
                    content.initialRatio = 0.5
                    try high.send(.open(content))
                    // Of a width of 400 pixels.
                    try await high.eventually("100 pixels of difference") {
                        guard let first = try await low.geometry(), let second = try await high.geometry() else {
                            return false
                        }
                        return first.width == second.width && second.height - first.height == 100
                    }
                    let before = try #require(try await high.geometry())
                    let size = NotificationCard.Size(width: 500, height: 250)
                    try high.send(.card(NotificationCard(elements: [.text("Who comes?")], preferredSize: size)))
                    // In place of 200 pixels of height. The width has the margins of the window in addition.
                    try await high.eventually("the preferred size") {
                        guard let after = try await high.geometry() else { return false }
                        return after.width - before.width == 124 && after.height - before.height == 50
                    }
                }
            }
        }

        @Test func `the card is above the texts, and these above the actions, or they are hidden (N-31, N-37, N-38)`()
            async throws
        {
            try await ShownCard.with { full in
                try await ShownCard.with { short in
                    var content = full.content
                    try full.send(.open(content))
                    content.hidesTexts = true
                    try short.send(.open(content))
                    let card = NotificationCard(elements: [.image(attachment: "map")])
                    for shown in [full, short] {
                        try shown.send(.card(card))
                        try await shown.eventually("the image") {
                            try shown.desktop.pixels(Desktop.magenta) >= 100 * 100
                        }
                    }
                    try await full.eventually("the texts are below the image") {
                        guard let first = try await full.placeOfImage(), let second = try await short.placeOfImage()
                        else { return false }
                        return first.top == second.top && first.bottom > second.bottom + 20
                    }
                    // The buttons have the same distance from the end of both windows.
                    for shown in [full, short] {
                        try await shown.eventually("the action") {
                            try await shown.click(.accept)
                            return shown.events.first == .action("accept", text: nil, values: [:])
                        }
                    }
                }
            }
        }

        @Test func `a click on a card that is not interactive reports nothing, and its actions do (X-61)`()
            async throws
        {
            try await ShownCard.with { shown in
                func card(_ button: String, isInteractive: Bool) -> NotificationCard {
                    var card = NotificationCard(
                        title: button,
                        elements: [.image(attachment: "map"), .button(button, title: "More")]
                    )
                    card.isInteractive = isInteractive
                    return card
                }
                try shown.send(.open(shown.content))
                try shown.send(.card(card("live", isInteractive: true)))
                try await shown.eventually("the button reports the click") {
                    try await shown.clickBelowImage()
                    return shown.events.first == .changed("live", values: [:])
                }
                try shown.send(.card(card("still", isInteractive: false)))
                try await shown.window("still")
                let action = CardWindowEvent.action("accept", text: nil, values: [:])
                // More than once: the first click may come before the card has its place.
                try await shown.eventually("the actions") {
                    try await shown.clickBelowImage()
                    try await shown.click(.accept)
                    return shown.events.count { $0 == action } >= 3
                }
                #expect(!shown.events.contains(.changed("still", values: [:])), "\(shown.events)")
            }
        }

        @Test func `a field has the whole text of 4096 bytes that an extension sets (N-28)`() async throws {
            // 2048 characters of two bytes.
            let text = String(repeating: "é", count: 2048)
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                try shown.send(.card(NotificationCard(title: "Name", elements: [.textField("name", text: text)])))
                try await shown.window("Name")
                let action = CardWindowEvent.action("accept", text: nil, values: ["name": .string(text)])
                try await shown.eventually("the action") {
                    try await shown.click(.accept)
                    return shown.events.last == action
                }
            }
        }

        @Test func `what the user adds to a field beyond 4096 bytes is left out, by whole characters (N-28)`()
            async throws
        {
            // 4095 bytes.
            let text = "a" + String(repeating: "é", count: 2047)
            func card(_ title: String, _ text: String) -> NotificationCard {
                NotificationCard(title: title, elements: [.textField("name", text: text, focusOnAction: "accept")])
            }
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                try shown.send(.card(card("Empty", "")))
                try await shown.window("Empty")
                // The action moves the focus to the empty field.
                try await shown.eventually("the focus is in the field") {
                    try await shown.click(.accept)
                    try await shown.press("key", "Return")
                    return shown.events.contains(.changed("name", values: ["name": ""]))
                }
                try shown.send(.card(card("Full", text)))
                try await shown.window("Full")
                for key in ["End", "eacute", "x", "y", "Return"] { try await shown.press("key", key) }
                try await shown.eventually("the text has the character of one byte, and nothing after it") {
                    shown.events.last == .changed("name", values: ["name": .string(text + "x")])
                }
            }
        }

        @Test func `a slider that the user moves has the values of its step (N-28)`() async throws {
            let slider = NotificationCardElement.slider("size", value: 0.5, in: 0.5...9, step: 1)
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                let field = NotificationCardElement.textField("name", focusOnAction: "accept")
                try shown.send(.card(NotificationCard(elements: [.image(attachment: "map"), slider, field])))
                try await shown.eventually("the image") { try shown.desktop.pixels(Desktop.magenta) >= 100 * 100 }
                // The action moves the focus to the field, and the slider comes before it.
                try await shown.click(.accept)
                try await shown.press("key", "shift+Tab")
                // GTK would round to whole numbers, and the end of the range is not a value of the step.
                for (key, value) in [("Right", 1.5), ("End", 8.5), ("Left", 7.5), ("Home", 0.5)] {
                    try await shown.press("key", key)
                    try await shown.eventually("the value \(value)") {
                        shown.events.last == .changed("size", values: ["size": .double(value), "name": ""])
                    }
                }
            }
        }

        @Test func `a button, a switch and a slider that the user moves report the values (N-28)`() async throws {
            func card(_ title: String, guests: Double) -> NotificationCard {
                NotificationCard(
                    title: title,
                    elements: [
                        .image(attachment: "map"), .progress(0.5, label: "Places"),
                        .button("more", title: "More"),
                        .slider("guests", label: "Guests", value: guests, in: 1...8, step: 1),
                        .toggle("parking", label: "Parking"), .textField("name", focusOnAction: "accept"),
                    ]
                )
            }
            try await ShownCard.with { shown in
                var content = shown.content
                content.body = ""
                try shown.send(.open(content))
                try shown.send(.card(card("Guests", guests: 2)))
                try await shown.eventually("the image") { try shown.desktop.pixels(Desktop.magenta) >= 100 * 100 }
                // The action moves the focus to the field, and the other controls come before it.
                try await shown.click(.accept)
                try await shown.press("key", "shift+Tab")
                try await shown.press("key", "space")
                let parking: ValueSet = ["guests": 2.0, "parking": true, "name": ""]
                try await shown.eventually("the switch") { shown.events == [.changed("parking", values: parking)] }
                try await shown.press("key", "shift+Tab")
                try await shown.press("key", "Right")
                let guests: ValueSet = ["guests": 3.0, "parking": true, "name": ""]
                try await shown.eventually("the slider") { shown.events.last == .changed("guests", values: guests) }
                try await shown.press("key", "shift+Tab")
                try await shown.press("key", "space")
                try await shown.eventually("the button") { shown.events.last == .changed("more", values: guests) }
                // What the extension moves is no change by the user, and counts.
                try shown.send(.card(card("More guests", guests: 5)))
                try await shown.window("More guests")
                let all: ValueSet = ["guests": 5.0, "parking": true, "name": ""]
                try await shown.eventually("the action") {
                    try await shown.click(.accept)
                    return shown.events.last == .action("accept", text: nil, values: all)
                }
                #expect(shown.events.count { if case .changed = $0 { true } else { false } } == 3)
            }
        }
    }
}
