// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// Installed applications whose manifests name a desktop entry.
    @Suite struct Entries {
        @Test func `the daemon starts an entry's program itself, and the caller is connected (R-20, R-26)`()
            async throws
        {
            try await Daemon.with { daemon in
                // Tests a field code without a URI, quotes, and an argument that a shell would expand.
                try daemon.installEntry(
                    "test.player",
                    "Exec=\"\(try builtProgram("installed-application"))\" %U test.player \"\(daemon.record)\"",
                    "X-RemoteSystems-NeedsDisplay=false",
                    "Path=\(daemon.directory)/shared"
                )
                try daemon.install("test.player", start: #"{"desktop": "test.player.desktop"}"#)
                try await daemon.whileRunning { _, port in
                    let player = try await daemon.call("test.player", port: port)
                    #expect(player.0 == .success, "\(player.1.debugDescription)")
                    let start = try #require(daemon.starts.first)
                    #expect(daemon.starts.count == 1)
                    #expect(start.contains("REMOTE_SYSTEMS_STATE"))
                    #expect(!start.contains("SECRET_OF_THE_HOST") && !start.contains("GIO_LAUNCHED"), "\(start)")
                    #expect(start.hasSuffix("descriptors=4 session=true"), "\(start)")
                    let directory = try FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/\(try #require(player.2))/cwd"
                    )
                    #expect(directory == "\(daemon.directory)/shared")
                }
            }
        }

        @Test func `an entry that cannot be started, or fails, is reported with the reason`() async throws {
            try await Daemon.with { daemon in
                let entries = [
                    ("test.failing", ["Exec=/bin/false", "X-RemoteSystems-NeedsDisplay=false"], "exit status 1"),
                    ("test.graphical", ["Exec=/bin/true"], "needs a display"),
                    (
                        "test.terminal", ["Exec=/bin/true", "Terminal=true", "X-RemoteSystems-NeedsDisplay=false"],
                        "terminal"
                    ),
                    ("test.strange", ["Exec=/bin/true %x", "X-RemoteSystems-NeedsDisplay=false"], "field code"),
                    ("test.missing", ["Exec=/no/such/program"], "There is no desktop entry"),
                ]
                for (id, lines, _) in entries {
                    try daemon.installEntry(id, lines.joined(separator: "\n"))
                    try daemon.install(id, start: #"{"desktop": "\#(id).desktop"}"#)
                }
                try await daemon.whileRunning { _, port in
                    for (id, _, reason) in entries {
                        let found = try await daemon.call(id, port: port)
                        #expect(found.0 == .appUnavailable)
                        #expect(found.1?.message.contains(reason) == true, "\(found.1.debugDescription)")
                    }
                }
            }
        }

        @Test func `a D-Bus activatable entry is started by the bus (R-26)`() async throws {
            try await Daemon.with { daemon in
                try daemon.installEntry("test.player", "DBusActivatable=true")
                try daemon.install("test.player", start: #"{"desktop": "test.player.desktop"}"#)
                try daemon.installEntry("test.unknown", "DBusActivatable=true")
                try daemon.install("test.unknown", start: #"{"desktop": "test.unknown.desktop"}"#)
                try await daemon.withBus(starting: ["test.player": try daemon.program("test.player")]) {
                    try await daemon.whileRunning { _, port in
                        let player = try await daemon.call("test.player", port: port)
                        #expect(player.0 == .success, "\(player.1.debugDescription)")
                        #expect(daemon.starts.count == 1)
                        let unknown = try await daemon.call("test.unknown", port: port)
                        #expect(unknown.0 == .appUnavailable)
                        #expect(
                            unknown.1?.message.contains("Activate on the session bus failed") == true,
                            "\(unknown.1.debugDescription)"
                        )
                    }
                }
            }
        }
    }
}
