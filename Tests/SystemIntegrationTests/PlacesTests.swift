// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension SystemTests {
    /// Issue 3 §7: programs in environments with less than a desktop.
    @Suite struct Places {
        /// A container has its own mounts, processes and network. Its file system has the program, its libraries and an
        /// empty /run: no /etc, no /sys, no bus, no environment.
        @Test func `a container without D-Bus serves and watches, and ends on SIGTERM`() async throws {
            try await SimulatedNetwork.with { network in
                let states = try await Accounts.shared.states(3)
                let a = try await network.addContainer("alpha", state: states[0])
                let b = try await network.addMachine("beta", state: states[1])
                let c = try await network.addContainer("gamma", state: states[2])
                try await b.host.startDaemon()
                let onB = try b.watch()
                let onC = try c.watch()
                let serving = try await a.serve()
                try await onB.reported("added", a)
                try await onC.reported("added", a)
                #expect(try await c.ping("alpha").answered == 3)
                #expect(try await b.ping(a.address).answered == 3)

                // Like `docker stop`: the program is process 1 there, which no signal ends without a handler.
                let end = Date()
                kill(try serving.processInside(), SIGTERM)
                #expect(try await onB.reported("removed", a).seconds(since: end) < Removal.byConnection)
                _ = try await serving.exit(within: .seconds(8))
                _ = try await serving.allLines()
                #expect(serving.hasReported("stopped"))
                try await onC.reported("removed", a)
            }
        }

        @Test(arguments: Way.allCases)
        func `an unprivileged user creates an account, joins, serves and watches`(_ way: Way) async throws {
            try await SimulatedNetwork.with { network in
                let a = try await network.addMachineOfNobody("alpha")
                let b = try await network.addMachineOfNobody("beta")
                for machine in [a, b] { try await way.prepare(machine.host) }
                try await a.invite(b)
                let onB = try b.watch()
                let onA = try a.watch()
                let serving = try await a.serve()
                _ = try await b.serve()
                try await onB.reported("added", a)
                try await onA.reported("added", b)
                #expect(try await b.ping("alpha").answered == 3)
                await serving.stop()
                try await onB.reported("removed", a)
                let owner = try FileManager.default.attributesOfItem(atPath: "\(a.state)")[.ownerAccountID] as? Int
                #expect(owner == 65534)
            }
        }
    }
}

extension SimulatedNetwork {
    /// Adds a host on which programs run in a container.
    fileprivate func addContainer(_ name: String, state: String) async throws -> Machine {
        let host = try await addHost(name)
        let root = "\(host.directory)/image"
        for directory in ["bin", "proc", "dev", "run", "tmp"] {
            try FileManager.default.createDirectory(atPath: "\(root)/\(directory)", withIntermediateDirectories: true)
        }
        try await run(["cp", "-a", state, "\(root)/state"])
        let program = try builtProgram("remotesystems")
        try await run(["cp", program, "\(root)/bin/remotesystems"])
        // Loaded at run time, so not among the linked libraries. The container has nothing of D-Bus, and no client
        // library of the daemon.
        let opened = try await run(["ldconfig", "-p"]).split(whereSeparator: \.isWhitespace)
            .first { $0.hasSuffix("/libavahi-core.so.7") }
        guard let avahi = opened.map(String.init) else { throw IntegrationError("libavahi-core7 is not installed") }
        let libraries = try await run(["ldd", program, avahi]).split(whereSeparator: \.isWhitespace)
            .filter { $0.hasPrefix("/") && !$0.hasSuffix(":") }.map(String.init)
        try await run(["cp", "--parents", "--dereference"] + Set(libraries + [avahi]) + [root])
        let script =
            "mount -t proc proc \"$0/proc\" && mount -t tmpfs tmpfs \"$0/run\" "
            + "&& exec env -i \"$(command -v chroot)\" \"$0\" \"$@\""
        let isolated = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, root]
        return Machine(host: host, name: name, state: "/state", launch: isolated + ["/bin/remotesystems"])
    }

    /// Adds a host on which programs run as the user `nobody`, with a state directory of that user's.
    func addMachineOfNobody(_ name: String) async throws -> Machine {
        let host = try await addHost(name)
        let state = try await host.stateOfNobody()
        let unprivileged = [
            "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--no-new-privs",
        ]
        return Machine(
            host: host,
            name: name,
            state: state,
            launch: unprivileged + (try await host.programForEverybody())
        )
    }
}

extension SimulatedHost {
    /// An empty directory of the user `nobody`.
    func stateOfNobody() async throws -> String {
        let state = "\(directory)/state"
        try await run(["install", "--directory", "--owner=65534", "--group=65534", "--mode=700", state])
        return state
    }

    /// A copy of a program that every user can run. The build directory and the Swift toolchain may be unreadable for
    /// other users.
    func programForEverybody(_ name: String = "remotesystems") async throws -> [String] {
        let (program, libraries) = ("\(directory)/\(name)", "\(directory)/lib")
        try await run(["cp", try builtProgram(name), program])
        try await run(["mkdir", "-p", libraries])
        let linked = try await run(["ldd", program]).split(whereSeparator: \.isWhitespace).map(String.init)
        let swift = linked.filter { $0.hasPrefix("/") && $0.contains("/swift/") }
        if !swift.isEmpty { try await run(["cp", "--dereference"] + swift + [libraries]) }
        return ["/usr/bin/env", "LD_LIBRARY_PATH=\(libraries)", program]
    }
}

extension ChildProcess {
    /// The first process of the process namespace below this process.
    func processInside() throws -> Int32 {
        let children = try String(contentsOfFile: "/proc/\(id)/task/\(id)/children", encoding: .utf8)
        guard let inside = children.split(separator: " ").first.flatMap({ Int32($0) }) else {
            throw IntegrationError("process \(id) has no child: \(lines)")
        }
        return inside
    }
}
