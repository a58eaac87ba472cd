// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

/// Runs the built command as a process with a state directory of its own. Tests keep commands that use the network on
/// the loopback interface.
struct Sandbox {
    let directory: String

    static func with(_ body: (Sandbox) async throws -> Void) async throws {
        let sandbox = Sandbox(
            directory: FileManager.default.temporaryDirectory.appending(path: "command-\(UUID())").path
        )
        try FileManager.default.createDirectory(atPath: sandbox.directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: sandbox.directory) }
        try await body(sandbox)
    }

    /// The state directory of a simulated machine.
    func state(_ machine: String = "own") -> String { "\(self.directory)/\(machine)" }

    /// The directory of caches of all simulated machines.
    var cache: String { "\(self.directory)/cache" }

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - machine: The simulated machine whose state directory the command uses.
    ///   - input: The standard input. Empty unless given.
    func start(
        _ arguments: [String],
        as machine: String = "own",
        input: [UInt8] = [],
        around: [String] = []
    ) throws -> RunningCommand {
        let base = "\(self.directory)/\(UUID())"
        try Data(input).write(to: URL(fileURLWithPath: base + ".input"))
        let process = try ChildProcess(
            ["/bin/sh", "-c", #"exec "$@" <"$COMMAND_INPUT" 2>"$COMMAND_ERRORS""#, "sh"] + around
                + [try builtProgram("remotesystems")] + arguments,
            environment: [
                "COMMAND_INPUT": base + ".input", "COMMAND_ERRORS": base + ".errors",
                "REMOTE_SYSTEMS_STATE": self.state(machine), "COLUMNS": "80", "NO_COLOR": "",
                "XDG_CACHE_HOME": self.cache,
            ]
        )
        return RunningCommand(process: process, errorFile: base + ".errors")
    }

    /// Runs the command to its end.
    func run(
        _ arguments: String...,
        as machine: String = "own",
        input: [UInt8] = [],
        around: [String] = []
    ) async throws -> FinishedCommand {
        try await self.start(arguments, as: machine, input: input, around: around).finish()
    }

    /// Joins the account of an invitation, which the command reads from its standard input.
    func join(_ invitation: String, _ options: String..., as machine: String) async throws -> FinishedCommand {
        let input = Array((invitation + "\n").utf8)
        return try await self.start(["account", "join"] + options, as: machine, input: input).finish()
    }

    /// Runs `list` until it lists a system. `list` returns as soon as browsing settles, and on a busy machine a system
    /// may respond later.
    func list(_ arguments: String..., as machine: String = "own") async throws -> FinishedCommand {
        var said = ""
        do {
            return try await eventually("a system in the list", within: .seconds(30)) { () -> FinishedCommand? in
                let list = try await self.start(["list", "--loopback"] + arguments, as: machine).finish()
                said = "\(list)"
                return list.status == 0 ? list : nil
            }
        } catch {
            throw IntegrationError("\(error); \(said)")
        }
    }

    /// Runs `body` with the port of a `serve` that answers pings on the loopback interface.
    func whileServing(
        as machine: String = "own",
        _ body: (RunningCommand, String) async throws -> Void
    ) async throws {
        let serving = try self.start(["serve", "--loopback", "--port", "0", "--json"], as: machine)
        do {
            let ready = try await serving.event("ready")
            try await body(serving, String(ready["port"] as? Int ?? 0))
        } catch {
            await serving.process.stop()
            throw error
        }
        await serving.process.stop()
    }

    /// The output of `account show` on a machine.
    func account(_ machine: String = "own") async throws -> JSONLine {
        let finished = try await self.run("account", "show", "--json", as: machine)
        guard let line = finished.json.first else { throw IntegrationError("no account: \(finished.errors)") }
        return line
    }
}

/// One line of `--json` output.
typealias JSONLine = [String: Any]

struct RunningCommand {
    let process: ChildProcess
    let errorFile: String

    var errors: String { (try? String(contentsOfFile: self.errorFile, encoding: .utf8)) ?? "" }

    /// Waits for a line of JSON with this event.
    func event(_ name: String, within limit: Duration = .seconds(30)) async throws -> JSONLine {
        do {
            return try await eventually("the event \(name)", within: limit) {
                let lines = self.process.lines
                if let found = lines.compactMap(Self.json).first(where: { $0["event"] as? String == name }) {
                    return found
                }
                if let code = self.process.exitCode { throw IntegrationError("it ended with \(code)") }
                return nil
            }
        } catch {
            throw IntegrationError("\(error); printed: \(self.process.lines.joined(separator: " | ")); \(self.errors)")
        }
    }

    func finish(within limit: Duration = .seconds(60)) async throws -> FinishedCommand {
        do {
            let status = try await self.process.exit(within: limit)
            return FinishedCommand(status: status, lines: try await self.process.allLines(), errors: self.errors)
        } catch {
            await self.process.stop()
            throw error
        }
    }

    /// Whether the command traps SIGTERM by now.
    var trapsTermination: Bool {
        // Between fork and exec, the process still has the handlers of the test.
        let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(self.process.id)/exe")
        guard let program, program.hasSuffix("/remotesystems") else { return false }
        let status = (try? String(contentsOfFile: "/proc/\(self.process.id)/status", encoding: .utf8)) ?? ""
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("SigCgt:") }),
            let signals = line.split(whereSeparator: \.isWhitespace).last.flatMap({ UInt64($0, radix: 16) })
        else { return false }
        return signals & (1 << UInt64(SIGTERM - 1)) != 0
    }

    static func json(_ line: String) -> JSONLine? {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? JSONLine
    }
}

struct FinishedCommand {
    var status: Int32
    var lines: [String]
    var errors: String

    /// The lines that are JSON objects.
    var json: [JSONLine] { self.lines.compactMap(RunningCommand.json) }

    func event(_ name: String) -> JSONLine? { self.json.first { $0["event"] as? String == name } }
}
