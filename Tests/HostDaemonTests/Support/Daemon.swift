// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems

/// A host daemon with its files in a temporary directory, on the loopback interface.
struct Daemon {
    let directory: String

    static func with(_ body: (Daemon) async throws -> Void) async throws {
        let daemon = Daemon(directory: FileManager.default.temporaryDirectory.appending(path: "d-\(UUID())").path)
        for name in ["config", "data", "shared"] {
            try FileManager.default.createDirectory(
                atPath: "\(daemon.directory)/\(name)/remote-systems/applications",
                withIntermediateDirectories: true
            )
        }
        defer { try? FileManager.default.removeItem(atPath: daemon.directory) }
        try await body(daemon)
    }

    var environment: [String: String] {
        [
            "REMOTE_SYSTEMS_STATE": "\(self.directory)/state", "XDG_CONFIG_HOME": "\(self.directory)/config",
            "XDG_DATA_HOME": "\(self.directory)/data", "XDG_DATA_DIRS": "\(self.directory)/shared",
            "HOME": self.directory, "XDG_RUNTIME_DIR": self.directory,
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(self.directory)/bus", "SECRET_OF_THE_HOST": "x",
            "DISPLAY": "", "WAYLAND_DISPLAY": "",
        ]
    }

    var configurationFile: String { "\(self.directory)/config/remote-systems/host.json" }
    /// The file in which started applications record their environment.
    var record: String { "\(self.directory)/record" }
    var starts: [String] {
        ((try? String(contentsOfFile: self.record, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    func configure(_ text: String) throws {
        try text.write(toFile: self.configurationFile, atomically: true, encoding: .utf8)
    }

    func install(_ id: String, start: String, shared: Bool = false) throws {
        try """
        {
          "id": "\(id)",
          "displayName": "Test application",
          "services": [{"name": "test.echo", "supportsRemote": true, "summary": "Says it again."}],
          "schemes": ["test"],
          "start": \(start)
        }
        """.write(
            toFile: "\(self.directory)/\(shared ? "shared" : "data")/remote-systems/applications/\(id).json",
            atomically: true,
            encoding: .utf8
        )
    }

    /// Installs a desktop entry.
    func installEntry(_ id: String, _ lines: String...) throws {
        try FileManager.default.createDirectory(
            atPath: "\(self.directory)/data/applications",
            withIntermediateDirectories: true
        )
        try "[Desktop Entry]\nType=Application\nName=\(id)\n\(lines.joined(separator: "\n"))\n".write(
            toFile: "\(self.directory)/data/applications/\(id).desktop",
            atomically: true,
            encoding: .utf8
        )
    }

    /// The test application's command line.
    func program(_ id: String) throws -> String { "\(try builtProgram("installed-application")) \(id) \(self.record)" }

    /// A manifest's start method that runs the test application.
    func exec(_ id: String) throws -> String {
        #"{"exec": ["\#(try builtProgram("installed-application"))", "\#(id)", "\#(self.record)"]}"#
    }

    func command(
        _ arguments: [String],
        environment: [String: String] = [:],
        around: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(
            around + [try builtProgram("remotesystems")] + arguments,
            environment: self.environment.merging(environment) { $1 },
            readsErrors: true
        )
    }

    func finish(_ arguments: [String], environment: [String: String] = [:]) async throws -> (Int32, [String]) {
        let process = try self.command(arguments, environment: environment)
        let status = try await process.exit(within: .seconds(60))
        return (status, try await process.allLines())
    }

    /// Runs the daemon while `body` runs with its port. Also ends the applications that it started.
    func whileRunning(
        _ arguments: [String] = ["--port", "0"],
        network: [String] = ["--loopback"],
        environment: [String: String] = [:],
        around: [String] = [],
        afterStarting: () async throws -> Void = {},
        _ body: (ChildProcess, Int) async throws -> Void
    ) async throws {
        let process = try self.command(
            ["host", "run", "--json"] + network + arguments,
            environment: environment,
            around: around
        )
        let result: Result<Void, any Error>
        do {
            try await afterStarting()
            let port = try await process.event("ready")["port"] as? Int ?? 0
            result = .success(try await body(process, port))
        } catch {
            result = .failure(IntegrationError("\(error); printed: \(process.lines.suffix(20))"))
        }
        await process.stop()
        for pid in self.listening where pid != process.id { kill(pid, SIGTERM) }
        try result.get()
    }

    /// The ids of the processes that hold the lock of an application id.
    var listening: [Int32] {
        let locks = "\(self.directory)/state/run/locks"
        return ((try? FileManager.default.contentsOfDirectory(atPath: locks)) ?? []).compactMap { name in
            let descriptor = unsafe open("\(locks)/\(name)", O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            guard flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK,
                let line = try? String(contentsOfFile: "\(locks)/\(name)", encoding: .utf8),
                let process = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
            else { return nil }
            return (process["pid"] as? Int).map { Int32($0) }
        }
    }

    /// Starts the test application beside the daemon, and ends it after `body`.
    func withProgram(
        _ id: String,
        environment: [String: String] = [:],
        around: [String] = [],
        _ body: (ChildProcess) async throws -> Void
    ) async throws {
        let program = try ChildProcess(
            around + (try self.program(id).split(separator: " ").map(String.init)),
            environment: self.environment.merging(environment) { $1 }
        )
        let result: Result<Void, any Error>
        do { result = .success(try await body(program)) } catch { result = .failure(error) }
        await program.stop()
        try result.get()
    }

    /// Waits until the watcher lists exactly these running applications.
    func wait(for ids: [String], by watcher: RemoteSystemWatcher) async throws {
        _ = try await eventually("\(ids)", within: .seconds(30), every: .milliseconds(2)) {
            watcher.systems.first?.applications.filter(\.isRunning).map(\.id) == ids ? true : nil
        }
    }

    /// Runs `body` beside a session bus that starts these programs for these names.
    func withBus(starting programs: [String: String], _ body: () async throws -> Void) async throws {
        let services = "\(self.directory)/services"
        try FileManager.default.createDirectory(atPath: services, withIntermediateDirectories: true)
        for (name, program) in programs {
            try "[D-BUS Service]\nName=\(name)\nExec=\(program)\n".write(
                toFile: "\(services)/\(name).service",
                atomically: true,
                encoding: .utf8
            )
        }
        try """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(self.directory)/bus</listen>
          <servicedir>\(services)</servicedir>
          <policy context="default">
            <allow user="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
        </busconfig>
        """.write(toFile: "\(self.directory)/bus.conf", atomically: true, encoding: .utf8)
        let bus = try await startMessageBus(
            ["--config-file=\(self.directory)/bus.conf"],
            environment: self.environment
        )
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        await bus.stop()
        try result.get()
    }

    // MARK: The caller's side

    func configuration(_ application: String = "test.caller") -> RemoteSystemsConfiguration {
        var configuration = RemoteSystemsConfiguration(
            applicationID: application,
            network: .loopback,
            stateDirectory: "\(self.directory)/state"
        )
        // Generous, since no test measures how fast a handshake is.
        configuration.transport.helloTimeout = .seconds(10)
        configuration.transport.connectTimeout = .seconds(15)
        return configuration
    }

    /// Waits until a watcher reports the system in the wanted form.
    func system(where fits: (RemoteSystem) -> Bool) async throws -> RemoteSystem {
        let watcher = RemoteSystemWatcher(self.configuration("test.watcher"))
        try await watcher.start()
        let found: RemoteSystem
        do {
            found = try await eventually("the system", within: .seconds(30)) { watcher.systems.first(where: fits) }
        } catch {
            await watcher.stop()
            throw error
        }
        await watcher.stop()
        return found
    }

    /// Opens a connection to the daemon's own service.
    func openPing(port: Int) async throws -> AppServiceConnection {
        let connection = AppServiceConnection(to: AppServiceDescription(name: AppService.pingName))
        let status = try await connection.open(
            RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: self.configuration())
        )
        guard status == .success else { throw IntegrationError("not opened: \(status)") }
        return connection
    }

    /// Launches a URI on the system at the daemon's address.
    func launch(_ uri: String, port: Int) async throws -> RemoteLaunchURIResult {
        try await RemoteLauncher().launchURI(
            uri,
            with: RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: self.configuration())
        )
    }

    /// Writes a program for `/bin/sh`.
    func script(_ name: String, _ text: String) throws -> String {
        let path = "\(self.directory)/\(name)"
        try writeProgram("#!/bin/sh\n\(text)\n", to: path)
        return path
    }

    /// Installs a handler for schemes that writes its URIs into a file.
    func installHandler(_ schemes: String...) throws {
        let program = try self.script("handler", #"printf '%s\n' "$1" >> '\#(self.directory)/handled'"#)
        try self.installEntry("handler", "Exec=\"\(program)\" %u", "X-RemoteSystems-NeedsDisplay=false")
        let lines = schemes.map { "x-scheme-handler/\($0)=handler.desktop" }.joined(separator: "\n")
        try "[Default Applications]\n\(lines)\n[Added Associations]\n\(lines)\n".write(
            toFile: "\(self.directory)/config/mimeapps.list",
            atomically: true,
            encoding: .utf8
        )
    }

    /// The URIs that the handler got.
    var handled: [String] {
        ((try? String(contentsOfFile: "\(self.directory)/handled", encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    /// Calls the test application by the daemon's address.
    func call(_ targetApplication: String?, port: Int) async throws -> (
        AppServiceConnectionStatus, RemoteSystemError?, Int?
    ) {
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: "test.echo", applicationID: targetApplication)
        )
        let status = try await connection.open(
            RemoteSystemConnectionRequest(host: "127.0.0.1", port: port, configuration: self.configuration())
        )
        guard status == .success else { return (status, connection.openError, nil) }
        let response = try await connection.send(["a": 1]).get()
        await connection.close()
        return (status, nil, response["pid"]?.int)
    }
}

extension ChildProcess {
    /// Waits for a line of JSON with this event, starting at an index.
    func event(_ name: String, from start: Int = 0) async throws -> [String: Any] {
        try await eventually("the event \(name)", within: .seconds(30)) {
            for line in self.lines.dropFirst(start) {
                if let object = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any],
                    object["event"] as? String == name
                {
                    return object
                }
            }
            if let code = self.exitCode { throw IntegrationError("it ended with \(code): \(self.lines)") }
            return nil
        }
    }
}
