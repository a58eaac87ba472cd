// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Numbers at the icons of applications, as a dock on a real bus hears of them.
    @Suite struct Badges {
        @Test func `a dock hears of a number, and again when the daemon has started again (N-05, X-81)`() async throws {
            try await Desktop.with { desktop in
                let states = ["\(desktop.directory)/system", "\(desktop.directory)/sender"]
                try await createTwoSystems(states[0], states[1])
                try await desktop.withBus { bus in
                    let environment = desktop.environment.merging(bus) { $1 }
                    let system = QuestionDesktop(desktop: desktop, state: states[0], environment: environment)
                    let dock = try system.start(
                        ["dbus-monitor", "--session", "interface='com.canonical.Unity.LauncherEntry'"]
                    )
                    _ = try await eventually("the dock listens", within: .seconds(30)) {
                        dock.lines.contains { $0.contains("NameAcquired") } ? true : nil
                    }
                    let daemon = try await system.startDaemon()
                    let payload = "\(desktop.directory)/payload.json"
                    try #"{"aps":{"badge":12}}"#.write(toFile: payload, atomically: true, encoding: .utf8)
                    let sending = try system.start(
                        [try builtProgram("remotesystems"), "notify", "--loopback", "--state-directory", states[1]]
                            + ["--all", "--payload", payload, "--json"]
                    )
                    #expect(try await sending.exit(within: .seconds(60)) == 0)
                    #expect(try await sending.allLines().joined().contains(#""status":"handled""#))
                    try await Self.shows(12, dock, from: 0)
                    await daemon.stop()
                    let count = dock.lines.count
                    let second = try await system.startDaemon()
                    try await Self.shows(12, dock, from: count)
                    await second.stop()
                    await dock.stop()
                }
            }
        }

        private static func shows(_ count: Int, _ dock: ChildProcess, from line: Int) async throws {
            let text = try await eventually("the number", within: .seconds(60)) {
                let text = dock.lines.dropFirst(line).joined(separator: " ")
                return text.contains("int64 \(count)") && text.contains("boolean true") ? text : nil
            }
            #expect(text.contains(#"string "application://remote-systems.command.notify.desktop""#), "\(text)")
            #expect(text.contains("member=Update"), "\(text)")
        }
    }
}
