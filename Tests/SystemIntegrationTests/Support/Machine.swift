// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport

/// One line that the command printed with `--json`.
struct ReportedEvent: Sendable, Decodable {
    struct Application: Sendable, Decodable {
        let id: String
        let services: [String]
    }

    let event: String
    let time: Date?
    let id: String?
    let name: String?
    let kind: String?
    let discovery: String?
    let isLocal: Bool?
    let applications: [Application]?
    let systemID: String?
    let accountID: String?
    let port: Int?
    let uri: String?
    let systems: Int?
    let excluded: Int?
    let message: String?
    let sent: Int?
    let answered: Int?
    let lost: Int?
    let title: String?

    /// The seconds from a time to this event.
    func seconds(since start: Date) -> Double { (time ?? .distantFuture).timeIntervalSince(start) }

    static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try Date(
                try decoder.singleValueContainer().decode(String.self),
                strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            )
        }
        return decoder
    }()
}

/// A host of the network with a name and an account directory of its own.
struct Machine: Sendable {
    let host: SimulatedHost
    let name: String
    let state: String
    /// The command line before the arguments; nil for the program that was built.
    var launch: [String]?

    var address: String { host.address }

    /// Starts the command on the machine.
    func command(_ arguments: [String]) throws -> ChildProcess {
        // Sets a host name of its own, which belongs to a namespace, too. Each step replaces the process by exec, so
        // the process id stays.
        let named = ["unshare", "-u", "sh", "-c", "hostname \"$0\" && exec \"$@\"", name]
        let launch = try self.launch ?? [builtProgram("remotesystems")]
        return try host.start(
            named + launch + arguments + ["--json", "--state-directory", state],
            readsErrors: true
        )
    }

    /// Starts to serve, and waits until the host is ready.
    ///
    /// - Parameter application: The application id, for a second host beside another; `nil` for the command's default.
    func serve(port: Int = 47474, application: String? = nil) async throws -> ChildProcess {
        let id = application.map { ["--application-id", $0] } ?? []
        let serving = try command(["serve", "--port", "\(port)"] + id)
        try await serving.reported("ready", within: .seconds(15))
        return serving
    }

    /// Starts to watch. Present systems may be reported before this returns.
    func watch() throws -> ChildProcess { try command(["watch"]) }

    /// Pings a system and returns the summary.
    func ping(_ system: String, count: Int = 3) async throws -> ReportedEvent {
        let ping = try command(["ping", system, "--count", "\(count)", "--interval", "0", "--wait", "60"])
        let summary = try await ping.reported("summary", within: .seconds(90))
        _ = try await ping.exit(within: .seconds(10))
        return summary
    }
}

extension SimulatedNetwork {
    /// Adds a host with an account directory.
    func addMachine(_ name: String, state: String) async throws -> Machine {
        Machine(host: try await addHost(name), name: name, state: state)
    }

    /// Adds hosts that are systems of one account.
    func addMachines(_ names: String...) async throws -> [Machine] {
        let states = try await Accounts.shared.states(names.count)
        var machines: [Machine] = []
        for (name, state) in zip(names, states) { machines.append(try await addMachine(name, state: state)) }
        return machines
    }
}

extension ChildProcess {
    /// The events that the command has printed so far.
    var reported: [ReportedEvent] {
        lines.compactMap { try? ReportedEvent.decoder.decode(ReportedEvent.self, from: Data($0.utf8)) }
    }

    /// Waits for the first event that matches, starting at an index.
    @discardableResult
    func reported(
        _ event: String,
        from start: Int = 0,
        within limit: Duration = .seconds(10),
        where isWanted: (ReportedEvent) -> Bool = { _ in true }
    ) async throws -> ReportedEvent {
        do {
            return try await eventually("'\(event)'", within: limit, every: .milliseconds(20)) {
                self.reported.dropFirst(start).first { $0.event == event && isWanted($0) }
            }
        } catch {
            throw IntegrationError("\(error); printed so far: \(lines.joined(separator: " | "))")
        }
    }

    /// Waits for an event about a machine, by its name.
    @discardableResult
    func reported(
        _ event: String,
        _ machine: Machine,
        from start: Int = 0,
        within limit: Duration = .seconds(10)
    ) async throws -> ReportedEvent {
        try await reported(event, from: start, within: limit) { $0.name == machine.name }
    }

    /// Whether such an event was printed, starting at an index.
    func hasReported(_ event: String, _ machine: Machine? = nil, from start: Int = 0) -> Bool {
        reported.dropFirst(start).contains { $0.event == event && (machine == nil || $0.name == machine?.name) }
    }
}
