// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Hand-off between applications on different machines, with real processes that are killed at each step.
    @Suite struct HandOff {
        static let type = "com.example.writing"
        static let restored = "restore An unfinished sentence, \(1 << 20)"

        @Test
        func `an activity goes to another machine and another one back, with streams (H-01, H-16, H-36, H-53)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                for (origin, receiver) in [(machines[0], machines[1]), (machines[1], machines[0])] {
                    // A system nearby learns of the activity without asking.
                    let watching = try receiver.command(["activities", "watch"])
                    let offering = try origin.application("test.author", offering: Self.type)
                    let receiving = try receiver.application("test.reader", continuing: Self.type)
                    try await offering.reached("offering")
                    try await watching.reported("offered", within: .seconds(60))
                    let began = Date()
                    let continued = try await receiver.continueActivity(Self.type)
                    #expect(continued.code == 0, "\(continued.lines)")
                    report("searching for an activity and continuing it", [Date().timeIntervalSince(began)])
                    try await watching.reported("withdrawn", within: .seconds(60))
                    await watching.stop()
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

        /// Also H-64 and H-66: the type of a kind of document need not be stated again.
        @Test
        func
            `an application that two systems need is started once by its host daemon, and continues both (H-12, H-13)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                // The origin's daemon speaks for the application that offers.
                let originDaemon = try await a.startDaemon(data: "\(a.host.directory)/data")
                let sketching = "com.example.sketching"
                let offering = [
                    try a.application("test.author", offering: Self.type),
                    try c.application("test.author", offering: sketching),
                ]
                for application in offering { try await application.reached("offering") }
                let data = "\(b.host.directory)/data"
                let reader = ProbedApplication(file: "\(b.host.directory)/test.reader")
                try b.install(
                    "test.reader",
                    [
                        try builtProgram("activity-probe"), "test.reader", reader.file, "eth0",
                        "\(Self.type),\(sketching)",
                    ],
                    #"""
                    "documentTypes": [{"mediaTypes": ["text/plain"], "activityType": "\#(Self.type)"}],
                    "activityTypes": ["\#(sketching)"]
                    """#,
                    in: data
                )
                let daemon = try await b.startDaemon(data: data)
                // Other systems cannot start it.
                let foreign = try await a.failedCall(b.address, "org.remotesystems.activities", "test.reader")
                #expect(foreign.contains("offers no service"), "\(foreign)")
                #expect(reader.steps.isEmpty)
                async let one = b.continueActivity(Self.type)
                async let other = b.continueActivity(sketching)
                for continued in try await [one, other] { #expect(continued.code == 0, "\(continued.lines)") }
                let steps = reader.steps
                #expect(steps.count { $0 == "started" } == 1, "\(steps)")
                #expect(
                    Set(steps.filter { $0.hasPrefix("decide") }) == ["decide \(Self.type)", "decide \(sketching)"]
                )
                #expect(steps.count { $0 == Self.restored } == 2, "\(steps)")
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

        @Test(.enabled(if: OtherClock.isThere, "libfaketime is not installed"))
        func `machines whose clocks are wrong by most of a day hand over like others`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                // Within the validity of certificates, which begins a day before.
                let clocks = [OtherClock.off(byHours: 20), OtherClock.off(byHours: -20)]
                for (number, (origin, receiver)) in [(0, 1), (1, 0)].enumerated() {
                    let type = "\(Self.type)-\(number)"
                    let offering = try machines[origin].application(
                        "test.author",
                        offering: type,
                        around: clocks[origin]
                    )
                    let receiving = try machines[receiver].application(
                        "test.reader",
                        continuing: type,
                        around: clocks[receiver]
                    )
                    try await offering.reached("offering")
                    let continued = try await machines[receiver].continueActivity(type)
                    #expect(continued.code == 0, "\(continued.lines)")
                    try await receiving.reached(Self.restored)
                    await offering.process?.stop()
                    await receiving.process?.stop()
                }
            }
        }

        @Test func `a command that waits for an application reports that it continues (H-95)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let offering = try machines[0].application("test.author", offering: Self.type)
                let receiving = try machines[1].application("test.reader", continuing: Self.type, hold: "decide")
                try await offering.reached("offering")
                let command = try machines[1].command(["activities", "continue", Self.type])
                try await receiving.reached("decide")
                try await command.reported("progress", within: .seconds(20))
                receiving.release()
                #expect(try await command.exit(within: .seconds(60)) == 0, "\(command.lines)")
                try await receiving.reached(Self.restored)
            }
        }

        @Test func `nothing of an activity is readable on the wire, while it is offered or continued (X-02)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(2)
                let a = Machine(host: try await network.addHost("a"), name: "secret-host", state: states[0])
                let b = Machine(host: try await network.addHost("b"), name: "beta", state: states[1])
                let capture = try b.host.start(Python.capture(interface: "eth0"))
                try await capture.capturing()
                let watching = try b.command(["activities", "watch"])
                let offering = try a.command([
                    "activities", "offer", "com.example.secret-type", "Text=secret content", "--title",
                    "A secret title",
                    "--web", "https://example.com/secret-page", "--application-id", "com.example.secret-editor",
                ])
                try await offering.reported("offering", within: .seconds(30))
                // The announcement has arrived, and the connection has carried the offer.
                try await watching.reported("offered", within: .seconds(60))
                let continued = try await b.continueActivity("com.example.secret-type", "--print")
                #expect(continued.code == 0, "\(continued.lines)")
                #expect(continued.lines.contains { $0.contains("secret content") }, "\(continued.lines)")
                try await offering.reported("continued", within: .seconds(30))
                await watching.stop()
                await capture.stop()

                let frames = capture.lines.filter { $0.hasPrefix("frame ") }
                #expect(frames.contains { $0.contains(Python.hex("_remote-systems")) }, "nothing was captured")
                for secret in ["secret", "com.example"] {
                    let readable = frames.filter { $0.contains(Python.hex(secret)) }
                    #expect(readable.isEmpty, "\(secret) is on the wire: \(readable)")
                }
            }
        }

        @Test func `a service of another user is a system of its own on the same machine, and uses no other one`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(2)
                let user = try await network.addMachine("alpha", state: states[0])
                let state = "\(user.host.directory)/state"
                try await run(["cp", "--recursive", states[1], state])
                try await run(["chown", "--recursive", "65534:65534", state])
                let program = try await user.host.programForEverybody()
                let unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + program
                let service = Machine(host: user.host, name: "alpha", state: state, launch: unprivileged)
                for (origin, receiver) in [(service, user), (user, service)] {
                    let offering = try origin.command(["activities", "offer", "com.example.backup", "Step:=3"])
                    try await offering.reported("offering", within: .seconds(30))
                    let printing = try receiver.command(["activities", "continue", "com.example.backup", "--print"])
                    #expect(try await printing.exit(within: .seconds(60)) == 0, "\(printing.lines)")
                    #expect(printing.lines.contains { $0.contains(#""Step":3"#) }, "\(printing.lines)")
                    let continued = try await offering.reported("continued", within: .seconds(30))
                    let account = try receiver.command(["account", "show"])
                    _ = try await account.exit()
                    #expect(account.reported.contains { $0.systemID == continued.systemID }, "\(account.lines)")
                }
                // The service cannot act as the user's system.
                let intruder = Machine(host: user.host, name: "alpha", state: states[0], launch: unprivileged)
                let refused = try intruder.command(["activities", "list"])
                #expect(try await refused.exit(within: .seconds(60)) > 1, "\(refused.lines)")
            }
        }

        @Test func `ten thousand descriptors of one machine do not hide the activity of another one`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta", "gamma")
                let (a, b, c) = (machines[0], machines[1], machines[2])
                let crowd = try a.application("test.crowd", crowd: 10)
                let offering = try b.application("test.author", offering: Self.type)
                let receiving = try c.application("test.reader", continuing: Self.type)
                try await crowd.reached("offering")
                try await offering.reached("offering")
                // Four of each of the ten applications, and the one.
                let events = try await eventually("the offers in the list", within: .seconds(60)) {
                    let list = try c.command(["activities", "list"])
                    _ = try await list.exit(within: .seconds(60))
                    let events = list.reported.filter { $0.event == "activity" }
                    return events.count == 41 ? events : nil
                }
                #expect(events.count { $0.title?.hasPrefix("Text") == true } == 40)
                let continued = try await c.continueActivity(Self.type)
                #expect(continued.code == 0, "\(continued.lines)")
                try await receiving.reached(Self.restored)
            }
        }
    }
}
