// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

extension SimulatedHost {
    /// Starts to browse on the host.
    func browse(_ arguments: String...) async throws -> ChildProcess {
        let probe = try start([try builtProgram("discovery-probe"), "browse"] + arguments)
        try await probe.event("browsing")
        return probe
    }

    /// Starts to advertise on the host.
    func advertise(_ instance: String, port: Int = 4000, _ arguments: String...) async throws -> ChildProcess {
        let probe = try start(
            [try builtProgram("discovery-probe"), "advertise", "instance=\(instance)", "port=\(port)"] + arguments
        )
        try await probe.event("announcing")
        return probe
    }
}

extension ChildProcess {
    /// Waits until an instance is reported with an endpoint that contains this text. The first event may hold other
    /// endpoints only.
    @discardableResult
    func appeared(_ id: String, at endpoint: String, from start: Int = 0) async throws -> ProbeLine {
        do {
            return try await eventually("\(id) at \(endpoint)") {
                self.events.dropFirst(start).first {
                    ["appeared", "changed"].contains($0.event) && $0.id == id
                        && $0.endpoints?.contains(endpoint) == true
                }
            }
        } catch {
            throw IntegrationError("\(error); printed so far: \(lines.joined(separator: " | "))")
        }
    }

    func vanished(_ id: String, from start: Int = 0) async throws -> ProbeLine {
        try await event("vanished", from: start) { $0.id == id }
    }
}

/// The two ways to Avahi on a simulated host.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case daemon, embedded

    var testDescription: String { rawValue }

    /// Prepares a host for this way.
    func prepare(_ host: SimulatedHost) async throws {
        if self == .daemon { try await host.startDaemon() }
    }

    /// The backend that the probe must have selected by itself.
    var backend: String { "avahi-\(rawValue)" }
}
