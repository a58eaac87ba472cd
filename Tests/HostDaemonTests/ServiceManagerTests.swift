// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystemsDesktop
import Testing

@Suite struct ServiceManagerTests {
    @Test(arguments: [
        (ServiceMessage.ready, "READY=1"), (.stopping, "STOPPING=1"), (.watchdog, "WATCHDOG=1"),
        (.reloading(monotonic: 17), "RELOADING=1\nMONOTONIC_USEC=17"),
        (.status("one\nREADY=1"), "STATUS=one READY=1"),
    ])
    func `messages have the format of sd_notify(3)`(message: ServiceMessage, lines: String) {
        #expect(message.lines == lines)
    }

    @Test func `the watchdog applies only if WATCHDOG_PID is this process or missing`() {
        func timeout(_ environment: [String: String]) -> Duration? {
            ServiceNotifier(environment: environment, pid: 7).watchdogTimeout
        }
        #expect(timeout(["WATCHDOG_USEC": "2000000"]) == .seconds(2))
        #expect(timeout(["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "7"]) == .seconds(2))
        #expect(timeout(["WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "8"]) == nil)
        #expect(timeout(["WATCHDOG_USEC": "soon"]) == nil)
        #expect(timeout(["WATCHDOG_USEC": "0"]) == nil)
    }

    @Test(arguments: ["@remote-systems-test-\(UUID())", "/nowhere/at/all", String(repeating: "/x", count: 100), "x"])
    func `a service manager that does not listen causes no error`(name: String) {
        ServiceNotifier(environment: ["NOTIFY_SOCKET": name], pid: 7).send(.ready)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a service manager that stops reading does not block watchdog messages for ever`() throws {
        let path = "\(FileManager.default.temporaryDirectory.path)/notify-\(UUID())"
        let manager = try NotifySocket(path: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let queue = try #require(
            Int(
                try String(contentsOfFile: "/proc/sys/net/unix/max_dgram_qlen", encoding: .utf8)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            )
        )
        let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": path], pid: 7)
        // A message beyond the queue waits for a second and is dropped.
        for _ in 0..<queue + 2 { notifier.send(.watchdog) }
        let reported = manager.lines
        #expect(!reported.isEmpty && reported.count < queue + 2)
        notifier.send(.ready)
        #expect(manager.lines.last == "READY=1")
    }

    @Test func `sockets that were passed to another process are not used`() throws {
        #expect(try ActivationSockets(environment: [:], pid: 7).listeningSocket() == nil)
        #expect(
            try ActivationSockets(environment: ["LISTEN_PID": "8", "LISTEN_FDS": "1"], pid: 7).listeningSocket() == nil
        )
        #expect(throws: ActivationSockets.Failure.self) {
            try ActivationSockets(environment: ["LISTEN_PID": "7", "LISTEN_FDS": "many"], pid: 7)
        }
    }

    @Test func `the session bus starts the user's daemon by its unit, and the machine's not at all`() {
        let units = HostUnits(program: #"/opt/a "b"/c"#, isSystem: false, port: 4711)
        let names = ["Registry1", "Activities1", "Notifications1"].map { "org.remotesystems.\($0)" }
        #expect(units.busFiles.map(\.name) == names.map { "\($0).service" })
        for (file, name) in zip(units.busFiles, names) {
            #expect(file.text.hasPrefix(HostUnits.mark))
            #expect(file.text.contains("\nName=\(name)\n"))
            #expect(file.text.contains("\nSystemdService=remotesystems-host.service\n"))
            #expect(file.text.contains(#"Exec="/opt/a \"b\"/c" host run"#))
        }
        #expect(HostUnits(program: "/opt/a", isSystem: true, port: 4711).busFiles.isEmpty)
    }

    @Test func `written units name their author, quote the program, and limit restarts (X-34)`() {
        for isSystem in [true, false] {
            for file in HostUnits(program: "/opt/a b/100%", isSystem: isSystem, port: 4711).files {
                #expect(file.text.hasPrefix(HostUnits.mark))
                if file.name.hasSuffix(".socket") {
                    #expect(file.text.contains("ListenStream=4711\n"))
                } else {
                    #expect(file.text.contains("ExecStart=\"/opt/a b/100%%\" host run"))
                    #expect(file.text.contains("Type=notify\n"))
                    #expect(file.text.contains("NoNewPrivileges=true\n"))
                    #expect(file.text.contains("LimitNOFILE=4096:524288\n"))
                    let parts = file.text.split(separator: "[Service]")
                    #expect(parts.first?.contains("\nStartLimitIntervalSec=300\nStartLimitBurst=10\n") == true)
                    #expect(parts.last?.contains("\nRestartPreventExitStatus=2 64 78\n") == true)
                }
            }
        }
    }
}
