// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// A session bus that accepts connections and never responds, like one that is stopped or hangs.
    @Suite struct MuteBus {
        /// When the bus stops responding.
        enum Silence: String, CaseIterable {
            case fromTheBeginning, afterLettingIn
        }

        @Test(arguments: Silence.allCases)
        func `a silent bus delays only what needs the bus, and only until the timeout (R-18, R-26, X-34)`(
            silence: Silence
        ) async throws {
            try await Daemon.with { daemon in
                let ids = (1...8).map { "test.mute\($0)" }
                for id in ids {
                    try daemon.installEntry(id, "DBusActivatable=true")
                    try daemon.install(id, start: #"{"desktop": "\#(id).desktop"}"#)
                }
                try daemon.install("test.player", start: try daemon.exec("test.player"))
                try daemon.installHandler("test")
                let handlers = "x-scheme-handler/test=handler.desktop\nx-scheme-handler/tel=\(ids[0]).desktop"
                try "[Default Applications]\n\(handlers)\n"
                    .write(toFile: "\(daemon.directory)/config/mimeapps.list", atomically: true, encoding: .utf8)
                // Long enough for the application that needs no bus, on a busy machine too.
                try daemon.configure(#"{"startTimeout": 4, "uriPolicy": ["test=allow"]}"#)
                let bus = try ChildProcess(["python3", "-c", Self.bus, "\(daemon.directory)/bus", silence.rawValue])
                _ = try await eventually("the bus") { bus.lines.first }
                let result: Result<Void, any Error>
                do {
                    result = .success(
                        try await daemon.whileRunning { _, port in
                            try await Self.launches(daemon, port: port)
                            try await Self.starts(daemon, ids, port: port)
                        }
                    )
                } catch {
                    result = .failure(error)
                }
                await bus.stop()
                try result.get()
            }
        }

        /// Performs the maximum number of concurrent launches, twice.
        private static func launches(_ daemon: Daemon, port: Int) async throws {
            for _ in 0..<2 {
                let began = ContinuousClock.now
                try await withThrowingTaskGroup(of: RemoteLaunchURIResult.self) { group in
                    for number in 0..<16 {
                        group.addTask {
                            try await RemoteLauncher().launchURI(
                                "tel:\(number)",
                                with: RemoteSystemConnectionRequest(
                                    host: "127.0.0.1",
                                    port: port,
                                    configuration: daemon.configuration()
                                ),
                                timeout: .seconds(2)
                            )
                        }
                    }
                    for try await result in group { #expect(result.status != .success) }
                }
                #expect(ContinuousClock.now - began < .seconds(10))
            }
            let other = try await eventually("an end of the launches", within: .seconds(10)) {
                let result = try await daemon.launch("test:a", port: port)
                return result.status == .success ? result : nil
            }
            #expect(other.status == .success)
        }

        /// Performs the maximum number of concurrent starts, and then one that needs no bus.
        private static func starts(_ daemon: Daemon, _ ids: [String], port: Int) async throws {
            let began = ContinuousClock.now
            try await withThrowingTaskGroup(of: AppServiceConnectionStatus.self) { group in
                for (number, id) in ids.enumerated() {
                    group.addTask {
                        // The starts overlap, but the handshakes are spread out, since the host allows a second for
                        // each.
                        try await Task.sleep(for: .milliseconds(150 * number))
                        return try await daemon.call(id, port: port).0
                    }
                }
                for try await status in group { #expect(status == .appUnavailable) }
            }
            // The default timeout of a D-Bus call would take minutes.
            #expect(ContinuousClock.now - began < .seconds(15))
            let player = try await daemon.call("test.player", port: port)
            #expect(player.0 == .success, "\(player.1.debugDescription)")
        }

        /// A bus with the handshake of the D-Bus Specification, "Authentication Protocol".
        private static let bus = """
            import socket, sys, threading
            server = socket.socket(socket.AF_UNIX)
            server.bind(sys.argv[1])
            server.listen(64)
            print("ready", flush=True)
            kept = []
            def let_in(stream):
                try:
                    for line in stream.makefile("rb"):
                        words = line.strip(b"\\0\\r\\n").split()
                        if words[:1] == [b"BEGIN"]: break
                        answer = (b"OK " + b"0" * 32 if words[:2] == [b"AUTH", b"EXTERNAL"] else
                                  b"AGREE_UNIX_FD" if words[:1] == [b"NEGOTIATE_UNIX_FD"] else b"REJECTED EXTERNAL")
                        stream.sendall(answer + b"\\r\\n")
                except OSError:
                    pass  # The caller has cancelled and closed the connection.
            while True:
                stream = server.accept()[0]
                kept.append(stream)
                if sys.argv[2] == "afterLettingIn": threading.Thread(target=let_in, args=[stream], daemon=True).start()
            """
    }
}
