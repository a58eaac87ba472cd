// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Notifications between real hosts, each with its daemon.
    @Suite struct Notifications {
        @Test(arguments: ["killed", "cut off"])
        func `what is sent to a machine that is away arrives once when it is back, with its files (N-08, N-14, X-40)`(
            how: String
        )
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                var origin = try await a.startDaemon(data: "\(a.host.directory)/data")
                var target = try await b.startDaemon(data: "\(b.host.directory)/data")
                // The machines of an account keep what other tests have sent.
                func title(_ text: String) -> String { "\(text), \(how)" }
                func titles() async throws -> [String] { try await b.titles().filter { $0.hasSuffix(", \(how)") } }
                // They meet.
                _ = try await eventually("beta has the first one", within: .seconds(60)) {
                    _ = try await a.run(["notify", "--all", "--title", title("First"), "--id", how])
                    return try await titles() == [title("First")] ? true : nil
                }
                if how == "killed" {
                    target.send(SIGKILL)
                    _ = try await target.exit(within: .seconds(10))
                } else {
                    try await b.host.setCable(plugged: false)
                }
                // By its id: the account of the tests has more systems.
                let id = try #require(try await b.run(["account", "show"]).events.compactMap(\.systemID).first)
                let sound = Data("ID3\u{3} \(how)".utf8)
                let path = "\(a.host.directory)/song.mp3"
                for text in [title("Second"), title("Third")] {
                    try sound.write(to: URL(filePath: path))
                    let sent = try await a.run(
                        ["notify", id, "--later", "--title", text, "--id", "\(how), q", "--attach", path]
                    )
                    // The daemon has its own copy.
                    try FileManager.default.removeItem(atPath: path)
                    let later = sent.lines.filter { $0.contains(#""status":"later""#) }
                    #expect(sent.code == 0 && later.count == 1, "\(sent.lines)")
                }
                let outbox = try await a.run(["notifications", "outbox"])
                #expect(outbox.code == 0 && outbox.events.map(\.title) == [title("Third")], "\(outbox.lines)")
                // It survives the daemon that keeps it.
                origin.send(SIGKILL)
                _ = try await origin.exit(within: .seconds(10))
                origin = try await a.startDaemon(data: "\(a.host.directory)/data")
                if how == "killed" {
                    target = try await b.startDaemon(data: "\(b.host.directory)/data")
                } else {
                    try await b.host.setCable(plugged: true)
                }
                _ = try await eventually("beta has the last one", within: .seconds(90)) {
                    try await titles() == [title("First"), title("Third")] ? true : nil
                }
                _ = try await eventually("nothing waits any more", within: .seconds(60)) {
                    try await a.run(["notifications", "outbox"]).code == 1 ? true : nil
                }
                let list = try await b.run(["notifications", "list"])
                let line = try #require(list.lines.last { $0.contains(title("Third")) })
                let kept = try #require(line.firstMatch(of: /"path":"([^"]+\.mp3)"/))
                #expect(FileManager.default.contents(atPath: String(kept.output.1)) == sound)
                await origin.stop()
                await target.stop()
            }
        }

        @Test func `an answer that is given while the link is cut reaches the sender once it is back (N-11, X-40)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let target = try await b.startDaemon(data: "\(b.host.directory)/data")
                let id = try #require(try await b.run(["account", "show"]).events.compactMap(\.systemID).first)
                let title = "Deploy over the cut link?"
                let asking = try a.command(
                    ["notify", id, "--title", title, "--action", "yes=Deploy", "--action", "no=Wait", "--wait", "600"]
                        + ["--search-time", "60"]
                )
                let key = try await eventually("beta has the question", within: .seconds(90)) {
                    let line = try await b.run(["notifications", "list"]).lines.first { $0.contains(title) }
                    return line?.firstMatch(of: /"key":"([0-9]+)"/).map { String($0.output.1) }
                }
                // At the other end: programs of beta still find their daemon.
                try await a.host.setCable(plugged: false)
                _ = try await eventually("the answer is accepted", within: .seconds(60)) {
                    try await b.run(["notifications", "answer", key, "no"]).code == 0 ? true : nil
                }
                #expect(try await b.titles().contains(title) == false)
                #expect(asking.exitCode == nil)
                try await a.host.setCable(plugged: true)
                #expect(try await asking.exit(within: .seconds(120)) == 0)
                let answers = try await asking.allLines().filter { $0.contains(#""event":"answer""#) }
                #expect(answers.count == 1 && answers.first?.contains(#""action":"no""#) == true, "\(answers)")
                await target.stop()
            }
        }

        /// Changes the title, adds a file, and takes forever for one title.
        private static let changing = """
            #!/usr/bin/python3
            import json, os, sys, time
            request = json.loads(sys.stdin.readline())
            content = request["Content"]
            if content["Title"] == "slow":
                open(sys.argv[1], "w").close()
                time.sleep(600)
            content["Title"] = content["Title"].upper()
            path = os.environ["TMPDIR"] + "/sound"
            with open(path, "wb") as file:
                file.write(b"ID3\\x03 sound")
            print(json.dumps({"Content": content, "Files": {"sound": path}}), flush=True)

            """

        @Test func `an extension changes what comes, and its daemon's death loses nothing (N-03, N-17)`() async throws {
            try await SimulatedNetwork.with { network in
                let machines = try await network.addMachines("alpha", "beta")
                let (a, b) = (machines[0], machines[1])
                let (program, marker) = ("\(b.host.directory)/extension", "\(b.host.directory)/is-slow")
                try writeProgram(Self.changing, to: program)
                try b.install(
                    "com.example.messenger",
                    ["/bin/false"],
                    #""notificationServiceExtension": {"exec": ["\#(program)", "\#(marker)"]}"#,
                    in: "\(b.host.directory)/data"
                )
                var target = try await b.startDaemon(data: "\(b.host.directory)/data")
                let id = try #require(try await b.run(["account", "show"]).events.compactMap(\.systemID).first)
                func command(_ title: String) throws -> [String] {
                    let path = "\(a.host.directory)/\(title).json"
                    try #"{"aps":{"alert":{"title":"\#(title)"},"mutable-content":1}}"#
                        .write(toFile: path, atomically: true, encoding: .utf8)
                    return ["notify", id, "--application", "com.example.messenger", "--payload", path]
                }
                // It is found a moment later.
                let sent = try await eventually("it is sent", within: .seconds(60)) {
                    let sent = try await a.run(try command("quick"))
                    return sent.code == 0 ? sent : nil
                }
                #expect(sent.lines.contains { $0.contains(#""status":"kept""#) }, "\(sent.lines)")
                let list = try await b.run(["notifications", "list"]).lines.joined()
                #expect(list.contains(#""title":"QUICK""#) && list.contains(#""type":"audio/mpeg""#), "\(list)")

                let sending = try a.command(try command("slow"))
                _ = try await eventually("the extension runs", within: .seconds(60)) {
                    FileManager.default.fileExists(atPath: marker) ? true : nil
                }
                target.send(SIGKILL)
                _ = try await target.exit(within: .seconds(10))
                target = try await b.startDaemon(data: "\(b.host.directory)/data")
                #expect(try await b.titles().contains("slow"))
                _ = try await sending.exit(within: .seconds(90))
                await target.stop()
            }
        }
    }
}

extension Machine {
    fileprivate func run(
        _ arguments: [String]
    ) async throws -> (code: Int32, lines: [String], events: [ReportedEvent]) {
        let command = try self.command(arguments)
        let code = try await command.exit(within: .seconds(90))
        return (code, try await command.allLines(), command.reported)
    }

    /// The titles of the notifications that wait on this machine.
    fileprivate func titles() async throws -> [String] {
        try await self.run(["notifications", "list"]).events.filter { $0.event == "notification" }.compactMap(\.title)
    }
}
