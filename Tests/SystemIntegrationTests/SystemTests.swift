// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

/// Issue 2 §8: the whole system on simulated hosts, one process each, through the command that users run.
///
/// Serialized: the tests measure times, and the machine is small.
@Suite(
    .serialized,
    .enabled(if: SimulatedNetwork.isToBeTried, "\(SimulatedNetwork.obstacle ?? "")"),
    // The shortest of several limits applies, so this one is for the longest test.
    .timeLimit(.minutes(5))
)
struct SystemTests {}

/// How a simulated host reaches Avahi.
enum Way: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case daemon, embedded

    var testDescription: String { rawValue }

    /// Every pair of a serving and a watching host.
    static let pairs = allCases.flatMap { serving in allCases.map { Pair(serving: serving, watching: $0) } }

    struct Pair: Sendable, CustomTestStringConvertible {
        let serving: Way
        let watching: Way

        var testDescription: String { "\(serving) to \(watching)" }
    }

    /// Prepares a host for this way. The command selects it by itself.
    func prepare(_ host: SimulatedHost) async throws {
        if self == .daemon { try await host.startDaemon() }
    }
}

/// Prints a measured figure.
func report(_ what: String, _ seconds: [Double]) {
    let milliseconds = seconds.sorted().map { Int(($0 * 1000).rounded()) }
    guard let least = milliseconds.first, let most = milliseconds.last else { return }
    print(
        "MEASURED \(what): median \(milliseconds[milliseconds.count / 2]) ms, \(least)–\(most) ms of \(seconds.count)"
    )
}
