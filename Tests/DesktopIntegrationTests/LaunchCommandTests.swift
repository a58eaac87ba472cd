// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// `remotesystems launch` as a process.
    @Suite struct Command {
        static func run(_ opening: OpeningProcess, _ arguments: [String]) async throws -> (Int32, [String]) {
            let process = try ChildProcess(
                [try builtProgram("remotesystems"), "launch", "--loopback"] + arguments,
                environment: ["REMOTE_SYSTEMS_STATE": opening.state],
                readsErrors: true
            )
            let status = try await process.exit(within: .seconds(60))
            return (status, try await process.allLines())
        }

        @Test
        func `a URI opens as requested, and the opening application is reported (R-17, R-18, R-25)`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("one")
                try desktop.install("two")
                try desktop.associate("https", "one", "two")
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    let system = "127.0.0.1:\(opening.port)"
                    let (status, lines) = try await Self.run(
                        opening,
                        [system, "player:x", "--fallback", "https://example.com/x", "--application", "two"]
                    )
                    #expect(status == 0)
                    #expect(lines.count == 1)
                    #expect(lines.first?.hasPrefix("opened https://example.com/x on ") == true)
                    #expect(lines.first?.hasSuffix(" with two") == true)
                    let recorded = try await desktop.recorded("two")
                    #expect(recorded == ["https://example.com/x"])
                }
            }
        }

        @Test func `the default handler counts as a candidate for a required application`()
            async throws
        {
            try await Desktop.with { desktop in
                try desktop.install("one")
                // Only the default handler: no list of installed entries names it.
                try desktop.write(
                    "[Default Applications]\nx-scheme-handler/https=one.desktop\n",
                    to: "config/mimeapps.list"
                )
                try await desktop.duringHandshake(["DISPLAY": ":99"]) { opening in
                    let launch = ["127.0.0.1:\(opening.port)", "https://example.com/x", "--application"]
                    let (refused, lines) = try await Self.run(opening, launch + ["two", "--json"])
                    #expect(refused == 1)
                    let line = try #require(lines.first)
                    let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(json?["statusNumber"] as? Int == 2, "\(line)")
                    let (opened, _) = try await Self.run(opening, launch + ["one"])
                    #expect(opened == 0)
                    #expect(try await desktop.recorded("one") == ["https://example.com/x"])
                }
            }
        }

        @Test func `a refusal ends with 1, an unreachable system with 2, each with the reason`() async throws {
            try await Desktop.with { desktop in
                try await desktop.duringHandshake { opening in
                    let system = "127.0.0.1:\(opening.port)"
                    let (refused, lines) = try await Self.run(opening, [system, "player:x", "--json"])
                    #expect(refused == 1)
                    let line = try #require(lines.first)
                    let json = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(json?["event"] as? String == "launch")
                    #expect(json?["status"] as? String == "protocolUnavailable")
                    #expect(json?["statusNumber"] as? Int == 3)
                    #expect((json?["message"] as? String)?.contains("player") == true)
                    let (unreachable, _) = try await Self.run(opening, ["127.0.0.1:1", "player:x"])
                    #expect(unreachable == 2)
                }
            }
        }

        @Test(arguments: [
            ["--", "--help"], ["player:a b"], ["player:x", "--input", "a"], ["player:x", "--input", "a:=}"],
        ])
        func `invalid arguments end with 64 and open nothing`(arguments: [String]) async throws {
            try await Desktop.with { desktop in
                let process = try ChildProcess(
                    [try builtProgram("remotesystems"), "launch", "--loopback", "127.0.0.1:1"] + arguments,
                    environment: desktop.environment,
                    readsErrors: true
                )
                let status = try await process.exit(within: .seconds(60))
                #expect(status == 64)
            }
        }
    }
}
