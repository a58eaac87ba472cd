// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import IntegrationSupport
import Testing

/// Design §6: how fast discovery is. Prints medians; fails only when something waits without need.
@Suite(
    .serialized,
    .enabled(if: SimulatedNetwork.isToBeTried, "\(SimulatedNetwork.obstacle ?? "")"),
    .timeLimit(.minutes(2))
)
struct LatencyTests {
    static let rounds = 5

    @Test(arguments: Way.allCases)
    func `time from an advertisement until it is seen elsewhere, and from its withdrawal until it vanishes`(_ way: Way)
        async throws
    {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(a)
            try await way.prepare(b)
            let onB = try await b.browse()
            try await onB.event("settled")
            var seen: [Double] = []
            var gone: [Double] = []
            for round in 0..<Self.rounds {
                let advertised = try await a.advertise("round-\(round)")
                let start = try await advertised.event("announcing").time
                seen.append(try await onB.event("appeared") { $0.id == "round-\(round)" }.time - start)
                // Announcements are repeated after one second (RFC 6762 §8.3). The withdrawal is measured after them.
                try await Task.sleep(for: .milliseconds(1200))
                await advertised.stop()
                let end = try await advertised.event("withdrawing").time
                gone.append(try await onB.vanished("round-\(round)").time - end)
            }
            report("\(way): announced to seen elsewhere", seen)
            report("\(way): withdrawn to vanished elsewhere", gone)
            #expect(best(seen) < 0.5)
            #expect(best(gone) < 1.5)
        }
    }

    @Test(arguments: Way.allCases)
    func `time from the start of a browse to the first instance, and until it settles`(_ way: Way) async throws {
        try await SimulatedNetwork.with { network in
            let (a, b) = try await network.addTwoHosts()
            try await way.prepare(a)
            try await way.prepare(b)
            _ = try await a.advertise("present")
            // Fills the cache of the daemon, which all programs of its machine share. An embedded stack asks every host
            // instead.
            try await b.browse().event("settled")
            var seen: [Double] = []
            var settled: [Double] = []
            for _ in 0..<Self.rounds {
                let onB = try await b.browse()
                let start = try await onB.event("browsing").time
                seen.append(try await onB.event("appeared") { $0.id == "present" }.time - start)
                settled.append(try await onB.event("settled").time - start)
                await onB.stop()
            }
            report("\(way): browse to present in a new process", seen)
            report("\(way): browse to settled in a new process", settled)
            // Avahi sends its own query only after 0.1 s.
            #expect(best(seen) < 0.1)
            #expect(best(settled) < 2.5)
        }
    }

    /// The fastest round. Slower ones are caused by other work on the machine, and are only reported.
    private func best(_ values: [Double]) -> Double { values.min() ?? .infinity }

    private func report(_ what: String, _ values: [Double]) {
        let milliseconds = values.sorted().map { Int(($0 * 1000).rounded()) }
        print("MEASURED \(what): median \(milliseconds[milliseconds.count / 2]) ms, \(milliseconds) ms")
    }
}
