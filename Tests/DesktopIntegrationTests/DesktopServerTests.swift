// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications on the servers of large desktops, which `desktop_server.py` is.
    @Suite struct DesktopServers {
        private static let question = [
            "--title", "Deploy?", "--category", "question", "--action", "yes=Deploy", "--text-action", "why=Comment",
        ]

        private static func with(_ kind: String, _ body: (OneDesktop) async throws -> Void) async throws {
            try await OneDesktop.with(server: kind, script: "desktop_server", body)
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a question has what the server shows, and a button answers it (N-11, X-71, X-72, X-73, X-74, X-77)`(
            kind: String
        ) async throws {
            try await Self.with(kind) { desktop in
                let asking = try desktop.ask(Self.question + ["--body", "<b>Build</b> & test", "--wait"])
                let call = try await desktop.notified()
                #expect(call.contains(#""body": "&lt;b&gt;Build&lt;/b&gt; &amp; test"#), "\(call)")
                #expect(call.contains(#""desktop-entry": "remote-systems.command.notify""#))
                // It stays until it is answered, and in the server's list.
                #expect(call.contains(#""resident": 1"#) && call.contains(#""timeout": 0"#))
                #expect(!call.contains("transient"))
                #expect(call.contains("inline-reply") == (kind == "plasma"))
                #expect(call.contains(#""x-kde-reply-submit-button-text": "Send""#) == (kind == "plasma"))
                #expect(call.contains("x-kde-reply-placeholder-text") == (kind == "plasma"))
                #expect(call.contains("Respond with: remotesystems notifications answer") == (kind == "gnome"))
                try await desktop.eventually("a click") { try await desktop.user("Choose", "Deploy?", "yes") }
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().last == "yes")
                try await desktop.eventually("it is closed") { try await desktop.titles().isEmpty }
                // The server keeps it after an action, so the daemon has closed it.
                try await desktop.eventually("the daemon has closed it") {
                    desktop.server.lines.contains { $0.contains(#"{"close": 1}"#) }
                }
                #expect(desktop.server.lines.count { $0.contains(#""notify": "Deploy?""#) } == 1)
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a click on the notification brings the token of its window (X-59, X-75)`(kind: String) async throws {
            try await Self.with(kind) { desktop in
                let asking = try desktop.ask(["--title", "Deploy?", "--wait", "--json"])
                try await desktop.eventually("a click") { try await desktop.user("Choose", "Deploy?", "default") }
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                let answer = try await asking.allLines().last { $0.contains(#""event":"answer""#) } ?? ""
                #expect(answer.contains(#""action":"default""#), "\(answer)")
                #expect(answer.contains(#""activationToken":"token-of-the-click""#), "\(answer)")
            }
        }

        @Test func `a text is entered on Plasma's server (N-12, X-77)`() async throws {
            try await Self.with("plasma") { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                try await desktop.eventually("a text") { try await desktop.user("Reply", "Deploy?", "Because") }
                #expect(try await asking.exit(within: .seconds(60)) == 0)
                #expect(try await asking.allLines().suffix(2) == ["why", "Because"])
                try await desktop.eventually("it is closed") { try await desktop.titles().isEmpty }
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a dismissal is reported, and a notification whose time is over stays in the list (N-43, X-75)`(
            kind: String
        ) async throws {
            try await Self.with(kind) { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                try await desktop.eventually("a dismissal") { try await desktop.user("Dismiss", "Deploy?") }
                #expect(try await asking.exit(within: .seconds(60)) == 1)
                let second = try desktop.ask(["--title", "Tea", "--wait"])
                try await desktop.eventually("its time is over") { try await desktop.user("Expire", "Tea") }
                let key = try await desktop.listedKey(of: "Tea")
                #expect(second.exitCode == nil)
                _ = try await desktop.system.command("notifications", "answer", key, "default")
                #expect(try await second.exit(within: .seconds(60)) == 0)
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a notification replaces the earlier one in its place (X-55)`(kind: String) async throws {
            try await Self.with(kind) { desktop in
                for title in ["First", "Second"] {
                    let sending = try desktop.ask(["--title", title, "--id", "one"])
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                }
                #expect(try await desktop.notified("Second").contains(#""replaces": 1"#))
                #expect(try await desktop.titles() == ["Second"])
            }
        }

        @Test func `what GNOME shows no longer, because it shows three of a program, stays in the list (X-82)`()
            async throws
        {
            try await Self.with("gnome") { desktop in
                for title in ["First", "Second", "Third", "Fourth"] {
                    let sending = try desktop.ask(["--title", title])
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                }
                #expect(try await desktop.titles() == ["Second", "Third", "Fourth"])
                _ = try await desktop.listedKey(of: "First")
                #expect(desktop.server.lines.count { $0.contains(#""notify": "First""#) } == 1)
            }
        }

        @Test func `two equal notifications, of which Plasma refuses the second at first, are both shown (X-82)`()
            async throws
        {
            try await Self.with("plasma") { desktop in
                for _ in 1...2 {
                    let sending = try desktop.ask(["--title", "Tea"])
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                }
                try await desktop.eventually("both") { try await desktop.titles() == ["Tea", "Tea"] }
                // The first, the refused one and the second.
                #expect(desktop.server.lines.count { $0.contains(#""notify": "Tea""#) } == 3)
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a notification survives its server, and is answered on the next one (N-07)`(kind: String) async throws {
            try await Self.with(kind) { desktop in
                let asking = try desktop.ask(Self.question + ["--wait"])
                _ = try await desktop.notified()
                await desktop.server.stop()
                try await OneDesktop.withScript("desktop_server", [kind], desktop.system.environment) { next in
                    try await desktop.eventually("a click") { try await desktop.user("Choose", "Deploy?", "yes") }
                    #expect(try await asking.exit(within: .seconds(60)) == 0)
                    #expect(try await asking.allLines().last == "yes")
                    #expect(next.lines.count { $0.contains(#""notify": "Deploy?""#) } == 1)
                    // A number of the first server is not used.
                    #expect(next.lines.contains { $0.contains(#""replaces": 0"#) })
                }
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `what a killed daemon has shown is shown once by the next one (N-07)`(kind: String) async throws {
            try await Self.with(kind) { desktop in
                _ = try await desktop.system.command("notifications", "schedule", "--in", "0.2", "--title", "Tea")
                try await desktop.eventually("it is shown") { try await desktop.titles() == ["Tea"] }
                try await desktop.eventually("its place is stored") {
                    try await desktop.system.storedKeys("place").count == 1
                }
                let daemon = try await desktop.system.restart(desktop.daemon)
                try await desktop.eventually("the user dismisses that of the next daemon") {
                    let calls = desktop.server.lines.count { $0.contains(#""notify": "Tea""#) }
                    if calls > 1, try await desktop.titles() == ["Tea"] {
                        _ = try await desktop.user("Dismiss", "Tea")
                    }
                    return try await !desktop.system.command("notifications", "list").contains("Tea")
                }
                #expect(try await desktop.titles().isEmpty)
                await daemon.stop()
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `a sound goes by its name to a server that plays sounds, and silence is asked for (N-05, X-74)`(
            kind: String
        ) async throws {
            try await Self.with(kind) { desktop in
                let loud = try desktop.ask(["--title", "Loud", "--sound", "default"])
                #expect(try await loud.exit(within: .seconds(60)) == 0)
                let call = try await desktop.notified("Loud")
                #expect(call.contains(#""sound-name": "message-new-instant""#) == (kind == "gnome"), "\(call)")
                #expect(!call.contains("suppress-sound"))
                let silent = try desktop.ask(["--title", "Silent"])
                #expect(try await silent.exit(within: .seconds(60)) == 0)
                #expect(try await desktop.notified("Silent").contains(#""suppress-sound": 1"#))
            }
        }

        @Test func `a sound file of an installed application is passed to GNOME's server (N-05, X-74)`() async throws {
            try await Self.with("gnome") { desktop in
                let directory = desktop.system.desktop.directory
                for path in ["sounds", "data/remote-systems/applications"] {
                    try FileManager.default.createDirectory(
                        atPath: "\(directory)/\(path)",
                        withIntermediateDirectories: true
                    )
                }
                let sound = "\(directory)/sounds/chime.oga"
                try Data("OggS and a sound".utf8).write(to: URL(filePath: sound))
                try desktop.system.desktop.write(
                    """
                    {"id": "com.example.player", "start": {"exec": ["/bin/true"]},
                     "notificationSounds": "\(directory)/sounds"}
                    """,
                    to: "data/remote-systems/applications/com.example.player.json"
                )
                // The daemon reads the manifest within two seconds.
                try await desktop.eventually("the file") {
                    let sending = try desktop.ask(
                        ["--title", "Tea", "--id", "tea", "--application", "com.example.player"]
                            + ["--sound", "chime.oga"]
                    )
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                    return desktop.server.lines.last { $0.contains("Tea") }?.contains(#""sound-file": "\#(sound)""#)
                        ?? false
                }
            }
        }

        @Test(arguments: ["gnome", "plasma"])
        func `an image is passed as the address of a scaled file (N-14, N-25, X-74)`(kind: String) async throws {
            try await Self.with(kind) { desktop in
                let path = "\(desktop.system.desktop.directory)/the garden.png"
                try await Desktop.image(300, to: path)
                let sending = try desktop.ask(["--title", "The party", "--attach", path])
                #expect(try await sending.exit(within: .seconds(60)) == 0)
                let call = try await desktop.notified("The party")
                let address = call.firstMatch(of: /"image-path": "([^"]*)"/).flatMap { URL(string: "\($0.output.1)") }
                let image = try #require(address)
                #expect(image.isFileURL && image.path != path)
                let bytes = FileManager.default.contents(atPath: image.path) ?? Data()
                #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
            }
        }

        @Test func `doctor names the servers, their versions, and what they lack (X-70)`() async throws {
            for (kind, text) in [
                ("gnome", "gnome-shell 46.0 (specification 1.2) shows notifications. It has no text fields."),
                ("plasma", "Plasma 5.27.5 (specification 1.2) shows notifications."),
            ] {
                try await Self.with(kind) { desktop in
                    let finding = try await desktop.doctor()
                    #expect(finding.contains(text), "\(finding)")
                }
            }
        }

        @Test func `doctor warns that the user does not want to be disturbed`() async throws {
            try await Self.with("plasma") { desktop in
                #expect(try await desktop.user("Inhibit", "on"))
                let quiet = try await desktop.doctor()
                #expect(quiet.contains("Plasma does not disturb the user now"), "\(quiet)")
                #expect(quiet.contains(#""status":"warning""#))
                #expect(try await desktop.user("Inhibit", "off"))
                let usual = try await desktop.doctor()
                #expect(usual.contains(#""status":"ok""#), "\(usual)")
            }
        }

        @Test func `doctor warns that all notifications are denied, and counts the senders that are (X-56)`()
            async throws
        {
            try await Self.with("gnome") { desktop in
                let system = desktop.system
                _ = try await system.command("notifications", "permit", "denied")
                let denied = try await desktop.doctor()
                #expect(denied.contains("All notifications are denied"), "\(denied)")
                #expect(denied.contains(#""status":"warning""#))
                _ = try await system.command("notifications", "permit", "allowed")
                _ = try await system.command("notifications", "permit", "denied", "--application", "com.example.noise")
                let one = try await desktop.doctor()
                #expect(one.contains("shows notifications") && one.contains("One sender is denied"), "\(one)")
                #expect(one.contains(#""status":"ok""#))
            }
        }
    }
}

extension OneDesktop {
    /// Lets the user of `desktop_server.py` do something with a notification.
    ///
    /// - Returns: whether the notification is shown, and has what is used.
    func user(_ method: String, _ texts: String...) async throws -> Bool {
        let calling = try self.calling(method, texts)
        return try await calling.exit(within: .seconds(60)) == 0
    }

    /// The titles that `desktop_server.py` shows, the oldest first.
    func titles() async throws -> [String] {
        let calling = try self.calling("Titles", [])
        _ = try await calling.exit(within: .seconds(60))
        return try await calling.allLines().compactMap { line in
            line.firstMatch(of: /^ +string "(.*)"$/).map { String($0.output.1) }
        }
    }

    private func calling(_ method: String, _ texts: [String]) throws -> ChildProcess {
        try self.system.start(
            [
                "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.Notifications",
                "/org/freedesktop/Notifications", "org.remotesystems.TestUser.\(method)",
            ] + texts.map { "string:\($0)" }
        )
    }
}
