// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension CommandTests {
    @Suite struct Doctor {
        @Test func `each finding has a code, a status, an observation and a reason`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                let finished = try await sandbox.run("doctor", "--loopback", "--port", "0", "--json")
                #expect(finished.status == 0)
                #expect(finished.json.count == finished.lines.count)
                let findings = finished.json.filter { $0["event"] as? String == "finding" }
                let codes = findings.compactMap { $0["code"] as? String }
                let expected = [
                    "clock", "account", "certificate", "interfaces", "avahi", "avahi-limits", "discovery", "port",
                    "systems", "other-accounts", "developer-mode", "notifications",
                ]
                #expect(codes == expected)
                for finding in findings {
                    let code = finding["code"] as? String
                    // Parallel tests may or may not serve on the same interface, and the person who runs the tests may
                    // or may not have a desktop.
                    if !["systems", "other-accounts", "notifications"].contains(code) {
                        #expect(finding["status"] as? String == "ok")
                    }
                    #expect(finding["what"] is String)
                    #expect(finding["why"] is String)
                }
                #expect(finished.event("summary")?["problems"] as? Int == 0)
            }
        }

        @Test func `doctor creates no account`() async throws {
            try await Sandbox.with { sandbox in
                let outcome = try await sandbox.run("doctor", "--loopback", "--port", "0")
                #expect(outcome.status == 0)
                #expect(!FileManager.default.fileExists(atPath: sandbox.state()))
            }
        }

        @Test func `the checked port is the one on which this system's host listens`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let finished = try await sandbox.run("doctor", "--loopback", "--json")
                    let finding = finished.json.first { $0["code"] as? String == "port" }
                    #expect(finding?["status"] as? String == "ok")
                    #expect((finding?["what"] as? String)?.hasSuffix("listens on port \(port).") == true)
                }
            }
        }

        @Test func `a damaged account is a problem, a port held by this system's own host is not`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    try Data("damaged".utf8).write(
                        to: URL(fileURLWithPath: sandbox.state() + "/account/account.json")
                    )
                    let finished = try await sandbox.run("doctor", "--loopback", "--port", port, "--json")
                    #expect(finished.status == 1)
                    func status(_ code: String) -> String? {
                        finished.json.first { $0["code"] as? String == code }?["status"] as? String
                    }
                    #expect(status("account") == "problem")
                    #expect(status("port") == "ok")
                    let plain = try await sandbox.run("doctor", "--loopback", "--port", port)
                    #expect(plain.status == 1)
                    #expect(plain.lines.contains { $0.contains("→") })
                }
            }
        }

        @Test func `a named system is checked by its address and by its id`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { serving, port in
                    let id = try #require(try await serving.event("ready")["systemID"] as? String)
                    for name in ["127.0.0.1:\(port)", String(id.prefix(8))] {
                        let finished = try await sandbox.run("doctor", name, "--loopback", "--port", "0", "--json")
                        #expect(finished.status == 0, "\(finished.lines)")
                        let codes = finished.json.compactMap { $0["code"] as? String }
                        #expect(
                            codes.suffix(5)
                                == ["peer", "peer-version", "peer-clock", "peer-connects-back", "peer-multicast"]
                        )
                        #expect(finished.json.last?["event"] as? String == "summary")
                    }
                }
            }
        }

        @Test func `a system that is not found or not reachable is a problem and no failure`() async throws {
            try await Sandbox.with { sandbox in
                let none = try await sandbox.run("doctor", "missing", "--loopback", "--port", "0", "--json")
                #expect(none.status == 1)
                #expect(!FileManager.default.fileExists(atPath: sandbox.state()))
                _ = try await sandbox.account()
                for name in ["missing", "127.0.0.1:9"] {
                    let finished = try await sandbox.start(
                        ["doctor", name, "--loopback", "--port", "0", "--wait", "0.5", "--json"]
                    ).finish()
                    #expect(finished.status == 1)
                    let finding = finished.json.first { $0["code"] as? String == "peer" }
                    #expect(finding?["status"] as? String == "problem")
                    #expect(finding?["advice"] is String)
                }
            }
        }

        @Test func `the output fits into 80 columns`() async throws {
            try await Sandbox.with { sandbox in
                try await sandbox.whileServing { _, port in
                    let finished = try await sandbox.start(
                        ["doctor", "127.0.0.1:\(port)", "--interface", "none0", "--port", "0"]
                    ).finish()
                    let command = finished.lines.filter { $0.count > 80 }
                    #expect(command.isEmpty, "\(command)")
                    #expect(finished.lines.contains { $0.hasPrefix("problem interfaces:") })
                }
            }
        }

        @Test func `a signal ends doctor, whatever it checks at that moment`() async throws {
            try await Sandbox.with { sandbox in
                _ = try await sandbox.account()
                // Searching for advertisements takes two seconds, and this system's checks do not throw.
                let doctor = try sandbox.start(["doctor", "127.0.0.1:9", "--loopback", "--port", "0", "--json"])
                let isReady = try await eventually("a doctor that handles signals", within: .seconds(30)) {
                    doctor.trapsTermination ? true : nil
                }
                #expect(isReady)
                doctor.process.send(SIGTERM)
                let finished = try await doctor.finish(within: .seconds(30))
                #expect(finished.status == 2, "\(finished.lines) \(finished.errors)")
                #expect(finished.event("failed")?["error"] as? String == "cancelled")
                #expect(finished.event("summary") == nil)
            }
        }

        @Test func `a missing interface is a problem`() async throws {
            try await Sandbox.with { sandbox in
                let finished = try await sandbox.run("doctor", "--interface", "none0", "--port", "0", "--json")
                #expect(finished.status == 1)
                let finding = finished.json.first { $0["code"] as? String == "interfaces" }
                #expect(finding?["status"] as? String == "problem")
                #expect((finding?["what"] as? String)?.contains("none0") == true)
            }
        }
    }
}
