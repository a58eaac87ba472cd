// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Synchronization
import Testing

extension CommandTests {
    /// `serve`, `ping`, `list` and `watch` on the loopback interface, with the embedded mDNS stack.
    @Suite struct Network {
        @Test func `a system is pinged by name, by id, by address and without a name (R-05, R-38, R-40)`() async throws
        {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let list = try await sandbox.list("--json")
                    let system = try #require(list.event("system"))
                    let name = try #require(system["name"] as? String)
                    let id = try #require(system["id"] as? String)
                    for target in [[name], [String(id.prefix(8))], ["127.0.0.1:\(port)"], ["localhost:\(port)"], []] {
                        let ping = try await sandbox.start(
                            ["ping", "--loopback", "--count", "3", "--interval", "0.01"] + target
                        ).finish()
                        #expect(ping.status == 0, "\(target) \(ping.errors)")
                        #expect(ping.lines.count == 6)
                        #expect(ping.lines.first?.hasPrefix("PING ") == true)
                        #expect(ping.lines.dropFirst().first?.contains("seq=1 time=") == true)
                        #expect(ping.lines.last == "3 sent, 3 answered, 0 lost")
                        #expect(ping.lines.dropLast().last?.hasPrefix("rtt min/median/p99/max = ") == true)
                        #expect(ping.lines.allSatisfy { !$0.contains("\u{1B}") })
                    }
                }
            }
        }

        @Test func `a ping carries its type, date and target under the guide's keys (R-38)`()
            async throws
        {
            let requests = Mutex<[ValueSet]>([])
            let service = AppService(AppService.pingName, requestSchema: .full, responseSchema: .full) { request in
                requests.withLock { $0.append(request.message) }
                return request.message
            }
            try await Calling.with([service]) { sandbox, address in
                let began = Date.now
                let ping = try await sandbox.start(
                    ["ping", address, "--loopback", "--count", "2", "--interval", "0", "--size", "3"]
                ).finish()
                #expect(ping.status == 0, "\(ping.errors)")
                let messages = requests.withLock { $0 }
                #expect(messages.count == 2)
                for message in messages {
                    #expect(Set(message.keys) == ["Type", "CreationDate", "TargetId", "Payload"])
                    #expect(message["Type"] == "ping")
                    #expect(message["TargetId"] == "test.player")
                    #expect(message["Payload"]?.data?.count == 3)
                    let created = try #require(message["CreationDate"]?.date)
                    // On the wire a date is a double in seconds, so its fraction of a second is kept.
                    #expect(began - 1 < created && created < Date.now + 1)
                }
            }
        }

        @Test func `a caller whose process ends is reported to the service as a closed connection (R-44)`()
            async throws
        {
            struct Provider: AppServiceProvider {
                let onClose: @Sendable (AppServiceClosedStatus) -> Void
                func respond(to request: AppServiceRequest) async throws -> ValueSet { request.message }
                func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
                    self.onClose(status)
                }
            }
            let closed = Mutex<[AppServiceClosedStatus]>([])
            let provider = Provider { status in closed.withLock { $0.append(status) } }
            let service = AppService(
                AppService.pingName,
                requestSchema: .full,
                responseSchema: .full,
                provider: provider
            )
            try await Calling.with([service]) { sandbox, address in
                let ping = try sandbox.start(
                    ["ping", address, "--loopback", "--json", "--count", "1000", "--interval", "60"]
                )
                _ = try await ping.event("reply")
                #expect(closed.withLock { $0.isEmpty })
                ping.process.send(SIGKILL)
                let status = try await eventually("the end of the connection", within: .seconds(30)) {
                    closed.withLock { $0.first }
                }
                #expect(status == .unknown)
            }
        }

        @Test func `a missing interface is named by every command that looks a system up, and by serve`() async throws {
            try await Sandbox.with { sandbox in
                for command in [["ping"], ["ping", "kitchen"], ["info", "kitchen"], ["call", "kitchen", "x"]] {
                    let failed = try await sandbox.start(command + ["--interface", "nosuch0", "--wait", "0.3"]).finish()
                    #expect(failed.status == 2)
                    #expect(failed.errors.contains("no interface nosuch0"), "\(command) \(failed.errors)")
                }
                let serving = try sandbox.start(["serve", "--interface", "nosuch0", "--port", "0"])
                _ = try await eventually("ready", within: .seconds(30)) { () -> Bool? in
                    serving.process.lines.contains { $0.hasPrefix("ready") } ? true : nil
                }
                #expect(serving.errors.contains("this one yet: There is no interface nosuch0"))
                await serving.process.stop()
            }
        }

        @Test func `a second serve names the first and ends with 2, and starts once the first was killed`()
            async throws
        {
            try await Sandbox.with { sandbox in
                let serve = ["serve", "--loopback", "--port", "0", "--json"]
                let first = try sandbox.start(serve)
                _ = try await first.event("ready")
                let second = try await sandbox.start(serve).finish()
                #expect(second.status == 2)
                let failed = try #require(second.event("failed"))
                #expect(failed["error"] as? String == "applicationAlreadyRunning")
                #expect((failed["message"] as? String)?.contains("process \(first.process.id) (remotesystems)") == true)
                let reported = try await sandbox.start(["serve", "--loopback", "--port", "0"]).finish()
                #expect(reported.status == 2)
                #expect(reported.errors.contains("--application-id"))
                // A service with another application id, or of another account, runs beside the first.
                for (arguments, machine) in [(["--application-id", "test.second"], "own"), ([], "other")] {
                    let beside = try sandbox.start(serve + arguments, as: machine)
                    _ = try await beside.event("ready")
                    await beside.process.stop()
                }
                first.process.send(SIGKILL)
                _ = try await first.process.exit()
                let third = try sandbox.start(serve)
                _ = try await third.event("ready")
                await third.process.stop()
            }
        }

        @Test func `with --json each response and the summary is a line`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let ping = try await sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json", "-c", "2", "-i", "0", "-s", "1000"]
                    ).finish()
                    #expect(ping.status == 0)
                    #expect(ping.json.count == ping.lines.count)
                    #expect(
                        ping.json.compactMap { $0["event"] as? String } == ["connected", "reply", "reply", "summary"]
                    )
                    let summary = try #require(ping.event("summary"))
                    #expect(summary["sent"] as? Int == 2)
                    #expect(summary["answered"] as? Int == 2)
                    let times = try #require(summary["microseconds"] as? [String: Double])
                    #expect(Set(times.keys) == ["min", "median", "p99", "max"])
                    #expect(try #require(times["min"]) > 0)
                }
            }
        }

        @Test(arguments: [(2, 0, 1), (100, 49, 98), (101, 50, 99)])
        func `median and 99th percentile use the nearest rank`(count: Int, median: Int, p99: Int) async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let ping = try await sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json", "-c", "\(count)", "-i", "0"]
                    ).finish()
                    let times = ping.json.compactMap {
                        $0["event"] as? String == "reply" ? $0["microseconds"] as? Double : nil
                    }
                    let sorted = times.sorted()
                    try #require(sorted.count == count)
                    let summary = try #require(ping.event("summary")?["microseconds"] as? [String: Double])
                    #expect(summary["median"] == sorted[median])
                    #expect(summary["p99"] == sorted[p99])
                }
            }
        }

        @Test func `Ctrl-C ends a ping with the summary`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    // Interrupted between two messages: a message under way would count as lost.
                    let ping = try sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json", "-c", "1000", "-i", "60"]
                    )
                    _ = try await ping.event("reply")
                    ping.process.send(SIGINT)
                    let finished = try await ping.finish(within: .seconds(30))
                    #expect(finished.status == 0)
                    #expect(finished.event("summary")?["lost"] as? Int == 0)
                }
            }
        }

        @Test func `a message that is too large ends the ping, and a service that dies is a loss`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { serving, port in
                    let large = try await sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json", "-c", "1", "-s", "2000000"]
                    ).finish()
                    #expect(large.status == 2)
                    #expect(large.event("failed")?["error"] as? String == "messageTooLarge")
                    #expect(large.event("lost") == nil)
                    let ping = try sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json", "-c", "1000", "-i", "0.05"]
                    )
                    _ = try await ping.event("reply")
                    serving.process.send(SIGKILL)
                    let finished = try await ping.finish(within: .seconds(30))
                    #expect(finished.status == 1)
                    #expect(finished.event("summary")?["lost"] as? Int == 1)
                }
            }
        }

        @Test func `a service that is not offered is reported with those that are`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let named = try await sandbox.start(
                        ["ping", "--loopback", "--service", "org.example.nothing", "--wait", "5", "--json"]
                    ).finish()
                    #expect(named.status == 2)
                    let message = named.event("failed")?["message"] as? String
                    #expect(message?.contains("remote-systems.ping") == true)
                    let addressed = try await sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--service", "org.example.nothing", "--json"]
                    ).finish()
                    #expect(addressed.status == 2)
                    #expect(addressed.event("failed")?["error"] as? String == "refused")
                    #expect(addressed.event("failed")?["side"] as? String == "remote")
                }
            }
        }

        @Test(arguments: [["missing"], ["127.0.0.1:1"], []])
        func `an unreachable target ends the ping with status 2`(target: [String]) async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.start(["ping", "--loopback", "--wait", "0.5", "--json"] + target)
                    .finish()
                #expect(finished.status == 2)
                #expect(finished.event("failed")?["error"] as? String == "unreachable")
            }
        }

        @Test func `a system of another account is not trusted`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let finished = try await sandbox.start(
                        ["ping", "127.0.0.1:\(port)", "--loopback", "--json"],
                        as: "stranger"
                    ).finish()
                    #expect(finished.status == 2)
                    #expect(finished.event("failed")?["error"] as? String == "notTrusted")
                    let list = try await sandbox.run("list", "--loopback", "--json", "--wait", "2", as: "stranger")
                    #expect(list.status == 1)
                    #expect(list.event("system") == nil)
                }
            }
        }

        @Test func `a port in use is reported`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let finished = try await sandbox.start(
                        ["serve", "--loopback", "--port", port, "--json", "--application-id", "test.second"]
                    ).finish()
                    #expect(finished.status == 2)
                    #expect(finished.event("failed")?["error"] as? String == "cannotListen")
                    #expect((finished.event("failed")?["message"] as? String)?.contains(port) == true)
                }
            }
        }

        @Test(arguments: [SIGTERM, SIGINT])
        func `serve reports when it is ready, and stops gracefully`(signal: Int32) async throws {
            try await Sandbox.with { sandbox in
                let serving = try sandbox.start(["serve", "--loopback", "--port", "0", "--json"])
                let ready = try await serving.event("ready")
                #expect(ready["service"] as? String == "remote-systems.ping")
                #expect(try #require(ready["port"] as? Int) > 0)
                serving.process.send(signal)
                let finished = try await serving.finish(within: .seconds(30))
                #expect(finished.status == 0)
                #expect(finished.event("stopped") != nil)
                #expect(finished.errors == "")
            }
        }

        @Test func `serve ends with its terminal`() async throws {
            try await self.serve(with: "--default-signal=HUP", receiving: [SIGHUP], endsWith: 128 + SIGHUP)
        }

        @Test func `serve outlives its terminal under nohup`() async throws {
            try await self.serve(with: "--ignore-signal=HUP", receiving: [SIGHUP, SIGTERM], endsWith: 0)
        }

        /// Expects an exit status of `serve` after signals.
        ///
        /// - Parameter disposition: the option of env(1) for the signals that `serve` inherits.
        private func serve(with disposition: String, receiving signals: [Int32], endsWith status: Int32) async throws {
            try await Sandbox.with { sandbox in
                let serving = try sandbox.start(
                    ["serve", "--loopback", "--port", "0", "--json"],
                    around: ["/usr/bin/env", disposition]
                )
                _ = try await serving.event("ready")
                for signal in signals { serving.process.send(signal) }
                let finished = try await serving.finish(within: .seconds(30))
                #expect(finished.status == status)
            }
        }

        @Test func `an empty list names the most likely reason`() async throws {
            try await Sandbox.with { sandbox in
                let plain = try await sandbox.run("list", "--loopback", "--wait", "1", "--filter", "kind=phone")
                #expect(plain.status == 1)
                #expect(plain.lines.isEmpty)
                #expect(plain.errors.contains("Most likely"))
                #expect(plain.errors.contains("→"))
                #expect(plain.errors.split(separator: "\n").allSatisfy { $0.count <= 80 })
                let json = try await sandbox.run("list", "--loopback", "--wait", "1", "--json")
                #expect(json.status == 1)
                #expect(json.json.map { $0["event"] as? String } == ["finding", "enumeration-completed"])
                #expect(json.event("finding")?["code"] is String)
                #expect(json.event("enumeration-completed")?["systems"] as? Int == 0)
                #expect(json.event("enumeration-completed")?["excluded"] as? Int == 0)
            }
        }

        @Test func `filters narrow the list`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, _ in
                    let offered = try await sandbox.list(
                        "--filter",
                        "service=remote-systems.ping",
                        "--filter",
                        "platform=linux"
                    )
                    #expect(offered.lines.count == 2)
                    let remote = try await sandbox.run("list", "--loopback", "--wait", "2", "--filter", "remote=yes")
                    #expect(remote.status == 1)
                }
            }
        }

        @Test func `watch prints additions and removals, a line each (R-03, R-10)`() async throws {
            try await Sandbox.with { sandbox in
                let watching = try sandbox.start(["watch", "--loopback", "--json"])
                _ = try await watching.event("enumeration-completed")
                try await sandbox.whileServing { serving, _ in
                    let added = try await watching.event("added")
                    #expect(added["isLocal"] as? Bool == true)
                    let applications = try #require(added["applications"] as? [JSONLine])
                    #expect(applications.first?["services"] as? [String] == ["remote-systems.ping"])
                    serving.process.send(SIGKILL)
                    let removed = try await watching.event("removed")
                    #expect(removed["id"] as? String == added["id"] as? String)
                }
                watching.process.send(SIGINT)
                let finished = try await watching.finish(within: .seconds(30))
                #expect(finished.status == 0)
                #expect(finished.json.count == finished.lines.count)
                #expect(finished.errors == "")
            }
        }

        @Test func `two machines of one account find and ping each other`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await Account.whileInviting(sandbox) { _, uri in
                    let outcome = try await sandbox.join(uri, as: "other")
                    #expect(outcome.status == 0)
                }
                try await sandbox.whileServing { _, _ in
                    let list = try await sandbox.list("--json", as: "other")
                    #expect(list.event("system")?["isLocal"] as? Bool == false)
                    let ping = try await sandbox.run("ping", "--loopback", "-c", "2", "-i", "0", as: "other")
                    #expect(ping.status == 0)
                }
            }
        }
    }
}
