// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing
import UserNotifications

extension HostDaemonTests {
    /// `remotesystems notify` and the daemon of the same system.
    @Suite struct NotifyCommand {
        private static let question = [
            "notify", "--all", "--loopback", "--title", "Deploy?", "--category", "deploy", "--action", "yes=Deploy",
        ]

        /// Waits until a notification is listed, and returns its key.
        private static func listedKey(_ daemon: Daemon) async throws -> String {
            try await eventually("a question is listed", within: .seconds(60), every: .milliseconds(50)) {
                let (_, lines) = try await daemon.finish(["notifications", "list", "--json", "--loopback"])
                return lines.joined().firstMatch(of: /"key":"([0-9]+)"/).map { String($0.output.1) }
            }
        }

        private static func permit(_ permission: String, _ daemon: Daemon) async throws {
            let (status, lines) = try await daemon.finish(
                ["notifications", "permit", permission, "--application", "remote-systems.command.notify", "--loopback"]
            )
            #expect(status == 0, "\(lines)")
        }

        @Test func `a question to all waits for the first system to appear`() async throws {
            try await Daemon.with { daemon in
                let asking = try daemon.command(Self.question + ["--wait", "120", "--search-time", "0.5"])
                _ = try await eventually("it has found no system", within: .seconds(30)) {
                    if let code = asking.exitCode { throw IntegrationError("it ended with \(code): \(asking.lines)") }
                    return asking.lines.contains { $0.hasPrefix("No system has the notification yet.") } ? true : nil
                }
                try await daemon.whileRunning { _, _ in
                    let key = try await Self.listedKey(daemon)
                    let (status, lines) = try await daemon.finish(["notifications", "answer", key, "yes", "--loopback"])
                    #expect(status == 0, "\(lines)")
                    #expect(try await asking.exit(within: .seconds(60)) == 0)
                    #expect(asking.lines.last == "yes")
                }
            }
        }

        @Test func `a question without any system ends as unreachable when the time is over`() async throws {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(
                    Self.question + ["--wait", "1", "--search-time", "0.5", "--json"]
                )
                #expect(status == 2)
                #expect(lines.joined().contains(#""error":"unreachable""#), "\(lines)")
            }
        }

        @Test(arguments: [true, false])
        func `a question that expired everywhere is waited for no longer`(asksAll: Bool) async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, _ in
                    let id = try await process.event("ready")["systemID"] as? String ?? ""
                    let system = asksAll ? ["--all"] : [id]
                    let (status, lines) = try await daemon.finish(
                        ["notify", "--loopback", "--title", "Deploy?", "--wait", "600", "--expire", "1", "--json"]
                            + system
                    )
                    #expect(status == 1)
                    #expect(lines.last?.contains(#""event":"unanswered","reason":"expired""#) == true, "\(lines)")
                }
            }
        }

        @Test(arguments: [SIGINT, SIGTERM])
        func `an interrupted question is withdrawn, and is not called unanswered`(signal: Int32) async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let asking = try daemon.command(Self.question + ["--wait", "600", "--json"])
                    _ = try await Self.listedKey(daemon)
                    _ = try await asking.event("delivery")
                    asking.send(signal)
                    #expect(try await asking.exit(within: .seconds(60)) == 2)
                    let failed = try #require(asking.lines.last)
                    #expect(failed.contains(#""error":"cancelled""#) && failed.contains("interrupted"))
                    #expect(!asking.lines.joined().contains("unanswered"))
                    let (status, lines) = try await daemon.finish(["notifications", "list", "--loopback"])
                    #expect(status == 1, "\(lines)")
                }
            }
        }

        @Test func `a denied sender is refused with the reason, once`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { process, _ in
                    try await Self.permit("denied", daemon)
                    let id = try await process.event("ready")["systemID"] as? String ?? ""
                    for system in ["--all", id] {
                        let (status, lines) = try await daemon.finish(
                            ["notify", system, "--title", "Deploy?", "--loopback"]
                        )
                        #expect(status == 2)
                        #expect(lines.count { $0.contains("does not permit") } == 1, "\(lines)")
                        #expect(lines.contains { $0.contains(" refused") })
                        #expect(lines.contains { $0.contains("Retrying does not help") })
                    }
                    let (_, lines) = try await daemon.finish(Self.question + ["--json"])
                    let delivery = try #require(lines.first { $0.contains(#""event":"delivery""#) })
                    #expect(delivery.contains(#""status":"refused""#) && delivery.contains(#""canRetry":false"#))
                    #expect(lines.count { $0.contains(#""error":"notAuthorized""#) } == 2, "\(lines)")
                }
            }
        }

        @Test func `a rate-limited sender may retry, and a question does`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, port in
                    let connection = RemoteNotificationConnection(
                        RemoteSystemConnectionRequest(
                            host: "127.0.0.1",
                            port: port,
                            // Each application of a system has its own limit.
                            configuration: daemon.configuration("remote-systems.command.notify")
                        )
                    )
                    try await connection.open()
                    // One without a text counts as well, and does not wait for a server.
                    let request = NotificationRequest(identifier: "empty", content: NotificationContent(title: ""))
                    let notification = RemoteNotification(request)
                    for _ in 0..<40 { _ = try? await connection.deliver(notification) }
                    // Takes what becomes permitted meanwhile: one every two seconds.
                    let flood = Task {
                        await withDiscardingTaskGroup { group in
                            for _ in 0..<4 {
                                group.addTask {
                                    while !Task.isCancelled { _ = try? await connection.deliver(notification) }
                                }
                            }
                        }
                    }
                    defer { flood.cancel() }
                    let (status, lines) = try await daemon.finish(Self.question + ["--json"])
                    #expect(status == 2)
                    let delivery = try #require(lines.first { $0.contains(#""event":"delivery""#) })
                    #expect(delivery.contains(#""error":"rateLimited""#) && delivery.contains(#""canRetry":true"#))
                    let asking = try daemon.command(Self.question + ["--wait", "600", "--expire", "1", "--json"])
                    let first = try await asking.event("delivery")
                    #expect(first["error"] as? String == "rateLimited")
                    flood.cancel()
                    #expect(try await asking.exit(within: .seconds(60)) == 1)
                    #expect(asking.lines.contains { $0.contains(#""status":"kept""#) }, "\(asking.lines)")
                    #expect(asking.lines.last?.contains(#""reason":"expired""#) == true)
                    await connection.close()
                }
            }
        }

        @Test(arguments: ["denied", "replaced"])
        func `a command that waits learns that its question is gone`(how: String) async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let question = Self.question + ["--id", "deploy", "--wait", "600", "--json"]
                    let asking = try daemon.command(question)
                    _ = try await asking.event("delivery")
                    if how == "denied" {
                        let permit = ["notifications", "permit", "denied", "--loopback", "--application"]
                        #expect(try await daemon.finish(permit + ["remote-systems.command.notify"]).0 == 0)
                    } else {
                        #expect(try await daemon.finish(Self.question + ["--id", "deploy"]).0 == 0)
                    }
                    #expect(try await asking.exit(within: .seconds(60)) == 1)
                    #expect(asking.lines.last?.contains(#""reason":"notKept""#) == true, "\(asking.lines)")
                    let (_, list) = try await daemon.finish(["notifications", "list", "--loopback"])
                    #expect(list.contains { $0.contains("Deploy?") } == (how == "replaced"), "\(list)")
                }
            }
        }

        @Test func `a script with an own id has its own permission`() async throws {
            try await Daemon.with { daemon in
                try await daemon.whileRunning { _, _ in
                    let permit = ["notifications", "permit", "denied", "--application", "com.example.build"]
                    #expect(try await daemon.finish(permit + ["--loopback"]).0 == 0)
                    let notify = ["notify", "--all", "--title", "Built", "--loopback"]
                    let (denied, lines) = try await daemon.finish(notify + ["--sender-id", "com.example.build"])
                    #expect(denied == 2 && lines.joined().contains("does not permit"), "\(lines)")
                    for id in ["com.example.deploy", nil] {
                        let arguments = notify + (id.map { ["--sender-id", $0] } ?? [])
                        let (status, lines) = try await daemon.finish(arguments)
                        #expect(status == 0, "\(lines)")
                    }
                    let (wrong, error) = try await daemon.finish(notify + ["--sender-id", "a\nb"])
                    #expect(wrong == 64, "\(error)")
                }
            }
        }

        @Test func `a notification without a text is refused before it is sent`() async throws {
            try await Daemon.with { daemon in
                let (status, lines) = try await daemon.finish(["notify", "--all", "--title", "", "--loopback"])
                #expect(status == 64, "\(lines)")
            }
        }

        @Test func `the script that asks reports an error as one, and not as a missing answer`() async throws {
            try await Daemon.with { daemon in
                let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                    .deletingLastPathComponent().appending(path: "Samples/ask-from-a-script/deploy").path
                func run(_ arguments: String...) async throws -> (Int32, String) {
                    let process = try ChildProcess(
                        [script] + arguments,
                        environment: daemon.environment.merging(
                            ["REMOTE_SYSTEMS": try builtProgram("remotesystems")]
                        ) { $1 },
                        readsErrors: true
                    )
                    let status = try await process.exit(within: .seconds(60))
                    return (status, try await process.allLines().joined(separator: "\n"))
                }
                let (usage, line) = try await run()
                #expect(usage == 64 && line.hasPrefix("Usage: deploy BUILD"))
                let (failed, reason) = try await run("7", "--loopback", "--search-time", "0.5", "--wait", "1")
                #expect(failed == 2 && reason.hasSuffix("not deployed: the question could not be asked"), "\(reason)")
                try await daemon.whileRunning { _, _ in
                    let (status, text) = try await run("7", "--loopback", "--wait", "600", "--expire", "1")
                    #expect(status == 0 && text.hasSuffix("waiting: no answer"), "\(text)")
                }
            }
        }
    }
}
