// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems

/// A user's desktop for tests, with directories of its own and a process that opens URIs in it.
///
/// GLib reads the environment once for each process, so every desktop has a process of its own.
struct Desktop {
    let directory: String
    let probe: String

    static func with<Result>(_ body: (Desktop) async throws -> Result) async throws -> Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "desktop-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for part in ["data/applications", "data/dbus-1/services", "config", "run", "home"] {
            try FileManager.default.createDirectory(atPath: "\(directory)/\(part)", withIntermediateDirectories: true)
        }
        return try await body(Desktop(directory: directory, probe: try builtProgram("desktop-probe")))
    }

    var environment: [String: String] {
        [
            "HOME": "\(self.directory)/home", "XDG_DATA_HOME": "\(self.directory)/data",
            "XDG_DATA_DIRS": "\(self.directory)/none", "XDG_CONFIG_HOME": "\(self.directory)/config",
            "XDG_CONFIG_DIRS": "\(self.directory)/none", "XDG_RUNTIME_DIR": "\(self.directory)/run",
            "XDG_CURRENT_DESKTOP": "", "REMOTE_SYSTEMS_STATE": "\(self.directory)/state",
            "DBUS_SESSION_BUS_ADDRESS": "", "DISPLAY": "", "WAYLAND_DISPLAY": "",
        ]
    }

    func write(_ text: String, to path: String) throws {
        try text.write(toFile: "\(self.directory)/\(path)", atomically: true, encoding: .utf8)
    }

    /// Installs a desktop entry.
    ///
    /// - Parameter exec: The entry's `Exec` line. By default the recorder with the URI.
    func install(_ id: String, exec: String? = nil, _ lines: String...) throws {
        let exec = exec ?? "\(self.recorder(id)) %u"
        try self.write(
            """
            [Desktop Entry]
            Type=Application
            Name=\(id)
            \(exec.isEmpty ? "" : "Exec=\(exec)")
            \(lines.joined(separator: "\n"))

            """,
            to: "data/applications/\(id).desktop"
        )
    }

    /// An `Exec` line for a program that records its arguments.
    func recorder(_ id: String) -> String { "\"\(self.probe)\" record \"\(self.directory)/\(id).record\"" }

    /// Sets the entries that open URIs of a scheme, the default one first.
    func associate(_ scheme: String, _ ids: String...) throws { try self.associate([scheme], ids) }

    /// Sets the entries that open URIs of these schemes, the default one first. Those of other schemes are removed.
    func associate(_ schemes: [String], _ ids: [String]) throws {
        let list = ids.map { "\($0).desktop" }
        let added = list.joined(separator: ";") + ";"
        func lines(_ value: String) -> String {
            schemes.map { "x-scheme-handler/\($0)=\(value)" }.joined(separator: "\n")
        }
        try self.write(
            """
            [Default Applications]
            \(lines(list.first ?? ""))
            [Added Associations]
            \(lines(added))

            """,
            to: "config/mimeapps.list"
        )
    }

    /// Waits for the recorder's arguments.
    func recorded(_ id: String) async throws -> [String] {
        try await eventually("a record of \(id)", within: .seconds(20)) { self.record(id) }
    }

    /// The recorder's arguments, or nil if it was not started.
    func record(_ id: String) -> [String]? {
        guard let data = FileManager.default.contents(atPath: "\(self.directory)/\(id).record") else { return nil }
        return data.split(separator: 0, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0, as: UTF8.self) }
    }

    func forget(_ id: String) throws { try FileManager.default.removeItem(atPath: "\(self.directory)/\(id).record") }

    /// Runs `body` while a process opens URIs on this desktop.
    func duringHandshake(_ more: [String: String] = [:], _ body: (OpeningProcess) async throws -> Void) async throws {
        let process = try ChildProcess(
            [self.probe, "host"],
            environment: self.environment.merging(more) { $1 },
            readsErrors: true
        )
        do {
            let lines = try await eventually("a port", within: .seconds(30)) { () -> [String]? in
                if let code = process.exitCode { throw IntegrationError("it ended with \(code): \(process.lines)") }
                return process.lines.count >= 2 ? process.lines : nil
            }
            guard let port = Int(lines[0]) else { throw IntegrationError("no port: \(lines)") }
            let opening = OpeningProcess(
                process: process,
                port: port,
                schemes: lines[1].split(separator: " ").map(String.init),
                state: "\(self.directory)/state"
            )
            try await body(opening)
        } catch {
            await process.stop()
            throw error
        }
        await process.stop()
    }

    /// Runs `body` with a message bus of this desktop. `body` gets the environment variables that name the bus.
    func withBus(_ body: ([String: String]) async throws -> Void) async throws {
        let address = "unix:path=\(self.directory)/run/bus"
        let bus = try await startMessageBus(["--session", "--address=\(address)"], environment: self.environment)
        do {
            try await body(["DBUS_SESSION_BUS_ADDRESS": address])
        } catch {
            await bus.stop()
            throw error
        }
        await bus.stop()
    }

    /// Makes the bus start a program for a name.
    func installService(_ name: String, exec: String) throws {
        try self.write(
            "[D-BUS Service]\nName=\(name)\nExec=\(exec)\n",
            to: "data/dbus-1/services/\(name).service"
        )
    }
}

/// A process that opens URIs for remote launchers.
struct OpeningProcess {
    let process: ChildProcess
    let port: Int
    let schemes: [String]
    let state: String

    var request: RemoteSystemConnectionRequest {
        var configuration = RemoteSystemsConfiguration(
            applicationID: "test.launcher",
            network: .loopback,
            discovery: [],
            stateDirectory: self.state
        )
        configuration.transport.helloTimeout = .seconds(10)
        configuration.transport.connectTimeout = .seconds(10)
        return RemoteSystemConnectionRequest(host: "127.0.0.1", port: self.port, configuration: configuration)
    }

    func launch(
        _ uri: String,
        fallback: String? = nil,
        applications: [String] = [],
        inputData: ValueSet? = nil,
        timeout: Duration? = nil
    ) async throws -> RemoteLaunchURIResult {
        try await RemoteLauncher().launchURI(
            uri,
            with: self.request,
            options: RemoteLauncherOptions(fallbackURI: fallback, preferredApplicationIDs: applications),
            inputData: inputData,
            timeout: timeout
        )
    }

    /// Sends a URI that a launcher would refuse.
    func sendUnchecked(_ uri: String) async throws -> AppServiceResponse {
        let connection = AppServiceConnection(to: AppServiceDescription(name: "remote-systems.launch"))
        guard try await connection.open(self.request) == .success else {
            throw IntegrationError("not opened: \(connection.openError.map { "\($0)" } ?? "?")")
        }
        let response = try await connection.send(["Type": "launch", "Uri": .string(uri)])
        await connection.close()
        return response
    }
}

/// Creates systems of one account in these directories.
func createSystems(_ states: [String]) async throws {
    guard let first = states.first else { return }
    for state in states.dropFirst() { try await createTwoSystems(first, state) }
}

/// Creates two systems of one account in these directories. The first one may have an account.
func createTwoSystems(_ first: String, _ second: String) async throws {
    let remotesystems = try builtProgram("remotesystems")
    let inviting = try ChildProcess(
        [remotesystems, "account", "invite", "--loopback", "--json", "--state-directory", first],
        readsErrors: true
    )
    let invitation = try await eventually("an invitation", within: .seconds(60)) {
        inviting.lines.joined().firstMatch(of: /remote-systems:[^"' ]+/).map { String($0.output) }
    }
    let joining = try ChildProcess(
        [remotesystems, "account", "join", "--state-directory", second],
        readsErrors: true
    )
    joining.write(invitation.replacing("\\/", with: "/"))
    guard try await joining.exit(within: .seconds(60)) == 0, try await inviting.exit(within: .seconds(60)) == 0 else {
        throw IntegrationError("two systems were not created: \(inviting.lines), \(joining.lines)")
    }
}
