// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

/// A web server on a machine, with a page for each name.
struct Pages {
    private let machine: Machine
    let process: ChildProcess

    init(on machine: Machine) async throws {
        self.machine = machine
        let directory = "\(machine.host.directory)/pages"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for name in ["one", "two", "three", "four", "hidden"] {
            try "<title>Page \(name)</title>".write(
                toFile: "\(directory)/\(name).html",
                atomically: true,
                encoding: .utf8
            )
        }
        self.process = try machine.host.start(
            ["/usr/bin/python3", "-u", "-m", "http.server", "8000", "--directory", directory],
            readsErrors: true
        )
        let process = self.process
        _ = try await eventually("the web server", within: .seconds(60)) {
            process.lines.contains { $0.hasPrefix("Serving") } ? true : nil
        }
    }

    func url(_ name: String, user: String = "") -> String { "http://\(user)\(self.machine.address):8000/\(name).html" }

    /// Waits until a browser has requested a page.
    func wasRead(_ name: String) async throws {
        _ = try await eventually("a reader of \(name)", within: .seconds(60)) {
            self.process.lines.contains { $0.contains("/\(name).html") } ? true : nil
        }
    }
}

extension Machine {
    func startHost() async throws -> ChildProcess {
        let daemon = try self.command(["host", "run"])
        try await daemon.reported("ready", within: .seconds(60))
        return daemon
    }

    func commandLines(_ arguments: [String]) async throws -> [String] {
        let command = try self.command(arguments)
        _ = try await command.exit(within: .seconds(60))
        return command.lines
    }

    /// Waits until this machine lists the offer of a page.
    func offer(_ name: String) async throws -> String {
        var last: [String] = []
        do {
            return try await eventually("the offer \(name)", within: .seconds(60), every: .milliseconds(200)) {
                last = try await self.commandLines(["activities", "list"])
                return last.first { $0.contains("Page \(name)") }
            }
        } catch { throw IntegrationError("\(error): \(last)") }
    }

    func isNotOffered(_ name: String) async throws {
        _ = try await eventually("the end of the offer", within: .seconds(60), every: .milliseconds(200)) {
            try await self.commandLines(["activities", "list", "--wait", "2"]).joined().contains("Page \(name)")
                ? nil : true
        }
    }
}

/// A home directory on a machine whose browser finds `remotesystems`.
struct BrowserHome {
    let path: String
    /// The beginning of a command that runs with it.
    let environment: [String]

    /// Installs the files for a browser as a user does.
    ///
    /// - Parameters:
    ///   - profile: the directory of the browser's profile, relative to the home directory.
    ///   - hosts: the directory in which the browser looks for native messaging hosts, relative to the home directory.
    init(for browser: String, on machine: Machine, profile: String, hosts: String) async throws {
        self.path = "\(machine.host.directory)/home"
        self.environment = [
            "env", "HOME=\(self.path)", "XDG_CONFIG_HOME=\(self.path)/.config",
            "XDG_DATA_HOME=\(self.path)/.local/share", "XDG_CACHE_HOME=\(self.path)/.cache",
            "DBUS_SESSION_BUS_ADDRESS=unix:path=\(self.path)/none",
        ]
        try FileManager.default.createDirectory(atPath: "\(self.path)/\(profile)", withIntermediateDirectories: true)
        let install = ["activities", "browser", "--install", "--browser", browser, "--state-directory", machine.state]
        let installed = try await machine.host.output(
            of: self.environment + [try builtProgram("remotesystems")] + install
        )
        #expect(installed.contains("wrote \(self.path)/\(hosts)/org.remotesystems.browser.json"))
    }

    /// The directory of the extension.
    static var extensionDirectory: String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Extensions/browser")
            .standardizedFileURL.path
    }
}
