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
