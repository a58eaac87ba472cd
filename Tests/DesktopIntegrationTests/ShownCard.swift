// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import UserNotificationsUI
import ValueSets

/// The program that shows a card, on a screen of its own.
struct ShownCard {
    enum Button: Int {
        case accept = 100
        case decline = 300
    }

    struct Geometry {
        var y: Int
        var width: Int
        var height: Int
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
                    // What was freed has other bytes, and a use of it ends the program. The MIME types are those of the
                    // machine, so that images are scaled when they are read; other tests of cards have none.
                    environment: environment.merging([
                        "GTK_A11Y": "none", "G_DEBUG": "fatal-criticals", "MALLOC_PERTURB_": "165",
                        "XDG_DATA_DIRS": "/usr/share",
                    ]) { $1 },
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

    /// The place of the window; `nil` before there is one.
    func geometry() async throws -> Geometry? {
        guard let window = try await Self.find(".", self.environment) else { return nil }
        return try await Self.geometry(of: window, self.environment)
    }

    /// The distances of the image from the top and the bottom of the window; `nil` before there is one.
    func placeOfImage() async throws -> (top: Int, bottom: Int)? {
        guard let window = try await self.geometry(), let rows = try self.desktop.rows(of: Desktop.magenta) else {
            return nil
        }
        return (rows.lowerBound - window.y, window.y + window.height - rows.upperBound)
    }

    /// Clicks on the button that is the next element after the image; on nothing before there is one.
    func clickBelowImage() async throws {
        guard let window = try await Self.find(".", self.environment), let geometry = try await self.geometry(),
            let image = try await self.placeOfImage()
        else { return }
        let place = "\(geometry.height - image.bottom + 25)"
        try await self.press("mousemove", "--window", window, "40", place, "click", "1")
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

    /// The place of a window; `nil` if it has ended.
    static func geometry(of window: String, _ environment: [String: String]) async throws -> Geometry? {
        let text = try await Self.run(["xdotool", "getwindowgeometry", "--shell", window], environment)
        func value(_ name: String) -> Int? {
            text.split(separator: "\n").first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        guard let y = value("Y"), let width = value("WIDTH"), let height = value("HEIGHT") else { return nil }
        return Geometry(y: y, width: width, height: height)
    }

    /// Clicks on one of two buttons above the sender's line.
    static func click(_ button: Button, in window: String, _ environment: [String: String]) async throws {
        // The window may have ended meanwhile.
        guard let geometry = try await Self.geometry(of: window, environment) else { return }
        let point = ["\(button.rawValue)", "\(geometry.height - 62)"]
        _ = try await Self.run(["xdotool", "mousemove", "--window", window] + point + ["click", "1"], environment)
    }

    private static func run(_ arguments: [String], _ environment: [String: String]) async throws -> String {
        let process = try ChildProcess(arguments, environment: environment)
        _ = try await process.exit(within: .seconds(60))
        return try await process.allLines().joined(separator: "\n")
    }
}
