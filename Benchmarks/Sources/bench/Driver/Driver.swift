// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc
import Measuring

/// Runs a plan.
///
/// A contestant that fails is reported and excluded from the rest of the run; the others continue.
struct Driver {
    let plan: Plan
    let credentials: Credentials
    var report: Report

    init(_ plan: Plan) throws {
        self.plan = plan
        credentials = try Credentials()
        report = Report(machine: .current(), rounds: plan.rounds, coresSlept: !plan.keepsCoresAwake)
    }

    consuming func run() throws -> Report {
        if !plan.parts.isDisjoint(with: [.exchange, .opening]) { measurePairs() }
        if plan.parts.contains(.memory) { measureMemory() }
        if plan.parts.contains(.allocations) { measureAllocations() }
        if plan.parts.contains(.coding) { measureCoding() }
        if plan.parts.contains(.discovery) {
            measureDiscovery()
            measureKnownSystem()
        }
        if plan.parts.contains(.scale) { measureScale() }
        if plan.parts.contains(.mesh) { measureMesh() }
        if plan.parts.contains(.handOff) { measureHandOff() }
        if plan.parts.contains(.attacks) { measureAttacks() }
        report.machine.loadAfter = Report.Machine.loadAverage()
        report.goals = report.evaluatedGoals()
        return report
    }

    mutating func note(_ subject: String, _ action: String, _ error: any Error) {
        report.failures.append("\(subject), \(action): \(error)")
    }

    /// Prints the progress of the run to standard error.
    func progress(_ text: String) {
        let line = Array("bench: \(text)\n".utf8)
        _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Starts a pair for every contestant, and records failures.
    mutating func startPairs() -> [Pair] {
        var pairs: [Pair] = []
        for name in plan.contestants {
            do {
                pairs.append(try Pair(name, credentials: credentials, directory: plan.directory))
            } catch {
                note(name.rawValue, "starting", error)
            }
        }
        return pairs
    }
}
