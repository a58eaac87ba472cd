// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// A daemon whose state is on a small disk, which is full.
    @Suite struct FullDisk {
        @Test func `on a full disk what cannot be kept is refused, and nothing that was accepted is lost (N-07)`()
            async throws
        {
            try await SimulatedNetwork.with { network in
                var machine = try await network.addMachines("alpha")[0]
                let disk = try await Self.mount(machine)
                machine.launch = ["nsenter", "--mount", "--target", "\(disk.id)"] + [try builtProgram("remotesystems")]
                var daemon = try await Self.startDaemon(machine)
                let prefix = "Full disk \(getpid())"
                func schedule(_ title: String) async throws -> (code: Int32, text: String) {
                    let command = try machine.command(
                        ["notifications", "schedule", "--in", "86400", "--title", "\(prefix) \(title)"]
                    )
                    let code = try await command.exit(within: .seconds(60))
                    return (code, try await command.allLines().joined(separator: "\n"))
                }
                func titles(_ list: String) async throws -> Set<String> {
                    let command = try machine.command(["notifications", list])
                    _ = try await command.exit(within: .seconds(60))
                    let titles = command.reported.compactMap(\.title).filter { $0.hasPrefix(prefix) }
                    return Set(titles.map { String($0.dropFirst(prefix.count + 1)) })
                }
                #expect(try await schedule("before").code == 0)

                let filler = "\(machine.state)/filler"
                _ = try await Self.run(machine, ["sh", "-c", "cat /dev/zero > \(filler); true"])
                let refused = try await schedule("refused")
                #expect(refused.code != 0 && refused.text.contains("The disk is full"), "\(refused)")
                // It is there for the user at once, and is kept as soon as there is room.
                let id = try #require(try await Self.systemID(machine))
                let urgent = try machine.command(["notify", id, "--title", "\(prefix) urgent"])
                #expect(try await urgent.exit(within: .seconds(60)) == 0)
                #expect(try await titles("list") == ["urgent"])
                #expect(try await titles("pending") == ["before"])

                _ = try await Self.run(machine, ["rm", filler])
                #expect(try await schedule("after").code == 0)
                daemon.send(SIGKILL)
                _ = try await daemon.exit(within: .seconds(10))
                daemon = try await Self.startDaemon(machine)
                #expect(try await titles("pending") == ["before", "after"])
                #expect(try await titles("list") == ["urgent"])
                await daemon.stop()
                await disk.stop()
            }
        }

        /// Puts the state of a machine on a disk of 2 MiB, for what enters the mount namespace of the result.
        private static func mount(_ machine: Machine) async throws -> ChildProcess {
            let script = """
                mount -t tmpfs -o size=2m tmpfs /mnt && cp -a "$0/." /mnt && mount --bind /mnt "$0" && echo ready &&
                exec sleep 600
                """
            let disk = try machine.host.start(
                ["unshare", "-m", "--propagation", "private", "sh", "-c", script, machine.state],
                readsErrors: true
            )
            _ = try await eventually("the disk is mounted", within: .seconds(20)) {
                disk.lines.contains("ready") ? true : nil
            }
            return disk
        }

        private static func startDaemon(_ machine: Machine) async throws -> ChildProcess {
            let daemon = try machine.command(["host", "run"])
            try await daemon.reported("ready", within: .seconds(60))
            return daemon
        }

        private static func systemID(_ machine: Machine) async throws -> String? {
            let command = try machine.command(["account", "show"])
            _ = try await command.exit(within: .seconds(60))
            return command.reported.compactMap(\.systemID).first
        }

        private static func run(_ machine: Machine, _ program: [String]) async throws -> Int32 {
            let launch = Array((machine.launch ?? []).dropLast())
            return try await machine.host.start(launch + program, readsErrors: true).exit(within: .seconds(60))
        }
    }
}
