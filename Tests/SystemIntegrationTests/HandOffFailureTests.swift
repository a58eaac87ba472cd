// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

/// Hand-off that fails at each step: programs that are killed, cables that are cut, and rivals.
extension SystemTests.HandOff {
    /// The pairs of applications of a test: one pair for each step, with an activity type of its own.
    private static func type(_ step: String) -> String { "com.example.\(step.isEmpty ? "waiting" : step)" }

    @Test func `an origin that is killed at any step ends the offer, and the receiver learns why (H-60)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let machines = try await network.addMachines("alpha", "beta")
            let (a, b) = (machines[0], machines[1])
            var pairs: [String: (origin: ProbedApplication, receiver: ProbedApplication)] = [:]
            for step in ["waiting", "decide", "save", "received", "stream", "restore"] {
                let isReceivers = ["decide", "received", "restore"].contains(step)
                pairs[step] = (
                    try a.application(
                        "test.author.\(step)",
                        offering: Self.type(step),
                        stop: isReceivers ? "" : step
                    ),
                    try b.application(
                        "test.reader.\(step)",
                        continuing: Self.type(step),
                        hold: isReceivers ? step : ""
                    )
                )
            }
            for pair in pairs.values { try await pair.origin.reached("offering") }
            for (step, pair) in pairs where step != "waiting" && step != "restore" {
                let continuing = try b.command(["activities", "continue", Self.type(step)])
                try await (["decide", "received"].contains(step) ? pair.receiver : pair.origin).reached(step)
                pair.origin.kill()
                pair.receiver.release()
                try await pair.receiver.letsFail(continuing)
                try await pair.receiver.reached("failed originGone")
                #expect(!pair.receiver.steps.contains { $0.hasPrefix("restore") })
            }
            let waiting = try #require(pairs["waiting"])
            waiting.origin.kill()
            let gone = try await b.continueActivity(Self.type("waiting"))
            #expect(gone.code == 1, "\(gone.lines)")
            #expect(waiting.receiver.steps == ["started"])

            // The receiver has everything.
            let complete = try #require(pairs["restore"])
            let continuing = try b.command(["activities", "continue", Self.type("restore")])
            try await complete.receiver.reached(Self.restored)
            complete.origin.kill()
            complete.receiver.release()
            let code = try await continuing.exit(within: .seconds(60))
            #expect(code == 0, "\(continuing.lines)")
            #expect(!complete.receiver.steps.contains { $0.hasPrefix("failed") }, "\(complete.receiver.steps)")
        }
    }

    @Test func `a receiver that is killed before it acknowledged takes nothing from the origin (H-35, H-36)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let machines = try await network.addMachines("alpha", "beta", "gamma")
            let (a, b, c) = (machines[0], machines[1], machines[2])
            let steps = ["decide", "save", "received", "streaming", "restore"]
            let applications = try steps.map { step in
                let isOrigins = step == "save"
                return (
                    origin: try a.application(
                        "test.author.\(step)",
                        offering: Self.type(step),
                        hold: isOrigins ? step : ""
                    ),
                    killed: try b.application(
                        "test.reader.\(step)",
                        continuing: Self.type(step),
                        stop: isOrigins ? "" : step
                    ),
                    other: try c.application("test.reader.\(step)", continuing: Self.type(step))
                )
            }
            for application in applications { try await application.origin.reached("offering") }
            for (step, application) in zip(steps, applications) {
                let continuing = try b.command(["activities", "continue", Self.type(step)])
                try await (step == "save" ? application.origin : application.killed).reached(step)
                application.killed.kill()
                application.origin.release()
                #expect(try await continuing.exit(within: .seconds(90)) == 2)
                // The origin is there; it is the application of this system that is not.
                let reported = try await continuing.allLines().joined()
                #expect(reported.contains(#""error":"handlerFailed""#), "\(reported)")
                let second = try await c.continueActivity(Self.type(step))
                if ["streaming", "restore"].contains(step) {
                    // It was acknowledged: the origin has given it up.
                    try await application.origin.reached("handed-over test.reader.\(step)")
                    #expect(second.code == 1, "\(second.lines)")
                    #expect(application.other.steps == ["started"])
                } else {
                    #expect(second.code == 0, "\(second.lines)")
                    try await application.other.reached(Self.restored)
                    #expect(application.origin.steps.count { $0.hasPrefix("handed-over") } == 1)
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(4)))
    func `a cable that is cut at any step is reported, and what was not acknowledged stays offered (H-36, H-60)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let machines = try await network.addMachines("alpha", "beta")
            let (a, b) = (machines[0], machines[1])
            let steps = ["decide", "save", "received", "stream"]
            let pairs = try steps.map { step in
                let isOrigins = step == "save" || step == "stream"
                return (
                    origin: try a.application(
                        "test.author.\(step)",
                        offering: Self.type(step),
                        hold: isOrigins ? step : "",
                        dead: 6
                    ),
                    receiver: try b.application(
                        "test.reader.\(step)",
                        continuing: Self.type(step),
                        hold: isOrigins ? "" : step,
                        dead: 6
                    )
                )
            }
            let waiting = (
                origin: try a.application("test.author.waiting", offering: Self.type("waiting"), dead: 6),
                receiver: try b.application("test.reader.waiting", continuing: Self.type("waiting"), dead: 6)
            )
            let complete = (
                origin: try a.application("test.author.restore", offering: Self.type("restore"), dead: 6),
                receiver: try b.application(
                    "test.reader.restore",
                    continuing: Self.type("restore"),
                    hold: "restore",
                    dead: 6
                )
            )
            for pair in pairs + [waiting, complete] { try await pair.origin.reached("offering") }
            let completing = try b.command(["activities", "continue", Self.type("restore")])
            try await complete.receiver.reached(Self.restored)
            let continuing = try steps.map { try b.command(["activities", "continue", Self.type($0)]) }
            for (step, pair) in zip(steps, pairs) {
                try await (step == "save" || step == "stream" ? pair.origin : pair.receiver).reached(step)
            }
            try await a.host.setCable(plugged: false)
            for pair in pairs {
                pair.origin.release()
                pair.receiver.release()
            }
            complete.receiver.release()
            for (command, pair) in zip(continuing, pairs) {
                try await pair.receiver.letsFail(command)
                try await pair.receiver.reached("failed originGone")
                #expect(!pair.receiver.steps.contains { $0.hasPrefix("restore") })
            }
            try await pairs[3].origin.reached("stream-failed")
            // The receiver has everything.
            let code = try await completing.exit(within: .seconds(60))
            #expect(code == 0, "\(completing.lines)")
            #expect(!complete.receiver.steps.contains { $0.hasPrefix("failed") }, "\(complete.receiver.steps)")
            let gone = try await b.continueActivity(Self.type("waiting"))
            #expect(gone.code == 1, "\(gone.lines)")
            #expect(waiting.receiver.steps == ["started"])
            try await a.host.setCable(plugged: true)
            for (step, pair) in zip(steps + ["waiting"], pairs + [waiting]) where step != "stream" {
                _ = try await eventually("the continuation", within: .seconds(60), every: .seconds(1)) {
                    try await b.continueActivity(Self.type(step)).code == 0 ? true : nil
                }
                try await pair.receiver.reached(Self.restored)
                #expect(pair.origin.steps.count { $0.hasPrefix("handed-over") } == 1)
            }
            // The last one was acknowledged before.
            #expect(pairs[3].origin.steps.count { $0.hasPrefix("handed-over") } == 1)
        }
    }

    @Test func `of two receivers that have the content one continues, and the other is refused (H-36)`()
        async throws
    {
        try await SimulatedNetwork.with { network in
            let machines = try await network.addMachines("alpha", "beta", "gamma")
            let offering = try machines[0].application("test.author", offering: Self.type)
            try await offering.reached("offering")
            let receivers = try machines.dropFirst().map {
                try $0.application("test.reader", continuing: Self.type, hold: "received")
            }
            let commands = try machines.dropFirst().map { try $0.command(["activities", "continue", Self.type]) }
            for receiver in receivers { try await receiver.reached("received") }
            for receiver in receivers { receiver.release() }
            var codes: [Int32] = []
            for command in commands { codes.append(try await command.exit(within: .seconds(60))) }
            #expect(codes.sorted() == [0, 2], "\(commands.map(\.lines))")
            #expect(receivers.count { $0.steps.contains(Self.restored) } == 1, "\(receivers.map(\.steps))")
            #expect(offering.steps.count { $0.hasPrefix("handed-over") } == 1, "\(offering.steps)")
            #expect(receivers.flatMap(\.steps).filter { $0.hasPrefix("failed") } == ["failed alreadyContinued"])
        }
    }
}
