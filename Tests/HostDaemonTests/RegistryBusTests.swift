// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

extension HostDaemonTests {
    /// Programs that register with the daemon over a session bus.
    @Suite struct RegistryBus {
        private static let bus = "org.remotesystems.Registry1"
        /// Makes the test application look for its daemon on the bus, too.
        private static let onBus = ["SESSION_BUS_DAEMON": "1"]
        private static let run = ["host", "run", "--json", "--loopback", "--port", "0"]

        @Test(.enabled(if: geteuid() == 0, "Only root can hide a directory from a process."))
        func `a program that does not see the socket registers over the bus, also after a restart (R-19, X-34)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    let first = try daemon.command(Self.run)
                    _ = try await first.event("ready")
                    let hidden = "\(daemon.directory)/state/run/registry"
                    let hide = "mount -t tmpfs -o mode=0700 none '\(hidden)' && exec \"$@\""
                    let around = ["unshare", "--mount", "sh", "-c", hide, "sh"]
                    try await daemon.withProgram("test.player", environment: Self.onBus, around: around) { _ in
                        try await self.waitUntilRegistered("test.player", in: daemon)
                        first.send(SIGKILL)
                        _ = try await first.exit()
                        let second = try daemon.command(Self.run)
                        _ = try await second.event("ready")
                        try await self.waitUntilRegistered("test.player", in: daemon)
                        await second.stop()
                    }
                }
            }
        }

        @Test
        func `a program in a Flatpak registers over the bus, and a second one names it as sandboxed (R-19, X-34)`()
            async throws
        {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    let flatpak = try await FlatpakApplication.running(
                        "installed-application",
                        as: "org.example.Player",
                        talkingTo: [Self.bus],
                        in: daemon.directory,
                        environment: daemon.environment
                    )
                    let host = try daemon.command(Self.run)
                    _ = try await host.event("ready")
                    let state = "\(daemon.directory)/state"
                    // Without the directory of the socket, so that it uses the bus.
                    let permissions = [
                        "--share=network", "--filesystem=\(state)", "--nofilesystem=\(state)/run/registry",
                    ]
                    // `withProgram` adds the path of the program.
                    let command = flatpak.command(options: permissions + ["--command=env"])
                    let environment = Self.onBus.merging(flatpak.installation) { $1 }
                    try await daemon.withProgram("test.player", environment: environment, around: command) { _ in
                        try await self.waitUntilRegistered("test.player", in: daemon)
                        // The numbers of both processes in their sandboxes are likely the same.
                        let second = try flatpak.start(
                            ["test.player", daemon.record],
                            options: permissions,
                            environment: daemon.environment
                        )
                        #expect(try await second.exit(within: .seconds(60)) != 0)
                        let error = second.lines.joined(separator: " ")
                        #expect(error.contains("a process of another sandbox or container (installed-application)"))
                    }
                    await host.stop()
                }
            }
        }

        /// Waits until a watcher gets the description of the application over its connection to the daemon, and opens
        /// no other connection. Watchers of a process share connections, so there is no other watcher meanwhile.
        private func waitUntilRegistered(_ id: String, in daemon: Daemon) async throws {
            _ = try await eventually("\(id) is registered", within: .seconds(60)) { () async throws -> Bool? in
                let watcher = RemoteSystemWatcher(daemon.configuration("test.other"))
                try await watcher.start()
                try await daemon.wait(for: ["remote-systems.host", id], by: watcher)
                let services = watcher.systems.first?.application(id)?.services ?? []
                let connections = watcher.statistics.connectionsOpened
                await watcher.stop()
                return connections == 1 && services.map(\.name) == ["test.echo"] ? true : nil
            }
        }

        @Test func `the bus starts the daemon for a program that needs it (R-19, X-34)`() async throws {
            try await Daemon.with { daemon in
                let program = "\(try builtProgram("remotesystems")) host run --loopback --port 0"
                try await daemon.withBus(starting: [Self.bus: program]) {
                    let watcher = RemoteSystemWatcher(daemon.configuration("test.watcher"))
                    try await watcher.start()
                    // A program that does not ask for it runs without the daemon.
                    try await daemon.withProgram("test.alone") { _ in
                        try await daemon.wait(for: ["test.alone"], by: watcher)
                    }
                    try await daemon.withProgram("test.player", environment: Self.onBus) { player in
                        try await daemon.wait(for: ["remote-systems.host", "test.player"], by: watcher)
                        for pid in daemon.listening where pid != player.id { kill(pid, SIGTERM) }
                        // The end of the daemon does not start another one.
                        try await daemon.wait(for: ["test.player"], by: watcher)
                    }
                    await watcher.stop()
                }
            }
        }

        /// Calls the daemon as a user, connects to the socket of the response, and prints the number of bytes that the
        /// daemon sends before it closes the connection, or the error. Speaks D-Bus itself, because the usual programs
        /// do not return descriptors.
        private static let caller = """
            import array, os, socket, struct, sys
            path, user, system = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode()
            os.setuid(user)
            bus = socket.socket(socket.AF_UNIX)
            bus.connect(path)
            bus.sendall(b"\\0AUTH EXTERNAL " + str(user).encode().hex().encode() + b"\\r\\n")
            assert b"OK" in bus.recv(1000)
            bus.sendall(b"NEGOTIATE_UNIX_FD\\r\\n")
            assert b"AGREE" in bus.recv(1000)
            bus.sendall(b"BEGIN\\r\\n")
            def pad(data, to): return data + bytes(-len(data) % to)
            def text(value): return struct.pack("<I", len(value)) + value + b"\\0"
            def field(code, kind, value):
                return struct.pack("<BB", code, 1) + kind + b"\\0" + value
            def call(serial, name, path, method, body=b""):
                fields = [field(1, b"o", text(path)), field(2, b"s", text(name)), field(3, b"s", text(method)),
                    field(6, b"s", text(name))]
                if body: fields.append(field(8, b"g", b"\\1s\\0"))
                data = b""
                for one in fields: data = pad(data, 8) + one
                bus.sendall(b"l\\1\\0\\1" + struct.pack("<III", len(body), serial, len(data)) + pad(data, 8) + body)
            call(1, b"org.freedesktop.DBus", b"/org/freedesktop/DBus", b"Hello")
            call(2, b"org.remotesystems.Registry1", b"/org/remotesystems/Registry1", b"OpenSocket", text(system))
            bus.settimeout(20)
            received, descriptor = b"", None
            while descriptor is None and b"Error" not in received:
                data, extra, _, _ = bus.recvmsg(4096, 100)
                received += data
                for level, kind, content in extra: descriptor = array.array("i", content)[0]
            if descriptor is None:
                print(received[received.index(b"org.remotesystems.Registry1.Error"):][:45].decode())
                sys.exit()
            program = socket.socket(socket.AF_UNIX)
            try:
                program.connect("/proc/self/fd/%d" % descriptor)
                program.sendall(b"no TLS at all")
                print(len(program.recv(100)))
            except OSError as error:
                print(error.strerror)
            """

        private func call(_ daemon: Daemon, as user: Int, system: String) async throws -> String? {
            let program = try ChildProcess(
                ["/usr/bin/env", "python3", "-c", Self.caller, "\(daemon.directory)/bus", "\(user)", system]
            )
            #expect(try await program.exit(within: .seconds(30)) == 0)
            return try await program.allLines().last
        }

        @Test(.enabled(if: geteuid() == 0, "Only root can become another user."))
        func `the kernel refuses other users at the socket that the bus gives them`() async throws {
            try await Daemon.with { daemon in
                try await daemon.withBus(starting: [:]) {
                    try await daemon.whileRunning { _, _ in
                        let system = try RemoteSystemsAccount(daemon.configuration()).identity().systemID.description
                        _ = try await eventually("the daemon is on the bus", within: .seconds(30)) {
                            () async throws -> Bool? in
                            let names = try ChildProcess([
                                "dbus-send", "--bus=unix:path=\(daemon.directory)/bus", "--print-reply",
                                "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames",
                            ])
                            _ = try await names.exit(within: .seconds(30))
                            return try await names.allLines().contains { $0.contains(Self.bus) } ? true : nil
                        }
                        let own = try await self.call(daemon, as: 0, system: system)
                        #expect(own.flatMap { Int($0) }.map { $0 > 0 } == true, "\(own.debugDescription)")
                        let other = try await self.call(daemon, as: 65_534, system: system)
                        #expect(other == "Permission denied")
                        // Without its permissions, too, the socket serves one user only.
                        let opened = unsafe chmod("\(daemon.directory)/state/run/registry/daemon.sock", 0o666)
                        #expect(opened == 0)
                        let bytes = try await self.call(daemon, as: 65_534, system: system)
                        #expect(["0", "Connection reset by peer", "Broken pipe"].contains(bytes ?? ""))
                        // A program of another system gets no socket.
                        let refused = try await self.call(daemon, as: 0, system: String(repeating: "a", count: 52))
                        #expect(refused == "org.remotesystems.Registry1.Error.OtherSystem")
                    }
                }
            }
        }
    }
}
