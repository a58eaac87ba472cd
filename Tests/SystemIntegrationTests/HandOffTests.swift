// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Hand-off between applications on different machines, with real processes that are killed at each step.
    @Suite struct HandOff {
        private static let type = "com.example.writing"
        private static let restored = "restore An unfinished sentence, \(1 << 20)"

        @Test func `an activity goes to another machine and another one back, with streams (H-01, H-16, H-36)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                for (origin, receiver) in [(machines[0], machines[1]), (machines[1], machines[0])] {
                    let offering = try origin.application("test.author", offering: Self.type)
                    let receiving = try receiver.application("test.reader", continuing: Self.type)
                    try await offering.reached("offering")
                    let began = Date()
                    let continued = try await receiver.continueActivity(Self.type)
                    #expect(continued.code == 0, "\(continued.lines)")
                    report("searching for an activity and continuing it", [Date().timeIntervalSince(began)])
                    // The content was saved for this continuation, and the streams have carried 1 MiB.
                    try await receiving.reached(Self.restored)
                    #expect(offering.steps.contains("save"))
                    try await offering.reached("handed-over test.reader")
                    try await offering.reached("stream-ended")
                    // The offer ended when the receiver had acknowledged.
                    let again = try await receiver.continueActivity(Self.type)
                    #expect(again.code == 1, "\(again.lines)")
                    await offering.process?.stop()
                    await receiving.process?.stop()
                }
            }
        }

        @Test
        func `an application that does not run is started by its host daemon and continues (H-12, H-13, H-64, H-66)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                // The origin's daemon speaks for the application that offers.
                let originDaemon = try await a.startDaemon(data: "\(a.host.directory)/data")
                let offering = try a.application("test.author", offering: Self.type)
                try await offering.reached("offering")
                let data = "\(b.host.directory)/data"
                let reader = Application(file: "\(b.host.directory)/test.reader")
                try b.install(
                    "test.reader",
                    [
                        try builtProgram("activity-probe"), "test.reader", reader.file, "eth0", Self.type,
                    ],
                    // The type of a kind of document need not be stated again.
                    #""documentTypes": [{"mediaTypes": ["text/plain"], "activityType": "\#(Self.type)"}]"#,
                    in: data
                )
                let daemon = try await b.startDaemon(data: data)
                // Other systems cannot start it.
                let foreign = try await a.failedCall(b.address, "org.remotesystems.activities", "test.reader")
                #expect(foreign.contains("offers no service"), "\(foreign)")
                #expect(reader.steps.isEmpty)
                let continued = try await b.continueActivity(Self.type)
                #expect(continued.code == 0, "\(continued.lines)")
                #expect(reader.steps == ["started", "decide \(Self.type)", "received", Self.restored])
                await daemon.stop()
                await originDaemon.stop()
            }
        }

        @Test(.timeLimit(.minutes(4)))
        func `signed applications hand over to those of their publisher only (H-05, H-06, B-03, B-04, B-05)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let (own, foreign) = ("\(a.host.directory)/own.key", "\(a.host.directory)/foreign.key")
                for key in [own, foreign] { try await a.app("keygen", key) }
                let dataOfA = "\(a.host.directory)/data"
                let dataOfB = "\(b.host.directory)/data"
                try await a.register("test.author", key: own, in: dataOfA)
                try await b.register("test.reader", key: own, in: dataOfB)
                let daemons = [try await a.startDaemon(data: dataOfA), try await b.startDaemon(data: dataOfB)]
                let offering = try a.application("test.author", offering: Self.type)
                let receiving = try b.application("test.reader", continuing: Self.type)
                try await offering.reached("offering")
                try await receiving.reached("started")

                // Each change of the manifest is used by the running daemon of the receiver.
                func refused(_ reason: String) async throws {
                    _ = try await eventually("the reason '\(reason)'", within: .seconds(60), every: .seconds(1)) {
                        let why = try await b.whyNot(Self.type)
                        return why.contains(reason) ? true : nil
                    }
                    let continued = try await b.continueActivity(Self.type)
                    #expect(continued.code == 2 && continued.lines.joined().contains(reason), "\(continued)")
                }
                try await b.register("test.reader", key: foreign, in: dataOfB)
                try await refused("different publishers")
                // The program is none that the signed manifest names.
                try await b.register("test.reader", key: own, program: "/bin/true", in: dataOfB)
                try await refused("not proven")
                // Unsigned: the receiver would accept it, since nothing is signed there, and the origin refuses.
                try await b.register("test.reader", key: nil, in: dataOfB)
                _ = try await eventually("the unsigned manifest", within: .seconds(60), every: .seconds(1)) {
                    try await b.whyNot(Self.type).contains("Developer mode is automatic") ? true : nil
                }
                let unsigned = try await b.continueActivity(Self.type)
                #expect(unsigned.code == 2 && unsigned.lines.joined().contains("is not signed"), "\(unsigned)")
                // A program without a manifest gets nothing either, whatever it claims to be.
                let printed = try await b.continueActivity(Self.type, "--print")
                #expect(printed.code == 2 && printed.lines.joined().contains("not proven"), "\(printed)")
                #expect(!receiving.steps.contains { $0.hasPrefix("restore") || $0.hasPrefix("received") })
                #expect(!offering.steps.contains("save") && !offering.steps.contains { $0.hasPrefix("handed-over") })

                // Signed by the publisher again, with the successor of its key.
                let next = "\(a.host.directory)/next.key"
                try await a.app("keygen", next, "--successor-of", own)
                try await b.register("test.reader", key: next, in: dataOfB)
                _ = try await eventually("the same publisher", within: .seconds(60), every: .seconds(1)) {
                    try await b.whyNot(Self.type).contains("same publisher") ? true : nil
                }
                let continued = try await b.continueActivity(Self.type)
                #expect(continued.code == 0, "\(continued)")
                try await receiving.reached(Self.restored)
                for daemon in daemons { await daemon.stop() }
            }
        }

        @Test(arguments: ["", "save", "stream"])
        func `an origin that is killed ends the offer, and the receiver learns why (H-60)`(step: String) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let offering = try a.application("test.author", offering: Self.type, stop: step)
                let receiving = try b.application("test.reader", continuing: Self.type)
                try await offering.reached("offering")
                if step.isEmpty {
                    offering.kill()
                    let gone = try await b.continueActivity(Self.type)
                    #expect(gone.code == 1, "\(gone.lines)")
                    #expect(receiving.steps == ["started"])
                    return
                }
                let continuing = try b.command(["activities", "continue", Self.type])
                try await offering.reached(step)
                offering.kill()
                try await receiving.letsFail(continuing)
                try await receiving.reached("failed originGone")
                #expect(!receiving.steps.contains { $0.hasPrefix("restore") })
            }
        }

        @Test(arguments: ["decide", "received", "restore"])
        func `a receiver that is killed before it acknowledged takes nothing from the origin (H-35, H-36)`(
            step: String
        ) async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                let offering = try a.application("test.author", offering: Self.type)
                let receiving = try b.application("test.reader", continuing: Self.type, stop: step)
                let other = try c.application("test.reader", continuing: Self.type)
                try await offering.reached("offering")
                let continuing = try b.command(["activities", "continue", Self.type])
                try await receiving.reached(step)
                receiving.kill()
                #expect(try await continuing.exit(within: .seconds(90)) == 2)
                let second = try await c.continueActivity(Self.type)
                if step == "restore" {
                    // It was acknowledged: the origin has given it up.
                    try await offering.reached("handed-over test.reader")
                    #expect(second.code == 1, "\(second.lines)")
                    #expect(other.steps == ["started"])
                } else {
                    #expect(second.code == 0, "\(second.lines)")
                    try await other.reached(Self.restored)
                    #expect(offering.steps.count { $0.hasPrefix("handed-over") } == 1)
                }
            }
        }

        @Test(.timeLimit(.minutes(3)))
        func `a cable that is cut is reported on both sides, and the offer remains (H-60)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let offering = try a.application("test.author", offering: Self.type)
                let receiving = try b.application("test.reader", continuing: Self.type, stop: "decide")
                try await offering.reached("offering")
                let continuing = try b.command(["activities", "continue", Self.type])
                try await receiving.reached("decide \(Self.type)")
                try await a.host.setCable(plugged: false)
                receiving.kill()
                #expect(try await continuing.exit(within: .seconds(90)) == 2)
                let gone = try await b.continueActivity(Self.type)
                #expect(gone.code != 0, "\(gone.lines)")
                try await a.host.setCable(plugged: true)
                let reader = try b.application("test.second", continuing: Self.type)
                _ = try await eventually("the continuation", within: .seconds(60), every: .seconds(1)) {
                    try await b.continueActivity(Self.type).code == 0 ? true : nil
                }
                try await reader.reached(Self.restored)
            }
        }

        @Test func `of two receivers at the same time one continues, and the other is refused (H-36)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let offering = try machines[0].application("test.author", offering: Self.type)
                try await offering.reached("offering")
                let receivers = try machines.dropFirst().map {
                    try $0.application("test.reader", continuing: Self.type)
                }
                let results = try await withThrowingTaskGroup(of: Int32.self) { group in
                    for machine in machines.dropFirst() {
                        group.addTask { try await machine.continueActivity(Self.type).code }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(results.count { $0 == 0 } == 1, "\(results)")
                #expect(receivers.count { $0.steps.contains(Self.restored) } == 1, "\(receivers.map(\.steps))")
                #expect(offering.steps.count { $0.hasPrefix("handed-over") } == 1, "\(offering.steps)")
                let refused = receivers.flatMap(\.steps).filter { $0.hasPrefix("failed") }
                // A receiver that searched after the decision found no offer any more.
                #expect(refused.isEmpty || refused == ["failed alreadyContinued"], "\(refused)")
            }
        }

        @Test(.enabled(if: OtherClock.isThere, "libfaketime is not installed"))
        func `a machine whose clock is wrong by a day hands over like another`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                // Within the validity of certificates, which begins a day before.
                let offering = try a.application(
                    "test.author",
                    offering: Self.type,
                    around: OtherClock.off(byHours: 20)
                )
                let receiving = try b.application("test.reader", continuing: Self.type)
                try await offering.reached("offering")
                let continued = try await b.continueActivity(Self.type)
                #expect(continued.code == 0, "\(continued.lines)")
                try await receiving.reached(Self.restored)
            }
        }
    }
}

/// A running `activity-probe`, and the steps that it has recorded.
private struct Application {
    let file: String
    var process: ChildProcess?

    var steps: [String] {
        ((try? String(contentsOfFile: self.file, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Waits until the application has recorded a step.
    func reached(_ step: String) async throws {
        do {
            _ = try await eventually("the step '\(step)'", within: .seconds(60), every: .milliseconds(20)) {
                self.steps.contains { $0.hasPrefix(step) } ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); recorded: \(self.steps)")
        }
    }

    /// Waits until the command that lets this application continue an activity has failed. What the application waits
    /// for is reported if it does not fail.
    func letsFail(_ command: ChildProcess) async throws {
        do {
            let code = try await eventually("the end of the command", within: .seconds(60)) { command.exitCode }
            #expect(code == 2, "\(command.lines)")
        } catch {
            Issue.record(
                """
                \(error); recorded: \(self.steps)
                The command: \(await command.lastWords())
                The application: \(await self.process?.lastWords() ?? "")
                """
            )
        }
    }

    func kill() {
        if let process { Glibc.kill(process.id, SIGKILL) }
    }
}

extension Machine {
    /// Starts an application that offers or continues activities.
    fileprivate func application(
        _ id: String,
        offering type: String? = nil,
        continuing types: String = "-",
        stop step: String = "",
        around: [String] = []
    ) throws -> Application {
        let file = "\(self.host.directory)/\(id)"
        var arguments = [
            "env", "REMOTE_SYSTEMS_STATE=\(self.state)", try builtProgram("activity-probe"), id, file, "eth0", types,
        ]
        if let type { arguments.append("offer=\(type)") }
        if !step.isEmpty { arguments.append("stop=\(step)") }
        return Application(file: file, process: try self.host.start(around + arguments, readsErrors: true))
    }

    /// Continues an activity with the command, once this machine lists an application for it.
    fileprivate func continueActivity(
        _ type: String,
        _ options: String...
    ) async throws -> (code: Int32, lines: [String]) {
        let command = try self.command(["activities", "continue", type] + options)
        let code = try await command.exit(within: .seconds(60))
        return (code, try await command.allLines())
    }

    /// The output of `activities why-not`.
    fileprivate func whyNot(_ type: String) async throws -> String {
        let command = try self.command(["activities", "why-not", type])
        _ = try await command.exit(within: .seconds(60))
        return try await command.allLines().joined(separator: "\n")
    }

    /// Runs `remotesystems app`, which must succeed.
    fileprivate func app(_ arguments: String..., data: String = "/nowhere") async throws {
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
    fileprivate func register(_ id: String, key: String?, program: String? = nil, in data: String) async throws {
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

    /// Starts the host daemon, and waits until it is ready.
    fileprivate func startDaemon(data: String) async throws -> ChildProcess {
        let daemon = try self.host.start(
            [
                "env", "XDG_DATA_HOME=\(data)", try builtProgram("remotesystems"), "host", "run", "--json",
                "--state-directory", self.state,
            ],
            readsErrors: true
        )
        try await daemon.reported("ready", within: .seconds(15))
        return daemon
    }

    fileprivate func install(_ id: String, _ program: [String], _ more: String, in data: String) throws {
        let place = "\(data)/remote-systems/applications"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let exec = String(decoding: try JSONEncoder().encode(program), as: UTF8.self)
        try #"{"id": "\#(id)", \#(more), "start": {"exec": \#(exec)}}"#
            .write(toFile: "\(place)/\(id).json", atomically: true, encoding: .utf8)
    }
}
