// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing
import UserNotificationsUI
import ValueSets

extension DesktopTests {
    /// The custom views of notifications, with GTK on a screen.
    @Suite struct Cards {
        private static let card = NotificationCard(elements: [
            .text("Who comes?", style: .heading), .image(attachment: "map", description: "The way"),
            .toggle("parking", label: "Parking"), .textField("name", focusOnAction: "accept"),
        ])

        @Test func `a card is a window with its elements, the texts and the actions (N-28, N-31, N-41, N-56)`()
            async throws
        {
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                try await shown.window("Summer party")
                #expect(try shown.desktop.pixels(Desktop.magenta) == 0)
                try shown.send(.card(Self.card))
                try await shown.eventually("the image") { try shown.desktop.pixels(Desktop.magenta) >= 100 * 100 }
                // The first action moves the focus to the field. Enter in a field is a change of the card.
                try await shown.click(.accept)
                try await shown.press("type", "Ada")
                try await shown.press("key", "Return")
                let values: ValueSet = ["parking": false, "name": "Ada"]
                try await shown.eventually("the change") { shown.events == [.changed("name", values: values)] }
                // The second time, the action is reported with what was typed.
                try await shown.click(.accept)
                try await shown.eventually("the action") {
                    shown.events.last == .action("accept", text: nil, values: values)
                }
                // The window is closed with Escape.
                try await shown.press("key", "Escape")
                #expect(try await shown.program.exit(within: .seconds(60)) == 0)
                #expect(shown.events.last == .closed)
            }
        }

        @Test func `a busy card takes no action, and what cannot be shown leaves what is there (N-44, N-45)`()
            async throws
        {
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                try await shown.window("Summer party")
                try shown.send(.card(Self.card))
                try await shown.eventually("the image") { try shown.desktop.pixels(Desktop.magenta) > 0 }
                shown.program.write(#"{"Card":{"Elements":[{"Type":"Video"}]}}"#)
                shown.program.write("no JSON")
                try shown.send(.busy(true))
                try shown.send(.card(NotificationCard(title: "Thanks", elements: [.text("Thanks")])))
                try await shown.window("Thanks")
                try await shown.eventually("the card is replaced") { try shown.desktop.pixels(Desktop.magenta) == 0 }
                try await shown.click(.decline)
                try shown.send(.busy(false))
                try await shown.eventually("the action") {
                    try await shown.click(.decline)
                    return !shown.events.isEmpty
                }
                #expect(shown.events.allSatisfy { $0 == .action("decline", text: nil, values: [:]) })
                try shown.send(.close)
                #expect(try await shown.program.exit(within: .seconds(60)) == 0)
            }
        }

        @Test func `controls that stay keep what the user has entered when the layout changes`() async throws {
            try await ShownCard.with { shown in
                try shown.send(.open(shown.content))
                try await shown.window("Summer party")
                let field = NotificationCardElement.textField("name", focusOnAction: "accept")
                try shown.send(.card(NotificationCard(elements: [.text("Who comes?"), field])))
                try await shown.eventually("the focus is in the field") {
                    try await shown.click(.accept)
                    try await shown.press("type", "A")
                    try await shown.press("key", "Return")
                    return shown.events.contains { if case .changed = $0 { true } else { false } }
                }
                for count in 2...20 {
                    let texts = (1...(1 + count % 3)).map { NotificationCardElement.text("Line \($0)") }
                    try shown.send(.card(NotificationCard(title: "Card \(count)", elements: texts + [field])))
                }
                try await shown.window("Card 20")
                // On a slow machine the user has chosen the other action meanwhile.
                func names(_ isDecline: Bool) -> [String] {
                    shown.events.compactMap { event in
                        switch event {
                        case .action("decline", _, let values): isDecline ? values["name"]?.string : nil
                        case .action(_, _, let values), .changed(_, let values):
                            isDecline ? nil : values["name"]?.string
                        default: nil
                        }
                    }
                }
                try await shown.eventually("the action") {
                    try await shown.click(.decline)
                    return !names(true).isEmpty
                }
                let kept = names(true).first
                #expect(kept == names(false).last && kept?.isEmpty == false, "\(shown.events)")
                #expect(shown.program.exitCode == nil)
            }
        }

        @Test func `a view higher than the screen scrolls, and its actions and sender stay visible (N-28)`()
            async throws
        {
            try await ShownCard.with { shown in
                var content = shown.content
                content.body = Array(repeating: "Bring friends", count: 40).joined(separator: "\n")
                try shown.send(.open(content))
                try await shown.window("Summer party")
                let lines = (1...32).map { NotificationCardElement.text("Line \($0)") }
                let sizes = [nil, NotificationCard.Size(width: 400, height: 1000)]
                for (number, size) in sizes.enumerated() {
                    let title = "Long \(number)"
                    try shown.send(.card(NotificationCard(title: title, elements: lines, preferredSize: size)))
                    try await shown.window(title)
                    // The screen has 800, of which a title bar and panels may need some.
                    try await shown.eventually("it has the height of the screen") {
                        try await shown.geometry()?.height == 700
                    }
                    let count = shown.events.count
                    try await shown.eventually("the action") {
                        try await shown.click(.decline)
                        return shown.events.count > count
                    }
                }
                #expect(shown.events.allSatisfy { $0 == .action("decline", text: nil, values: [:]) })
            }
        }

        @Test func `without a display the program says so, and a user learns what it is for`() async throws {
            try await Desktop.with { desktop in
                let program = try ChildProcess(
                    [try builtProgram("remotesystems-card")],
                    environment: desktop.environment,
                    readsErrors: true
                )
                #expect(try await program.exit(within: .seconds(60)) == 69)
                #expect(try await program.allLines().joined().contains("DISPLAY"))
                let help = try ChildProcess(
                    [try builtProgram("remotesystems-card"), "--help"],
                    environment: desktop.environment,
                    readsErrors: true
                )
                #expect(try await help.exit(within: .seconds(60)) == 64)
                #expect(try await help.allLines().joined().contains("host daemon"))
            }
        }

        @Test(arguments: [false, true])
        func `an invitation opens with its image, and its extension forwards the answer (N-13, N-27, N-40, N-41, N-47)`(
            withCommand: Bool
        ) async throws {
            try await QuestionDesktops.with { desktops in
                let calendar = desktops.second.desktop
                try Self.installCalendar(on: calendar)
                let image = "\(desktops.first.desktop.directory)/map.png"
                try await Desktop.image(200, to: image)
                // The daemon looks for applications every two seconds.
                try await desktops.eventually("the application is found") {
                    try await desktops.second.command("list", "--json").contains("com.example.calendar")
                }
                let asking = try desktops.ask(
                    "--all",
                    "--title",
                    "Summer party",
                    "--category",
                    "event-invite",
                    "--application",
                    "com.example.calendar",
                    "--action",
                    "accept=Accept",
                    "--action",
                    "decline=Decline",
                    "--attach",
                    image,
                    "--wait",
                    "--search-time",
                    "60"
                )
                try await desktops.second.shows(1)
                let key = try await desktops.second.listedKey()
                let window = try await eventually("the view", within: .seconds(60), every: .milliseconds(200)) {
                    if withCommand {
                        _ = try await desktops.second.command("notifications", "open", key)
                    } else {
                        // The server chooses the first button: the view.
                        try await desktops.second.control("context")
                    }
                    return try await ShownCard.find("Party for Ada", desktops.second.environment)
                }
                // The notification has left the screen, and with it its image.
                try await desktops.second.shows(0)
                try await desktops.eventually("the card with the image") {
                    try calendar.pixels(Desktop.magenta) >= 200 * 200
                }
                try await desktops.eventually("the answer") {
                    try await ShownCard.click(.accept, in: window, desktops.second.environment)
                    return asking.exitCode != nil
                }
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().contains("accept"))
                try await desktops.eventually("the window is closed") {
                    try await ShownCard.find("Party for Ada", desktops.second.environment) == nil
                }
                #expect(try await desktops.second.command("notifications", "list").contains("party") == false)
            }
        }

        private static func installCalendar(on desktop: Desktop) throws {
            let program = "\(desktop.directory)/calendar-card"
            let text = """
                #!/usr/bin/python3
                import json, sys

                def write(**reply):
                    print(json.dumps(reply), flush=True)

                for line in sys.stdin:
                    message = json.loads(line)
                    if "Notification" in message:
                        notification = message["Notification"]
                        with open(notification["Files"]["map.png"], "rb") as file:
                            name = "Ada" if file.read(4)[1:] == b"PNG" else "a file that is no image"
                        text = {"Type": "Text", "Text": notification["Content"]["Title"]}
                        image = {"Type": "Image", "Attachment": "map.png"}
                        write(Card={"Title": f"Party for {name}", "Elements": [text, image]})
                    elif "Response" in message:
                        thanks = {"Elements": [{"Type": "Text", "Text": "Thank you"}]}
                        write(Card=thanks, Option="DismissAndForwardAction")

                """
            try writeProgram(text, to: program)
            try FileManager.default.createDirectory(
                atPath: "\(desktop.directory)/data/remote-systems/applications",
                withIntermediateDirectories: true
            )
            try desktop.write(
                """
                {"id": "com.example.calendar", "start": {"exec": ["/bin/true"]},
                 "notificationContentExtensions": [
                   {"exec": ["\(program)"], "categories": "event-invite", "initialContentSizeRatio": 0.75}
                 ]}
                """,
                to: "data/remote-systems/applications/com.example.calendar.json"
            )
        }
    }
}
