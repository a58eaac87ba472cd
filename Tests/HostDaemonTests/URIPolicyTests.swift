// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// Issue 3 §1: which URIs the daemon and the applications open for remote launchers.
    @Suite struct Opening {
        @Test func `a standard scheme is denied, another one allowed, and a third one needs consent (X-20)`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.installHandler("https", "test", "tel")
                let asks = try daemon.script(
                    "ask",
                    """
                    printf '%s\\n' "$@" >> '\(daemon.directory)/asked'
                    case "$2" in
                    *tel:1) exit 0;;
                    *tel:2) exit 1;;
                    *) echo $$ > '\(daemon.directory)/unanswered'; exec sleep 60;;
                    esac
                    """
                )
                try daemon.configure(
                    """
                    {"uriPolicy": ["https=deny", "test=allow", "TEL=ask"], "askTimeout": 4,
                     "askProgram": ["\(asks)", "--text"]}
                    """
                )
                try await daemon.whileRunning { _, port in
                    let wanted: [(String, RemoteLaunchURIStatus)] = [
                        ("https://example.com/", .deniedByRemoteSystem), ("test:a", .success), ("tel:1", .success),
                        ("tel:2", .deniedByRemoteSystem), ("tel:3", .deniedByRemoteSystem),
                        ("http://example.com/", .protocolUnavailable),
                    ]
                    for (uri, status) in wanted {
                        let result = try await daemon.launch(uri, port: port)
                        #expect(result.status == status, "\(uri): \(result.error.debugDescription)")
                    }
                    _ = try await eventually("the handler") { daemon.handled.count == 2 ? true : nil }
                    // Each handler was started without waiting for its end.
                    #expect(Set(daemon.handled) == ["test:a", "tel:1"])
                    let asked = try String(contentsOfFile: "\(daemon.directory)/asked", encoding: .utf8)
                        .split(separator: "\n")
                    #expect(asked.count == 6)
                    #expect(asked.first == "--text")
                    #expect(asked[1].hasPrefix("The application test.caller on the system "), "\(asked[1])")
                    #expect(asked[1].hasSuffix(" of your account wants to open this here: tel:1"))
                    // The asking program that never responded has ended and was reaped.
                    let text = try String(contentsOfFile: "\(daemon.directory)/unanswered", encoding: .utf8)
                    let unanswered = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                    _ = try await eventually("the end of the question") { kill(unanswered, 0) != 0 ? true : nil }
                }
            }
        }

        @Test func `two questions are asked one after the other, and one that cannot be asked opens nothing`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.installHandler("tel")
                let asks = try daemon.script(
                    "ask",
                    "mkdir '\(daemon.directory)/asking' || exit 1; sleep 0.3; rmdir '\(daemon.directory)/asking'"
                )
                try daemon.configure(#"{"uriPolicy": ["tel=ask"], "askProgram": ["\#(asks)"]}"#)
                try await daemon.whileRunning { process, port in
                    async let one = daemon.launch("tel:1", port: port)
                    async let other = daemon.launch("tel:2", port: port)
                    let (first, second) = try await (one, other)
                    #expect(first.status == .success)
                    #expect(second.status == .success)
                    try FileManager.default.removeItem(atPath: asks)
                    let third = try await daemon.launch("tel:3", port: port)
                    #expect(third.status == .appUnavailable)
                    #expect(third.error?.canRetry == false)
                    _ = try await eventually("a word of it") {
                        process.lines.contains {
                            $0.contains("The user cannot be asked") && $0.contains("No such file")
                        } ? true : nil
                    }
                }
            }
        }

        @Test func `a handler and the asking program get only the stated environment of the daemon (X-34)`()
            async throws
        {
            try await Daemon.with { daemon in
                for name in ["handler", "ask"] {
                    let file = "\(daemon.directory)/\(name).env"
                    let program = try daemon.script(name, "env > '\(file).new'; mv '\(file).new' '\(file)'")
                    try daemon.installEntry(name, "Exec=\"\(program)\" %u", "X-RemoteSystems-NeedsDisplay=false")
                }
                try "[Default Applications]\nx-scheme-handler/tel=handler.desktop\n".write(
                    toFile: "\(daemon.directory)/config/mimeapps.list",
                    atomically: true,
                    encoding: .utf8
                )
                try daemon.configure(#"{"uriPolicy": ["tel=ask"], "askProgram": ["\#(daemon.directory)/ask"]}"#)
                let secrets = [
                    "API_TOKEN": "secret", "LD_LIBRARY_PATH": "/nowhere", "REMOTE_SYSTEMS_HOST_ADVERTISE": "true",
                ]
                try await daemon.whileRunning(environment: secrets) { _, port in
                    let result = try await daemon.launch("tel:1", port: port)
                    #expect(result.status == .success, "\(result.error.debugDescription)")
                }
                for name in ["handler", "ask"] {
                    let found = try await eventually("the environment") { () -> [String]? in
                        let text = try? String(contentsOfFile: "\(daemon.directory)/\(name).env", encoding: .utf8)
                        return text.flatMap { $0.isEmpty ? nil : $0.split(separator: "\n").map(String.init) }
                    }
                    #expect(found.contains("REMOTE_SYSTEMS_STATE=\(daemon.directory)/state"))
                    #expect(found.contains { $0.hasPrefix("PATH=") })
                    for secret in secrets.keys + ["SECRET_OF_THE_HOST"] {
                        #expect(!found.contains { $0.hasPrefix("\(secret)=") }, "\(name): \(found)")
                    }
                }
            }
        }

        @Test func `a refusal denies and a consent allows, even if the parent ignores SIGCHLD (X-20)`()
            async throws
        {
            try await Daemon.with { daemon in
                try daemon.installHandler("tel")
                let asks = try daemon.script("ask", #"case "$1" in *tel:1) exit 0;; *) exit 1;; esac"#)
                try daemon.configure(#"{"uriPolicy": ["tel=ask"], "askProgram": ["\#(asks)"]}"#)
                let ignoring = ["/usr/bin/env", "--ignore-signal=CHLD"]
                try await daemon.whileRunning(around: ignoring) { _, port in
                    let allowed = try await daemon.launch("tel:1", port: port)
                    #expect(allowed.status == .success, "\(allowed.error.debugDescription)")
                    let denied = try await daemon.launch("tel:2", port: port)
                    #expect(denied.status == .deniedByRemoteSystem, "\(denied.error.debugDescription)")
                    _ = try await eventually("the handler") { daemon.handled.isEmpty ? nil : true }
                    #expect(daemon.handled == ["tel:1"])
                }
            }
        }

        @Test(arguments: [true, false])
        func `an application gets a scheme that the policy does not allow, running or not (R-18, R-25, R-26)`(
            isRunning: Bool
        ) async throws {
            try await Daemon.with { daemon in
                // The desktop has a handler for the scheme, too, and the policy does not name the scheme.
                try daemon.installHandler("test")
                let exec = try daemon.exec("test.player").replacing(
                    #"""# + daemon.record + #"""#,
                    with: #""\#(daemon.record)", "test""#
                )
                try daemon.install("test.player", start: exec)
                try await daemon.whileRunning { _, port in
                    if isRunning {
                        let called = try await daemon.call("test.player", port: port)
                        #expect(called.0 == .success, "\(called.1.debugDescription)")
                    }
                    let system = try await daemon.system { system in
                        system.application("test.player")?.isRunning == isRunning
                            && system.application("remote-systems.host") != nil
                    }
                    let result = try await RemoteLauncher().launchURI("test:x", with: .system(system))
                    #expect(result.status == .success, "\(result.error.debugDescription)")
                    #expect(result.applicationID == "test.player")
                    #expect(daemon.starts.count == 2)
                    #expect(daemon.starts.last == "opened test:x")
                    // The daemon itself still denies the scheme.
                    let denied = try await daemon.launch("test:x", port: port)
                    #expect(denied.status == .deniedByRemoteSystem)
                    #expect(daemon.handled.isEmpty)
                }
            }
        }
    }
}
