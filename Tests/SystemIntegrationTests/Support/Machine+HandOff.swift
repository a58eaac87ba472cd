// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

extension Machine {
    /// Starts an application that offers or continues activities.
    func application(
        _ id: String,
        offering type: String? = nil,
        continuing types: String = "-",
        stop step: String = "",
        hold heldStep: String = "",
        dead seconds: Int? = nil,
        crowd count: Int? = nil,
        around: [String] = []
    ) throws -> ProbedApplication {
        let file = "\(self.host.directory)/\(id)"
        var arguments = [
            "env", "REMOTE_SYSTEMS_STATE=\(self.state)", try builtProgram("activity-probe"), id, file, "eth0", types,
        ]
        if let type { arguments.append("offer=\(type)") }
        if !step.isEmpty { arguments.append("stop=\(step)") }
        if !heldStep.isEmpty { arguments.append("hold=\(heldStep)") }
        if let seconds { arguments.append("dead=\(seconds)") }
        if let count { arguments.append("crowd=\(count)") }
        return ProbedApplication(file: file, process: try self.host.start(around + arguments, readsErrors: true))
    }

    /// Continues an activity with the command, once this machine lists an application for it.
    func continueActivity(
        _ type: String,
        _ options: String...
    ) async throws -> (code: Int32, lines: [String]) {
        let command = try self.command(["activities", "continue", type] + options)
        let code = try await command.exit(within: .seconds(60))
        return (code, try await command.allLines())
    }

    /// The output of `activities why-not`.
    func whyNot(_ type: String) async throws -> String {
        let command = try self.command(["activities", "why-not", type])
        _ = try await command.exit(within: .seconds(60))
        return try await command.allLines().joined(separator: "\n")
    }

    /// Runs `remotesystems app`, which must succeed.
    func app(_ arguments: String..., data: String = "/nowhere") async throws {
        let command = try self.host.start(
            ["env", "XDG_DATA_HOME=\(data)", try builtProgram("remotesystems"), "app"] + arguments,
            readsErrors: true
        )
        guard try await command.exit(within: .seconds(60)) == 0 else {
            throw IntegrationError("app \(arguments) failed: \(await command.lastWords())")
        }
    }

    /// Registers an application whose program is `activity-probe`.
    ///
    /// - Parameters:
    ///   - key: the publisher's key; `nil` for an unsigned manifest.
    ///   - program: the program that the manifest names. Defaults to `activity-probe`.
    func register(_ id: String, key: String?, program: String? = nil, in data: String) async throws {
        let directory = "\(self.host.directory)/manifests"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let manifest = "\(directory)/\(id).json"
        try? FileManager.default.removeItem(atPath: manifest)
        try await self.app(
            "init",
            id,
            "--exec",
            try program ?? builtProgram("activity-probe"),
            "--directory",
            directory
        )
        if let key { try await self.app("sign", manifest, "--key", key) }
        try await self.app("register", manifest, "--replace", data: data)
    }

    /// Registers an application with a signed manifest.
    ///
    /// - Parameter more: the members of the manifest beside `id`, as JSON.
    func register(_ id: String, _ more: String, key: String, in data: String) async throws {
        let manifest = "\(self.host.directory)/\(id).json"
        try #"{"id": "\#(id)", \#(more)}"#.write(toFile: manifest, atomically: true, encoding: .utf8)
        try await self.app("sign", manifest, "--key", key)
        try await self.app("register", manifest, "--replace", data: data)
    }

    /// Waits until this machine lists an offer of an application whose publisher the origin's daemon states with a
    /// proof: `proven` or `unproven`.
    func lists(_ application: String, proof: String) async throws {
        let parts = [#""application":"\#(application)""#, #""proof":"\#(proof)""#, #""publisher":""#]
        var last: [String] = []
        do {
            _ = try await eventually("\(application), \(proof)", within: .seconds(60), every: .milliseconds(500)) {
                () async throws -> Bool? in
                let listing = try self.command(["activities", "list"])
                _ = try await listing.exit(within: .seconds(60))
                last = listing.lines
                return last.contains { line in parts.allSatisfy { line.contains($0) } } ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); listed: \(last)")
        }
    }

    /// Starts the host daemon, and waits until it is ready.
    func startDaemon(data: String) async throws -> ChildProcess {
        let daemon = try self.host.start(
            [
                "env", "XDG_DATA_HOME=\(data)", try builtProgram("remotesystems"), "host", "run", "--json",
                "--state-directory", self.state,
            ],
            readsErrors: true
        )
        try await daemon.reported("ready", within: .seconds(60))
        return daemon
    }

    func install(_ id: String, _ program: [String], _ more: String, in data: String) throws {
        let place = "\(data)/remote-systems/applications"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let exec = String(decoding: try JSONEncoder().encode(program), as: UTF8.self)
        try #"{"id": "\#(id)", \#(more), "start": {"exec": \#(exec)}}"#
            .write(toFile: "\(place)/\(id).json", atomically: true, encoding: .utf8)
    }
}
