// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

/// URIs opened through desktop entries, GIO's look-up, started programs and a message bus, over a real connection.
@Suite(.serialized, .timeLimit(.minutes(2))) struct DesktopTests {}

extension DesktopTests {
    @Suite struct Handlers {
        @Test
        func `a URI opens in the default handler, or in a preferred application for it (R-18, R-25, X-33)`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("org.example.one")
                try desktop.install("org.example.two")
                try desktop.install("org.example.other")
                try desktop.associate("https", "org.example.one", "org.example.two")
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    #expect(opening.schemes == ["https"])
                    let first = try await opening.launch("https://example.com/")
                    #expect(first.status == .success)
                    #expect(first.applicationID == "org.example.one")
                    let one = try await desktop.recorded("org.example.one")
                    #expect(one == ["https://example.com/"])
                    for preferred in ["org.example.two", "org.example.two.desktop"] {
                        let second = try await opening.launch(
                            "https://example.com/",
                            applications: ["org.example.gone", "org.example.other", preferred, "org.example.one"]
                        )
                        #expect(second.applicationID == "org.example.two")
                        _ = try await desktop.recorded("org.example.two")
                        try desktop.forget("org.example.two")
                    }
                    #expect(desktop.record("org.example.other") == nil)
                }
            }
        }

        @Test func `a scheme without a handler is status 3, and the fallback is opened (R-25, X-20)`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("browser")
                try desktop.associate("https", "browser")
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    for uri in ["tel:+49", "player:x"] {
                        let none = try await opening.launch(uri)
                        #expect(none.status == .protocolUnavailable)
                        #expect(none.error?.outcome == .notExecuted)
                    }
                    let fallback = try await opening.launch("player:x", fallback: "https://example.com/x")
                    #expect(fallback.status == .success)
                    #expect(fallback.opened == .fallback)
                    let recorded = try await desktop.recorded("browser")
                    #expect(recorded == ["https://example.com/x"])
                }
            }
        }

        @Test func `without a display only an entry that needs none is started (X-20)`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("graphical")
                try desktop.install("headless", "X-RemoteSystems-NeedsDisplay=false")
                try desktop.associate("https", "graphical", "headless")
                try await desktop.duringHandshake { opening in
                    let result = try await opening.launch("https://example.com/")
                    #expect(result.status == .appUnavailable)
                    #expect(result.error?.message.contains("display") == true)
                    #expect(result.error?.canRetry == true)
                    let headless = try await opening.launch("https://example.com/", applications: ["headless"])
                    #expect(headless.status == .success)
                    _ = try await desktop.recorded("headless")
                    #expect(desktop.record("graphical") == nil)
                }
            }
        }

        @Test func `a terminal program without a terminal is status 2, and the error names the terminal (X-20)`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("terminal", "Terminal=true")
                try desktop.associate("https", "terminal")
                // This path holds no terminal emulator.
                let path = "\(desktop.directory)/none"
                try await desktop.duringHandshake(["DISPLAY": ":99", "PATH": path]) { opening in
                    let result = try await opening.launch("https://example.com/")
                    #expect(result.status == .appUnavailable)
                    #expect(result.error?.message.contains("terminal") == true)
                    #expect(desktop.record("terminal") == nil)
                }
            }
        }

        @Test func `a program that cannot be executed is status 2, and no shell runs it (X-20)`() async throws {
            try await Desktop.with { desktop in
                let program = "\(desktop.directory)/program", marker = "\(desktop.directory)/marker"
                try desktop.write("touch '\(marker)'\n", to: "program")
                _ = unsafe chmod(program, 0o755)
                try desktop.install("broken", exec: "\"\(program)\" %u")
                try desktop.associate("https", "broken")
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    let result = try await opening.launch("https://example.com/")
                    #expect(result.status == .appUnavailable)
                    #expect(result.error?.message.contains("could not be started") == true)
                }
                #expect(!FileManager.default.fileExists(atPath: marker))
            }
        }

        @Test func `a desktop application cannot take input data, and a fallback opens without it`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("https", "one")
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    let result = try await opening.launch("https://example.com/", inputData: ["a": 1])
                    #expect(result.status == .appUnavailable)
                    #expect(result.error?.message.contains("input data") == true)
                    let fallback = try await opening.launch(
                        "https://example.com/",
                        fallback: "https://example.com/without",
                        inputData: ["a": 1]
                    )
                    #expect(fallback.opened == .fallback)
                    let recorded = try await desktop.recorded("one")
                    #expect(recorded == ["https://example.com/without"])
                }
            }
        }

        @Test func `a started program gets the stated environment and leaves no zombie`() async throws {
            try await Desktop.with { desktop in
                let output = "\(desktop.directory)/one.record"
                try desktop.install(
                    "one",
                    exec:
                        #"sh -c "{ env; ls -l /proc/$$/fd; } > '\#(output).new'; "#
                        + #"mv '\#(output).new' '\#(output)'" sh %u"#
                )
                try desktop.associate("https", "one")
                let variables = ["DISPLAY": ":99", "NOTIFY_SOCKET": "/secret", "LISTEN_FDS": "1", "SECRET": "yes"]
                try await desktop.duringHandshake(variables) { opening in
                    let result = try await opening.launch("https://example.com/")
                    #expect(result.status == .success)
                    _ = try await desktop.recorded("one")
                    let text = try String(contentsOfFile: output, encoding: .utf8)
                    #expect(text.contains("DISPLAY=:99"))
                    #expect(!text.contains("SECRET") && !text.contains("NOTIFY_SOCKET") && !text.contains("LISTEN_FDS"))
                    #expect(text.contains("REMOTE_SYSTEMS_STATE=\(desktop.directory)/state\n"))
                    #expect(!text.contains("socket:"))
                    _ = try await eventually("the end of its children") { () -> Bool? in
                        // Each thread has its own list of children.
                        let threads = "/proc/\(opening.process.id)/task"
                        let children = try FileManager.default.contentsOfDirectory(atPath: threads).map {
                            (try? String(contentsOfFile: "\(threads)/\($0)/children", encoding: .utf8)) ?? ""
                        }
                        return children.allSatisfy(\.isEmpty) ? true : nil
                    }
                }
            }
        }
    }

    @Suite struct Policy {
        @Test(arguments: [
            "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "about:blank", "ssh:x",
        ])
        func `a scheme that is not allowed is status 7 despite a handler, and no fallback opens (X-20)`(
            uri: String
        )
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("any")
                try desktop.associate([String(uri.prefix { $0 != ":" }), "https"], ["any"])
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    let result = try await opening.launch(uri, fallback: "https://example.com/")
                    #expect(result.status == .deniedByRemoteSystem)
                    #expect(result.error?.side == .remote)
                    #expect(desktop.record("any") == nil)
                }
            }
        }

        @Test(arguments: [("yes", 1), ("no", 7), ("", 7), ("unasked", 2)])
        func `the user is asked where the policy says so, and the launch is denied when asking fails`(
            response: String,
            status: Int
        )
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("player", "one")
                let variables = ["DISPLAY": ":99", "PROBE_ASK": "player", "PROBE_ANSWER": response]
                try await desktop.duringHandshake(variables) { opening in
                    let result = try await opening.launch("player:x")
                    #expect(result.status.rawValue == status)
                    if status == 1 {
                        _ = try await desktop.recorded("one")
                    } else {
                        #expect(desktop.record("one") == nil)
                    }
                }
            }
        }

        @Test func `a consent that arrives after the launch timed out opens nothing`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("player", "one")
                let variables = ["DISPLAY": ":99", "PROBE_ASK": "player", "PROBE_ANSWER": "never"]
                try await desktop.duringHandshake(variables) { opening in
                    // The asking program consents at the moment of its interruption.
                    let result = try await opening.launch("player:x", timeout: .seconds(2))
                    #expect(result.status == .unknown)
                    // A later response shows that the host has finished the first launch.
                    _ = try await eventually("the question") { opening.process.lines.contains("answered") ? true : nil }
                    let after = try await opening.launch("tel:1")
                    #expect(after.status == .protocolUnavailable)
                    #expect(desktop.record("one") == nil)
                }
            }
        }

        @Test func `a host that dies while the user is asked leaves the launch unknown, not failed (X-20)`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.associate("player", "one")
                let variables = ["DISPLAY": ":99", "PROBE_ASK": "player", "PROBE_ANSWER": "never"]
                try await desktop.duringHandshake(variables) { opening in
                    async let result = opening.launch("player:x")
                    _ = try await eventually("the question") { opening.process.lines.contains("asked") ? true : nil }
                    opening.process.send(SIGKILL)
                    let known = try await result
                    #expect(known.status == .unknown)
                    #expect(known.error?.code == .connectionLost)
                    #expect(known.error?.outcome == .unknown)
                }
            }
        }
    }

    @Suite struct Bus {
        @Test(arguments: [("open", 1), ("refuse", 2), ("vanish", 0)])
        func `an application that the bus starts counts as opened only after its reply (X-20)`(
            behaviour: String,
            status: Int
        ) async throws {
            try await Desktop.with { desktop in
                let name = "org.example.my-player"
                let record = "\(desktop.directory)/\(name).record"
                try desktop.install(name, exec: "", "DBusActivatable=true")
                try desktop.installService(name, exec: "\(desktop.probe) application \(name) \(record) \(behaviour)")
                try desktop.associate("player", name)
                try await desktop.withBus { bus in
                    let variables = bus.merging(["PROBE_ALLOW": "player"]) { $1 }
                    try await desktop.duringHandshake(variables) { opening in
                        let result = try await opening.launch("player:;$(x)%25")
                        #expect(result.status.rawValue == status)
                        #expect(result.error?.outcome == (status == 1 ? nil : status == 2 ? .notExecuted : .unknown))
                        // The application replies after it has opened the URI, so the record exists already.
                        #expect(desktop.record(name) == (status == 1 ? ["player:;$(x)%25"] : nil))
                    }
                }
            }
        }

        @Test func `an application that the bus cannot start is status 2 (X-20)`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("org.example.gone", exec: "", "DBusActivatable=true")
                try desktop.associate("player", "org.example.gone")
                try await desktop.withBus { bus in
                    let variables = bus.merging(["PROBE_ALLOW": "player"]) { $1 }
                    try await desktop.duringHandshake(variables) { opening in
                        let result = try await opening.launch("player:x")
                        #expect(result.status == .appUnavailable)
                        try desktop.installService("org.example.gone", exec: "/bin/false")
                        let ending = try await opening.launch("player:x")
                        #expect(ending.status == .appUnavailable)
                    }
                }
            }
        }

        @Test func `without a bus the program of the entry is started, if there is one`() async throws {
            try await Desktop.with { desktop in
                try desktop.install("org.example.both", "DBusActivatable=true")
                try desktop.associate("player", "org.example.both")
                try await desktop.duringHandshake(["PROBE_ALLOW": "player", "DISPLAY": ":99"]) { opening in
                    let result = try await opening.launch("player:x")
                    #expect(result.status == .success)
                    let recorded = try await desktop.recorded("org.example.both")
                    #expect(recorded == ["player:x"])
                }
            }
        }
    }
}
