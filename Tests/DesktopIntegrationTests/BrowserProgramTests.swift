// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// The program that a browser's extension talks to, and browsers that break its rules.
    @Suite struct BrowserProgram {
        @Test func `a browser that sends 100 MB is cut before the bytes are read, and learns why`() async throws {
            let (lines, errors) = try await Self.talk("ready,100MB")
            #expect(lines.contains { $0.contains("announced a message of 100000000 bytes; at most 1048576") })
            #expect(errors.contains("announced a message of 100000000 bytes"))
            let end = try #require(lines.last)
            #expect(end.contains("\"status\": 2"), "\(lines)")
            // The pipe and one read.
            #expect(try Self.number("taken", in: end) < 2_000_000)
        }

        @Test func `invalid messages, private pages and other addresses are refused, and the next message counts`()
            async throws
        {
            let addresses = ["file:///etc/passwd", "javascript:alert(1)", "https://", "about:blank"]
            let pages = addresses.map { "page=\($0)" }.joined(separator: ",")
            let (lines, _) = try await Self.talk("ready,garbage,list,private,\(pages),continue=x,end")
            let failures = lines.filter { $0.contains("\"failed\"") }
            #expect(failures.count { $0.contains("not a JSON object with a type") } == 2, "\(lines)")
            #expect(failures.count { $0.contains("Pages of private windows are not offered") } == 1)
            #expect(failures.count { $0.contains("Only pages with an http or https address") } == 4)
            #expect(failures.count { $0.contains("activityUnknown") } <= 1)
            // The browser ended by itself.
            #expect(lines.last?.contains("\"status\": 0") == true, "\(lines)")
        }

        @Test func `a browser that sends garbage without an end is cut`() async throws {
            let garbage = [String](repeating: "garbage", count: 40).joined(separator: ",")
            let (lines, errors) = try await Self.talk("ready,\(garbage)")
            #expect(lines.last?.contains("\"status\": 2") == true, "\(lines)")
            #expect(errors.contains("Too many messages of the browser are not valid"))
        }

        @Test func `a second program of the same browser says that the first one runs`() async throws {
            try await Desktop.with { desktop in
                let command = [try builtProgram("remotesystems"), "activities", "browser", "--browser", "firefox"]
                let first = try Self.start(desktop.environment, "ready", command)
                try await first.prints("{\"application\": \"org.remotesystems.web-browser.firefox\"")
                let second = try Self.start(desktop.environment, "ready", command)
                try await second.prints("{\"status\": 2")
                #expect(second.lines.contains { $0.contains("\"type\": \"failed\"") }, "\(second.lines)")
                await first.stop()
            }
        }

        @Test func `an application's page is opened by its address only, and stays offered if that fails (H-79, B-15)`()
            async throws
        {
            try await TwoBuses.with { first, second in
                let remotesystems = try builtProgram("remotesystems")
                // Without developer mode, nothing but the address is given to a browser, which has no publisher.
                try await run(
                    [remotesystems, "activities", "settings", "--developer-mode", "off"],
                    environment: first.environment
                )
                let offering = try first.start(
                    [remotesystems, "activities", "offer", "com.example.reading", "Secret=content"]
                        + ["--web", "https://example.com/x", "--loopback"]
                )
                try await offering.prints("Offering ")
                let browser = try Self.start(
                    second.environment,
                    "ready,open=no window,continue,open=,continue,end",
                    [remotesystems, "activities", "browser", "--browser", "chromium"]
                )
                _ = try await browser.exit(within: .seconds(200))
                let outcomes = browser.lines.filter { $0.contains(#""type": "failed""#) || $0.contains("continued") }
                #expect(outcomes.count == 2, "\(browser.lines)")
                #expect(outcomes.first?.contains("The browser did not open the page: no window") == true)
                #expect(outcomes.last?.contains(#""type": "continued""#) == true, "\(browser.lines)")
                let opened = browser.lines.filter { $0.contains(#""type": "open""#) }
                #expect(opened.count == 2 && opened.allSatisfy { $0.contains("https://example.com/x") }, "\(opened)")
                let code = try await offering.exit(within: .seconds(60))
                #expect(code == 0, "\(offering.lines)")
                let handedOver = offering.lines.filter {
                    $0.hasPrefix("Continued by org.remotesystems.web-browser.chromium")
                }
                #expect(handedOver.count == 1, "\(offering.lines)")
            }
        }

        @Test func `a page that the named browser does not open stays offered, and can be continued again (B-15)`()
            async throws
        {
            try await TwoBuses.with { first, second in
                let remotesystems = try builtProgram("remotesystems")
                let offering = try first.start(
                    [remotesystems, "activities", "offer", "org.remotesystems.browsing-web"]
                        + ["--web", "https://example.com/x", "--loopback"]
                )
                try await offering.prints("Offering ")
                let browser = try Self.start(
                    second.environment,
                    "ready,open=no window,opened=1,open=,opened=2",
                    [remotesystems, "activities", "browser", "--browser", "chromium"]
                )
                let application = "org.remotesystems.web-browser.chromium"
                let command =
                    [remotesystems, "activities", "continue", "org.remotesystems.browsing-web", "--loopback"]
                    + ["--in", application]
                // Fails with another reason before the daemon lists the browser.
                _ = try await eventually("the browser's refusal", within: .seconds(60)) { () async throws -> Bool? in
                    let failing = try second.start(command)
                    let code = try await failing.exit(within: .seconds(60))
                    #expect(code == 2, "\(failing.lines)")
                    return failing.lines.joined().contains("no window") ? true : nil
                }
                #expect(offering.lines.count == 1, "\(offering.lines)")
                let continuing = try second.start(command)
                let code = try await continuing.exit(within: .seconds(60))
                #expect(code == 0, "\(continuing.lines)")
                let end = try await offering.exit(within: .seconds(60))
                #expect(end == 0, "\(offering.lines)")
                await browser.stop()
            }
        }

        @Test func `the browser learns that another system has continued its page, and that it has failed to (H-61)`()
            async throws
        {
            try await TwoBuses.with { first, second in
                let remotesystems = try builtProgram("remotesystems")
                let browser = try Self.start(
                    first.environment,
                    "ready,page=https://example.com/x,received=handed-over,received=returned,end",
                    [remotesystems, "activities", "browser", "--browser", "chromium"]
                )
                let type = "org.remotesystems.browsing-web"
                let reader = try second.start([
                    try builtProgram("activity-probe"), "test.reader", "\(second.desktop.directory)/reader", "lo", type,
                    "fail=restore",
                ])
                // Fails with another reason before the page and the application are listed.
                _ = try await eventually("the reader's failure", within: .seconds(60)) { () async throws -> Bool? in
                    let failing = try second.start(
                        [remotesystems, "activities", "continue", type, "--loopback", "--in", "test.reader"]
                    )
                    let code = try await failing.exit(within: .seconds(60))
                    #expect(code != 0, "\(failing.lines)")
                    return failing.lines.joined().contains("could not continue the activity") ? true : nil
                }
                _ = try await browser.exit(within: .seconds(200))
                let reports = browser.lines.filter { $0.contains(#""title": "A page", "type": "#) }
                #expect(reports.count == 2, "\(browser.lines)")
                #expect(reports.first?.contains(#""type": "handed-over""#) == true, "\(browser.lines)")
                #expect(reports.last?.contains(#""type": "returned""#) == true, "\(browser.lines)")
                await reader.stop()
            }
        }

        @Test func `a page that is continued elsewhere is not offered again when its title changes`() async throws {
            try await TwoBuses.with { first, second in
                let remotesystems = try builtProgram("remotesystems")
                let watching = try second.start([remotesystems, "activities", "watch", "--loopback", "--json"])
                let type = "org.remotesystems.browsing-web"
                let reader = try second.start([
                    try builtProgram("activity-probe"), "test.reader", "\(second.desktop.directory)/reader", "lo", type,
                ])
                let browser = try Self.start(
                    first.environment,
                    "ready,page=https://example.com/x,received=handed-over,page=https://example.com/x Another title,"
                        + "pause,page=https://example.com/y Last page,received=end",
                    [remotesystems, "activities", "browser", "--browser", "chromium"]
                )
                // Fails before the page and the application are listed.
                _ = try await eventually("the continuation", within: .seconds(60)) { () async throws -> Bool? in
                    let continuing = try second.start(
                        [remotesystems, "activities", "continue", type, "--loopback", "--in", "test.reader"]
                    )
                    return try await continuing.exit(within: .seconds(60)) == 0 ? true : nil
                }
                _ = try await eventually("the next page", within: .seconds(60)) {
                    watching.lines.contains { $0.contains("Last page") } ? true : nil
                }
                #expect(!watching.lines.contains { $0.contains("Another title") }, "\(watching.lines)")
                await browser.stop()
                await reader.stop()
                await watching.stop()
            }
        }

        @Test func `the files of the browsers are written, and removed again`() async throws {
            try await Desktop.with { desktop in
                func install(_ arguments: String...) async throws -> [String] {
                    let process = try ChildProcess(
                        [try builtProgram("remotesystems"), "activities", "browser"] + arguments,
                        environment: desktop.environment,
                        readsErrors: true
                    )
                    _ = try await process.exit(within: .seconds(60))
                    return process.lines
                }
                let written = try await install("--install", "--loopback", "--program", "/opt/it's here/remotesystems")
                #expect(written.count == 6, "\(written)")
                let script = "\(desktop.directory)/data/remote-systems/browsers/firefox"
                let text = try String(contentsOfFile: script, encoding: .utf8)
                #expect(text.contains(#"exec '/opt/it'\''s here/remotesystems' 'activities' 'browser' "#))
                #expect(text.contains(#"'--browser' 'firefox' '--loopback' "$@""#))
                #expect(FileManager.default.isExecutableFile(atPath: script))
                for (place, rule) in [
                    ("config/chromium/NativeMessagingHosts", "allowed_origins"),
                    ("config/google-chrome/NativeMessagingHosts", "allowed_origins"),
                    ("home/.mozilla/native-messaging-hosts", "allowed_extensions"),
                ] {
                    let file = "\(desktop.directory)/\(place)/org.remotesystems.browser.json"
                    let bytes = try Data(contentsOf: URL(filePath: file))
                    let manifest = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
                    #expect((manifest[rule] as? [String])?.count == 1)
                    #expect((manifest["path"] as? String)?.hasPrefix("\(desktop.directory)/data/") == true)
                }
                #expect(try await install("--uninstall").count == 6)
                #expect(!FileManager.default.fileExists(atPath: script))
                #expect(try await install("--uninstall") == ["There is nothing to remove."])
            }
        }

        /// Runs the program with a browser, to the end.
        private static func talk(_ kind: String) async throws -> (lines: [String], errors: String) {
            try await Desktop.with { desktop in
                let process = try Self.start(
                    desktop.environment,
                    kind,
                    [try builtProgram("remotesystems"), "activities", "browser", "--browser", "chromium"]
                )
                _ = try await process.exit(within: .seconds(60))
                return (process.lines.filter { $0.hasPrefix("{") }, process.lines.joined(separator: "\n"))
            }
        }

        private static func start(
            _ environment: [String: String],
            _ kind: String,
            _ command: [String]
        ) throws -> ChildProcess {
            let tests = URL(filePath: #filePath).deletingLastPathComponent()
            return try ChildProcess(
                ["/usr/bin/python3", "-u", tests.appending(path: "Scripts/native_host.py").path, kind] + command
                    + ["--loopback"],
                environment: environment,
                readsErrors: true
            )
        }

        private static func number(_ key: String, in line: String) throws -> Int {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return try #require(object?[key] as? Int)
        }
    }
}
