// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

/// Systems of one account, each with its daemon.
struct QuestionDesktops {
    /// At least two.
    let systems: [QuestionDesktop]
    let daemons: [ChildProcess]

    var first: QuestionDesktop { self.systems[0] }
    var second: QuestionDesktop { self.systems[1] }

    /// - Parameters:
    ///   - settings: environment variables of the first system's daemon. Defaults to none.
    ///   - hosts: a host for each system. Defaults to none: two systems on the loopback interface of this machine.
    ///   - port: the port of each daemon. Defaults to 0: any.
    static func with(
        screens: Bool = true,
        settings: [String: String] = [:],
        on hosts: [SimulatedHost] = [],
        port: Int = 0,
        _ body: (QuestionDesktops) async throws -> Void
    ) async throws {
        try await Self.withDesktops(hosts.isEmpty ? 2 : hosts.count, []) { desktops in
            let states = desktops.map { "\($0.directory)/system" }
            try await createSystems(states)
            try await Self.withEnvironments(of: desktops[...], screens: screens, []) { environments in
                let systems = desktops.indices.map { index in
                    QuestionDesktop(
                        desktop: desktops[index],
                        state: states[index],
                        environment: environments[index].merging(index == 0 ? settings : [:]) { $1 },
                        host: hosts.isEmpty ? nil : hosts[index],
                        port: port
                    )
                }
                try await Self.run(systems, body)
            }
        }
    }

    private static func withDesktops(
        _ count: Int,
        _ desktops: [Desktop],
        _ body: ([Desktop]) async throws -> Void
    ) async throws {
        guard desktops.count < count else {
            try await body(desktops)
            return
        }
        try await Desktop.with { desktop in
            try await Self.withDesktops(count, desktops + [desktop], body)
        }
    }

    /// Runs `body` with the environments of all desktops.
    ///
    /// - Parameters:
    ///   - desktops: those whose environments are missing.
    ///   - environments: those of the others.
    private static func withEnvironments(
        of desktops: ArraySlice<Desktop>,
        screens: Bool,
        _ environments: [[String: String]],
        _ body: ([[String: String]]) async throws -> Void
    ) async throws {
        guard let desktop = desktops.first else {
            try await body(environments)
            return
        }
        guard screens else {
            try await body(environments + desktops.map(\.environment))
            return
        }
        try await desktop.withScreen { environment in
            try await Self.withEnvironments(
                of: desktops.dropFirst(),
                screens: screens,
                environments + [environment],
                body
            )
        }
    }

    private static func run(
        _ systems: [QuestionDesktop],
        _ body: (QuestionDesktops) async throws -> Void
    ) async throws {
        var daemons: [ChildProcess] = []
        do {
            for system in systems { daemons.append(try await system.startDaemon()) }
            try await body(QuestionDesktops(systems: systems, daemons: daemons))
        } catch {
            for daemon in daemons { await daemon.stop() }
            throw error
        }
        for daemon in daemons {
            await daemon.stop()
            // One may have been killed by its test.
            #expect(daemon.exitCode == 0 || daemon.exitCode == 128 + 9)
        }
    }

    /// Starts `notify` on the first system.
    ///
    /// - Parameter waits: whether it waits for the answer.
    func ask(_ arguments: String..., waits: Bool = false) throws -> ChildProcess {
        try self.first.start(
            [try builtProgram("remotesystems"), "notify"] + self.first.options + arguments
                + (waits ? ["--wait", "--search-time", "60"] : [])
        )
    }

    func eventually(_ what: String, _ isTrue: () async throws -> Bool) async throws {
        _ = try await IntegrationSupport.eventually(what, within: .seconds(60), every: .milliseconds(100)) {
            try await isTrue() ? true : nil
        }
    }
}
