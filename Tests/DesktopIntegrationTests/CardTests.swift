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
        func `the user opens an invitation, and its extension shows and forwards the answer (N-13, N-27, N-47)`(
            withCommand: Bool
        ) async throws {
            try await TwoDesktops.with { desktops in
                try Self.installCalendar(on: desktops.second)
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

        private static func installCalendar(on desktop: QuestionDesktop) throws {
            let program = "\(desktop.desktop.directory)/calendar-card"
            let text = """
                #!/usr/bin/python3
                import json, sys

                def write(**reply):
                    print(json.dumps(reply), flush=True)

                for line in sys.stdin:
                    message = json.loads(line)
                    if "Notification" in message:
                        title = message["Notification"]["Content"]["Title"]
                        write(Card={"Title": "Party for Ada", "Elements": [{"Type": "Text", "Text": title}]})
                    elif "Response" in message:
                        thanks = {"Elements": [{"Type": "Text", "Text": "Thank you"}]}
                        write(Card=thanks, Option="DismissAndForwardAction")

                """
            try writeProgram(text, to: program)
            try FileManager.default.createDirectory(
                atPath: "\(desktop.desktop.directory)/data/remote-systems/applications",
                withIntermediateDirectories: true
            )
            try desktop.desktop.write(
                """
                {"id": "com.example.calendar", "start": {"exec": ["/bin/true"]},
                 "notificationContentExtensions": [{"exec": ["\(program)"], "categories": "event-invite"}]}
                """,
                to: "data/remote-systems/applications/com.example.calendar.json"
            )
        }
    }
}

/// The program that shows a card, on a screen of its own.
private struct ShownCard {
    enum Button: Int {
        case accept = 100
        case decline = 300
    }

    let desktop: Desktop
    let environment: [String: String]
    let program: ChildProcess

    static func with(_ body: (ShownCard) async throws -> Void) async throws {
        try await Desktop.with { desktop in
            try await Desktop.image(100, to: Self.image(desktop))
            try await desktop.withScreen(startingServer: { _ in [] }) { environment in
                let program = try ChildProcess(
                    [try builtProgram("remotesystems-card")],
                    // What was freed has other bytes, and a use of it ends the program.
                    environment: environment.merging(
                        ["GTK_A11Y": "none", "G_DEBUG": "fatal-criticals", "MALLOC_PERTURB_": "165"]
                    ) { $1 },
                    readsErrors: true
                )
                do {
                    try await body(ShownCard(desktop: desktop, environment: environment, program: program))
                } catch {
                    await program.stop()
                    throw IntegrationError("\(error); written: \(program.lines)")
                }
                await program.stop()
            }
        }
    }

    private static func image(_ desktop: Desktop) -> String { "\(desktop.directory)/map.png" }

    var content: CardWindowContent {
        CardWindowContent(
            title: "Summer party",
            body: "Bring <b>friends</b>",
            sender: "Calendar · kitchen",
            actions: [
                CardWindowAction(identifier: "accept", title: "Accept"),
                CardWindowAction(identifier: "decline", title: "Decline"),
            ],
            images: ["map": Self.image(self.desktop)]
        )
    }

    func send(_ command: CardWindowCommand) throws { self.program.write(try command.valueSet.json()) }

    var events: [CardWindowEvent] {
        self.program.lines.compactMap { line in
            (try? ValueSet(json: line)).flatMap { try? CardWindowEvent($0) }
        }
    }

    func window(_ title: String) async throws {
        try await self.eventually("the window \(title)") { try await Self.find(title, self.environment) != nil }
    }

    func click(_ button: Button) async throws {
        guard let window = try await Self.find(".", self.environment) else { throw IntegrationError("no window") }
        try await Self.click(button, in: window, self.environment)
    }

    func press(_ arguments: String...) async throws {
        _ = try await Self.run(["xdotool"] + arguments, self.environment)
    }

    func eventually(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        _ = try await IntegrationSupport.eventually(what, within: .seconds(60), every: .milliseconds(100)) {
            try await isTrue() ? true : nil
        }
    }

    // MARK: The screen

    static func find(_ title: String, _ environment: [String: String]) async throws -> String? {
        try await Self.run(["xdotool", "search", "--onlyvisible", "--name", title], environment)
            .split(separator: "\n").first.map(String.init)
    }

    /// Clicks on one of two buttons above the sender's line.
    static func click(_ button: Button, in window: String, _ environment: [String: String]) async throws {
        let geometry = try await Self.run(["xdotool", "getwindowgeometry", "--shell", window], environment)
        guard let height = geometry.firstMatch(of: /HEIGHT=([0-9]+)/).flatMap({ Int($0.output.1) }) else { return }
        // The window may have ended meanwhile.
        let point = ["\(button.rawValue)", "\(height - 62)"]
        _ = try await Self.run(["xdotool", "mousemove", "--window", window] + point + ["click", "1"], environment)
    }

    private static func run(_ arguments: [String], _ environment: [String: String]) async throws -> String {
        let process = try ChildProcess(arguments, environment: environment)
        _ = try await process.exit(within: .seconds(60))
        return try await process.allLines().joined(separator: "\n")
    }
}
