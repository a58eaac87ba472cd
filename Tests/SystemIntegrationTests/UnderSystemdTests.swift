// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: a service of systemd, which is process 1 of namespaces of its own here.
    @Suite struct UnderSystemd {
        @Test func `a hardened unit of an unprivileged user starts, restarts, and stops gracefully`() async throws {
            try await SimulatedNetwork.with { network in
                let host = try await network.addHost("alpha")
                let a = Machine(host: host, name: "alpha", state: try await host.stateOfNobody())
                let b = try await network.addMachine("beta", state: "\(host.directory)/beta")
                try await Systemd.with(on: host, units: ["serve.service": try await Self.unit(a)]) { systemd in
                    try await Self.check(systemd, a, b)
                }
            }
        }

        private static func check(_ systemd: Systemd, _ a: Machine, _ b: Machine) async throws {
            // No system has joined yet: the unit creates the account, whose state is then copied to the other machine.
            try await systemd.control("start", "serve.service")
            _ = try await eventually("'ready'", within: .seconds(15)) {
                systemd.printed.contains("\"ready\"") ? true : nil
            }
            try await run(["cp", "-a", a.state, b.state])
            try await run(["chown", "-R", "0:0", b.state])
            let onB = try b.watch()
            try await onB.reported("added") { $0.applications?.first?.services == ["remote-systems.ping"] }

            var reported = onB.reported.count
            let killed = Date()
            try await systemd.control("kill", "--signal=KILL", "serve.service")
            try await onB.reported("removed", from: reported)
            let back = try await onB.reported("added", from: reported, within: .seconds(20))
            report("killed under systemd, restarted, to added", [back.seconds(since: killed)])
            #expect(try await b.ping(a.address).answered == 3)

            reported = onB.reported.count
            let end = Date()
            try await systemd.control("stop", "serve.service")
            #expect(try await onB.reported("removed", from: reported).seconds(since: end) < Removal.byConnection)
            let result = try await systemd.control("show", "serve.service", "--property=Result,ExecMainStatus")
            #expect(result.contains("Result=success") && result.contains("ExecMainStatus=0"), "\(result)")
            #expect(systemd.printed.contains("\"stopped\""))
        }

        /// A unit as a careful administrator would write it.
        private static func unit(_ machine: Machine) async throws -> String {
            let command = try await machine.host.programForEverybody().joined(separator: " ")
            return """
                [Unit]
                DefaultDependencies=no
                [Service]
                Type=exec
                User=65534
                Group=65534
                ExecStart=\(command) serve --json --state-directory \(machine.state)
                StandardOutput=append:\(machine.host.directory)/printed
                StandardError=append:\(machine.host.directory)/printed
                Restart=on-failure
                RestartSec=500ms
                NoNewPrivileges=yes
                CapabilityBoundingSet=
                ProtectSystem=strict
                ProtectHome=yes
                ReadWritePaths=\(machine.state)
                ProtectControlGroups=yes
                ProtectKernelTunables=yes
                PrivateDevices=yes
                RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX
                RestrictNamespaces=yes
                LockPersonality=yes
                MemoryDenyWriteExecute=yes
                SystemCallFilter=@system-service
                SystemCallErrorNumber=EPERM
                """
        }
    }
}
