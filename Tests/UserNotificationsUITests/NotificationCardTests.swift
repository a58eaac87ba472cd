// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Testing
import ValueSets

@testable import UserNotificationsUI

/// Cards as values.
@Suite struct NotificationCardTests {
    private static let all = NotificationCard(
        title: "Party",
        elements: [
            .text("Summer party", style: .heading),
            .text("At the lake"),
            .image(attachment: "map", description: "The way"),
            .progress(0.25, label: "Guests"),
            .progress(nil),
            .button("more", title: "More", isDestructive: true),
            .slider("guests", label: "Guests", value: 2, in: 1...8, step: 1),
            .slider("tip", value: 0.5),
            .toggle("parking", label: "Parking", isOn: true),
            .textField("comment", placeholder: "Comment", text: "so far", focusOnAction: "accept"),
        ],
        preferredSize: NotificationCard.Size(width: 400, height: 300)
    )

    @Test func `every element goes through JSON unchanged (N-04, N-28, N-31, N-39)`() throws {
        try Self.all.validate()
        let json = try Self.all.valueSet.json()
        #expect(try NotificationCard(ValueSet(json: json)) == Self.all)
        var still = NotificationCard(elements: [])
        still.isInteractive = false
        #expect(try NotificationCard(ValueSet(json: still.valueSet.json())) == still)
        #expect(Self.all.elements.compactMap(\.identifier) == ["more", "guests", "tip", "parking", "comment"])
    }

    @Test func `a card of another language may leave out what has a default, and write 1 for 1.0 (N-32)`() throws {
        let json = #"""
            {"Elements":[{"Type":"Slider","Id":"s","Max":10},{"Type":"Switch","Id":"w"},{"Type":"TextField","Id":"t"},
            {"Type":"Progress","Fraction":1},{"Type":"Text","Text":"x","Later":7}],"Later":true}
            """#
        let card = try NotificationCard(ValueSet(json: json))
        #expect(
            card.elements == [
                .slider("s", value: 0, in: 0...10), .toggle("w"), .textField("t"), .progress(1), .text("x"),
            ]
        )
        #expect(card.title == nil && card.preferredSize == nil && card.isInteractive)
    }

    @Test(arguments: [
        ("{}", "Elements"),
        (#"{"Elements":[7]}"#, "Elements[0]"),
        (#"{"Elements":[{}]}"#, "Elements[0].Type"),
        (#"{"Elements":[{"Type":"Video"}]}"#, "Elements[0].Type"),
        (#"{"Elements":[{"Type":"Text"}]}"#, "Elements[0].Text"),
        (#"{"Elements":[{"Type":"Text","Text":"x","Style":"large"}]}"#, "Elements[0].Style"),
        (#"{"Elements":[{"Type":"Button","Id":"","Title":"x"}]}"#, "Elements[0].Id"),
        (#"{"Elements":[{"Type":"Button","Id":"a","Title":""}]}"#, "Elements[0].Title"),
        (#"{"Elements":[{"Type":"Progress","Fraction":1.5}]}"#, "Elements[0].Fraction"),
        (#"{"Elements":[{"Type":"Slider","Id":"a","Min":1,"Max":1}]}"#, "Elements[0].Max"),
        (
            #"{"Elements":[{"Type":"Slider","Id":"a","Min":{"$double":-1.7e308},"Max":{"$double":1.7e308}}]}"#,
            "Elements[0].Max"
        ),
        (#"{"Elements":[{"Type":"Slider","Id":"a","Value":2}]}"#, "Elements[0].Value"),
        (#"{"Elements":[{"Type":"Slider","Id":"a","Step":0}]}"#, "Elements[0].Step"),
        (#"{"Elements":[{"Type":"Switch","Id":"a","On":1}]}"#, "Elements[0].On"),
        (#"{"Elements":[{"Type":"Switch","Id":"a"},{"Type":"TextField","Id":"a"}]}"#, "Elements[1].Id"),
        (#"{"Elements":[],"PreferredSize":{"Width":100,"Height":100}}"#, "PreferredSize.Width"),
        (#"{"Elements":[],"PreferredSize":{"Width":300}}"#, "PreferredSize.Height"),
    ])
    func `what is not valid is an error that names the field`(json: String, field: String) throws {
        let set = try ValueSet(json: json)
        let error = #expect(throws: NotificationCardError.self) { try NotificationCard(set) }
        #expect(error?.field == field, "\(String(describing: error))")
    }

    @Test func `texts, identifiers and the number of elements are limited`() throws {
        func isValid(_ elements: [NotificationCardElement]) -> Bool {
            (try? NotificationCard(elements: elements).validate()) != nil
        }
        #expect(isValid([.text(String(repeating: "x", count: 4096))]))
        #expect(!isValid([.text(String(repeating: "x", count: 4097))]) && !isValid([.text("a\0b")]))
        #expect(isValid([.toggle(String(repeating: "x", count: 128))]))
        #expect(!isValid([.toggle(String(repeating: "x", count: 129))]))
        #expect(!isValid([.toggle("a", label: String(repeating: "x", count: 513))]))
        #expect(!isValid([.slider("a", value: .nan)]))
        #expect(isValid((0..<32).map { .toggle("\($0)") }) && !isValid((0..<33).map { .toggle("\($0)") }))
    }

    private static let sliders: [(SliderSteps, Int, [Double: Double])] = [
        (SliderSteps(in: 0...1, step: 0.25), 2, [0.3: 0.25, 0.7: 0.75, 1: 1]),
        (SliderSteps(in: 0...10, step: 2.5), 1, [3: 2.5, 6.3: 7.5]),
        (SliderSteps(in: 0...100, step: 5), 0, [3: 5, 2: 0, 100: 100]),
        (SliderSteps(in: 0.5...9, step: 1), 1, [0.5: 0.5, 3: 3.5, 9: 8.5]),
        (SliderSteps(in: -1...1, step: 0.75), 2, [-0.9: -1, -0.4: -0.25, 1: 0.5]),
        (SliderSteps(in: 0...1, step: 0.1), 1, [0.31: 0.3, 0.68: 0.7]),
        (SliderSteps(in: 0...1, step: 1.0 / 3), 3, [0.333: 1.0 / 3, 0.9: 1]),
        (SliderSteps(in: 1...8, step: nil), 2, [1: 1, 1.1: 1.07, 8: 8]),
        (SliderSteps(in: 0...1e-7, step: 1e-8), 8, [1.4e-8: 1e-8]),
    ]

    @Test(arguments: Self.sliders)
    func `a slider has the values that its step permits, and the decimals to write them`(
        steps: SliderSteps,
        decimals: Int,
        values: [Double: Double]
    ) {
        #expect(steps.decimals == decimals)
        for (value, permitted) in values {
            #expect(steps.nearest(to: value) == permitted)
            #expect(steps.nearest(to: permitted) == permitted)
        }
    }

    @Test func `what the window reads and writes goes through JSON unchanged`() throws {
        let content = CardWindowContent(
            title: "Party",
            subtitle: "s",
            body: "b",
            hidesTexts: true,
            sender: "Calendar · kitchen",
            initialRatio: 0.75,
            actions: [
                CardWindowAction(identifier: "no", title: "Decline", isDestructive: true),
                CardWindowAction(identifier: "say", title: "Comment", textInput: ("A few words", "Send")),
            ],
            images: ["map": "/tmp/map.png"]
        )
        let commands: [CardWindowCommand] = [
            .open(content), .card(Self.all), .actions(content.actions), .busy(true), .busy(false), .close,
        ]
        for command in commands {
            #expect(try CardWindowCommand(ValueSet(json: command.valueSet.json())) == command)
        }
        let events: [CardWindowEvent] = [
            .action("say", text: "hello", values: ["guests": 2.5]), .action("no", text: nil, values: [:]),
            .changed("parking", values: ["parking": true, "comment": "x"]), .closed,
        ]
        for event in events { #expect(try CardWindowEvent(ValueSet(json: event.valueSet.json())) == event) }
        for json in ["{}", #"{"Open":7}"#, #"{"Open":{"InitialRatio":0,"Actions":[]}}"#, #"{"Card":{}}"#] {
            let set = try ValueSet(json: json)
            #expect(throws: NotificationCardError.self) { try CardWindowCommand(set) }
        }
        #expect(throws: NotificationCardError.self) { try CardWindowEvent([:]) }
    }
}
