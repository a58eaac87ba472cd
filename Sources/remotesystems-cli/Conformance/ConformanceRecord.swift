// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The rules that clients kept and broke, over all connections of a conformance host.
final class ConformanceRecord: Sendable {
    /// A rule that a client broke.
    struct Finding: Sendable, Hashable {
        var rule: ConformanceRule
        /// The connection's number, in the order in which the host accepted them.
        var connection: UInt64
        /// The description of what the client did.
        var seen: String
    }

    private struct State {
        var kept: [ConformanceRule: Int] = [:]
        var broken: [ConformanceRule: Int] = [:]
    }

    private let state = Mutex(State())
    private let report: @Sendable (Finding) -> Void

    /// Creates a record without findings.
    ///
    /// - Parameter report: The callback for each finding. It runs on the connection's event loop.
    init(report: @escaping @Sendable (Finding) -> Void = { _ in }) {
        self.report = report
    }

    func keep(_ rules: ConformanceRule...) {
        self.state.withLock { state in
            for rule in rules { state.kept[rule, default: 0] += 1 }
        }
    }

    func add(_ finding: Finding) {
        self.state.withLock { $0.broken[finding.rule, default: 0] += 1 }
        self.report(finding)
    }

    /// The rules that were exercised and never broken, in the order of ``ConformanceRule``.
    var kept: [ConformanceRule] {
        self.state.withLock { state in Self.rules { state.kept[$0] != nil && state.broken[$0] == nil } }
    }
    /// The rules that were broken, with the number of times.
    var broken: [(rule: ConformanceRule, count: Int)] {
        self.state.withLock { state in
            Self.rules { state.broken[$0] != nil }.map { ($0, state.broken[$0] ?? 0) }
        }
    }
    /// The rules that no connection has exercised.
    var neverExercised: [ConformanceRule] {
        self.state.withLock { state in Self.rules { state.kept[$0] == nil && state.broken[$0] == nil } }
    }

    private static func rules(where isWanted: (ConformanceRule) -> Bool) -> [ConformanceRule] {
        ConformanceRule.allCases.filter(isWanted)
    }
}
