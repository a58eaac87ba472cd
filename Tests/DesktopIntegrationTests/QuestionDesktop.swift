// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport

/// One system of an account with its daemon, and, with a screen, a session bus and a notification server.
struct QuestionDesktop {
    let desktop: Desktop
    let state: String
    let environment: [String: String]
    /// The host on which its programs run; `nil` for the loopback interface of this machine. Its session bus and its
    /// notification server have Unix sockets, which are the same on every host.
    var host: SimulatedHost?
    /// The port of its daemon. Defaults to 0: any.
    var port = 0

    /// The options of commands for its network and its directory.
    var options: [String] { (self.host == nil ? ["--loopback"] : []) + ["--state-directory", self.state] }

    func start(_ arguments: [String], readsErrors: Bool = true) throws -> ChildProcess {
        guard let host else {
            return try ChildProcess(arguments, environment: self.environment, readsErrors: readsErrors)
        }
        return try host.start(arguments, environment: self.environment, readsErrors: readsErrors)
    }

    /// Starts the host daemon, and waits until it is ready.
    func startDaemon() async throws -> ChildProcess {
        let daemon = try self.start(
            [try builtProgram("remotesystems"), "host", "run", "--port", "\(self.port)"] + self.options
        )
        _ = try await eventually("the daemon", within: .seconds(60)) {
            guard daemon.exitCode == nil else { throw IntegrationError("it has ended: \(daemon.lines)") }
            return daemon.lines.contains { $0.hasPrefix("ready:") } ? true : nil
        }
        return daemon
    }

    /// Kills a daemon of this system, and starts another one.
    func restart(_ daemon: ChildProcess) async throws -> ChildProcess {
        daemon.send(SIGKILL)
        _ = try await daemon.exit(within: .seconds(60))
        return try await self.startDaemon()
    }

    /// Waits until a question waits on this system, and returns its key.
    func listedKey() async throws -> String {
        try await eventually("a question is listed", within: .seconds(60), every: .milliseconds(100)) {
            try await self.command("notifications", "list", "--json").firstMatch(of: /"key":"([0-9]+)"/)
                .map { String($0.output.1) }
        }
    }

    /// Runs `remotesystems` on this system until it ends, and returns its standard output.
    func command(_ arguments: String...) async throws -> String {
        let process = try self.start(
            [try builtProgram("remotesystems")] + arguments + self.options,
            readsErrors: false
        )
        _ = try await process.exit(within: .seconds(60))
        return try await process.allLines().joined(separator: "\n")
    }

    /// Runs a command of the notification server, and returns its output.
    @discardableResult
    func control(_ arguments: String...) async throws -> String {
        let process = try self.start(["dunstctl"] + arguments)
        _ = try await process.exit(within: .seconds(60))
        return try await process.allLines().joined(separator: "\n").trimmingCharacters(in: .whitespaces)
    }

    /// The keys of the records of a kind in the daemon's store of notifications.
    func storedKeys(_ kind: String) async throws -> [String] {
        let script = """
            import sqlite3, sys
            store = sqlite3.connect(sys.argv[1], timeout=30)
            for (key,) in store.execute("SELECT key FROM record WHERE kind = ?", sys.argv[2:]): print(key)
            """
        let path = "\(self.state)/notifications.sqlite"
        let output = try await IntegrationSupport.run(["/usr/bin/python3", "-c", script, path, kind])
        return output.split(separator: "\n").map(String.init)
    }

    /// The number of notifications on the screen, and of those for which it has no room.
    func shownCount() async throws -> Int {
        let counts = [try await self.control("count", "displayed"), try await self.control("count", "waiting")]
        return counts.compactMap { Int($0) }.reduce(0, +)
    }

    /// Waits until the server shows so many notifications.
    func shows(_ count: Int) async throws {
        _ = try await eventually("\(count) notifications", within: .seconds(60), every: .milliseconds(100)) {
            try await self.control("count", "displayed") == "\(count)" ? true : nil
        }
    }
}

extension ChildProcess {
    /// The number of notifications that a daemon says may be on the screen twice.
    var possiblyShownTwice: Int {
        self.lines.filter { $0.contains("may be on the screen twice") }
            .compactMap { line in line.firstMatch(of: /count="?([0-9]+)/).flatMap { Int($0.output.1) } }
            .reduce(0, +)
    }
}

extension Desktop {
    /// Runs `body` with a session bus, a screen and a notification server. `body` gets the environment.
    ///
    /// - Parameter start: starts the server, and returns its processes. Defaults to dunst.
    func withScreen(
        startingServer start: ([String: String]) async throws -> [ChildProcess] = Self.startDunst,
        _ body: ([String: String]) async throws -> Void
    ) async throws {
        // The server lets a program choose among several actions. This one chooses the button that opens a view, or the
        // first. Bodies are markup.
        try FileManager.default.createDirectory(
            atPath: "\(self.directory)/config/dunst",
            withIntermediateDirectories: true
        )
        let chooser = "\(self.directory)/config/dunst/choose"
        // By default, dunst closes what is not answered after ten seconds. That is too short on a busy machine.
        let settings = """
            [global]
                dmenu = \(chooser)
                markup = full
            [urgency_low]
                timeout = 0
            [urgency_normal]
                timeout = 0

            """
        try self.write(settings, to: "config/dunst/dunstrc")
        try writeProgram(
            "#!/bin/sh\nactions=$(cat)\necho \"$actions\" | grep -m 1 Details || echo \"$actions\" | head -n 1\n",
            to: chooser
        )
        try await self.withBus { bus in
            var processes: [ChildProcess] = []
            do {
                let screen = try ChildProcess(
                    ["Xvfb", "-displayfd", "1", "-screen", "0", "640x800x24", "-fbdir", self.directory]
                )
                processes.append(screen)
                let display = try await eventually("the screen", within: .seconds(60)) { screen.lines.first }
                let environment = self.environment.merging(bus) { $1 }.merging(["DISPLAY": ":\(display)"]) { $1 }
                processes += try await start(environment)
                try await body(environment)
            } catch {
                for process in processes.reversed() { await process.stop() }
                throw error
            }
            for process in processes.reversed() { await process.stop() }
        }
    }

    static let magenta: (UInt8, UInt8, UInt8) = (255, 0, 200)

    /// Writes a PNG that is magenta.
    static func image(_ side: Int, to path: String) async throws {
        let script = """
            import struct, sys, zlib
            side, colour = int(sys.argv[1]), bytes([255, 0, 200])
            def chunk(kind, data):
                return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
            rows = zlib.compress((b"\\0" + colour * side) * side)
            parts = chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")
            with open(sys.argv[2], "wb") as file:
                file.write(b"\\x89PNG\\r\\n\\x1a\\n" + b"".join(parts))
            """
        try await IntegrationSupport.run(["/usr/bin/python3", "-c", script, "\(side)", path])
    }

    /// The number of pixels of a colour on the screen.
    ///
    /// - Parameters:
    ///   - colour: red, green and blue.
    ///   - tolerance: the maximum difference of each of them. Defaults to 0.
    func pixels(_ colour: (UInt8, UInt8, UInt8), within tolerance: Int = 0) throws -> Int {
        try self.places(of: colour, within: tolerance).places.count
    }

    /// The rows of the screen in which there is a colour, from the first to the last; `nil` if there is none.
    func rows(of colour: (UInt8, UInt8, UInt8)) throws -> ClosedRange<Int>? {
        let (places, bytesOfRow) = try self.places(of: colour)
        guard let first = places.first, let last = places.last, bytesOfRow > 0 else { return nil }
        return first / bytesOfRow...last / bytesOfRow
    }

    /// Where the pixels of a colour begin in the bytes of the screen, and the number of bytes of a row.
    private func places(
        of colour: (UInt8, UInt8, UInt8),
        within tolerance: Int = 0
    ) throws -> (places: [Int], bytesOfRow: Int) {
        // A header whose first number is its length, whose 13th is that of a row, and whose 20th is the number of
        // colours of 12 bytes each, and four bytes for each pixel, the last of which is not used (the format of xwd).
        guard let file = FileManager.default.contents(atPath: "\(self.directory)/Xvfb_screen0"), file.count > 100 else {
            throw IntegrationError("the screen has no picture")
        }
        let screen = [UInt8](file)
        func number(_ index: Int) -> Int { screen[4 * index..<4 * index + 4].reduce(0) { $0 << 8 | Int($1) } }
        let start = number(0) + 12 * number(19)
        func isNear(_ byte: UInt8, _ wanted: UInt8) -> Bool { abs(Int(byte) - Int(wanted)) <= tolerance }
        let places = stride(from: start, to: screen.count - 3, by: 4).filter { index in
            isNear(screen[index], colour.2) && isNear(screen[index + 1], colour.1)
                && isNear(screen[index + 2], colour.0)
        }
        return (places.map { $0 - start }, number(12))
    }

    /// Starts the notification server dunst, and waits until it responds.
    static func startDunst(_ environment: [String: String]) async throws -> [ChildProcess] {
        let server = try ChildProcess(["dunst"], environment: environment, readsErrors: true)
        do {
            _ = try await eventually("the notification server", within: .seconds(60)) {
                guard server.exitCode == nil else { throw IntegrationError("dunst has ended: \(server.lines)") }
                let control = try ChildProcess(["dunstctl", "count"], environment: environment)
                return try await control.exit(within: .seconds(60)) == 0 ? true : nil
            }
        } catch {
            await server.stop()
            throw error
        }
        return [server]
    }
}
