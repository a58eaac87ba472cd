// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Runs a test on a stage many times, to find rare failures and to measure it.
enum RepeatedRuns {
    /// The maximum processor time of a test on a stage, on a machine on which ``reference()`` takes ``referenceTime``.
    static let budget = Duration.milliseconds(50)
    private static let referenceTime = Duration.microseconds(3_500)

    /// Repeats a test as often as the environment variable says, for 15 s at most. `Scripts/test` runs it separately
    /// and prints the time of a run.
    ///
    /// There a run must take less than 50 ms of processor time on average. A slow processor takes longer for the same
    /// work, and so does one that shares its core with other load. So the time is compared with that of a computation
    /// between the runs.
    static func run(_ name: String, _ test: () async throws -> Void) async throws {
        let wanted = ProcessInfo.processInfo.environment["REMOTE_SYSTEMS_TEST_REPEAT"].flatMap { Int($0) }
        let times = wanted ?? 3
        // The first makes the identities that all share.
        try await test()
        var (slowest, all, used, reference) = (Duration.zero, Duration.zero, Duration.zero, Duration.zero)
        var runs = 0
        while runs < max(times, 1), all < .seconds(15) {
            let start = Self.processorTime
            let time = try await ContinuousClock().measure { try await test() }
            let end = Self.processorTime
            #expect(Self.reference() > 0)
            reference += Self.processorTime - end
            used += end - start
            slowest = max(slowest, time)
            all += time
            runs += 1
        }
        let scaled = used / runs * (Self.referenceTime / (reference / runs))
        func milliseconds(_ time: Duration) -> String { String(format: "%.1f ms", time / .milliseconds(1)) }
        print(
            "REPEATED: \(name), \(runs) runs on a stage, mean \(milliseconds(all / runs)), slowest "
                + "\(milliseconds(slowest)), mean processor time \(milliseconds(used / runs)), reference "
                + "\(milliseconds(reference / runs)), in proportion \(milliseconds(scaled))"
        )
        if let wanted, wanted >= 50 { #expect(scaled < Self.budget) }
    }

    /// A computation that does not depend on the product.
    private static func reference() -> Int {
        var counts: [String: Int] = [:]
        for number in 0..<20_000 { counts["key \(number % 97)", default: 0] += number }
        return counts.values.reduce(0, +)
    }

    /// The processor time of all threads of the process.
    private static var processorTime: Duration {
        var usage = rusage()
        guard unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return .zero }
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return .seconds(user.tv_sec + system.tv_sec) + .microseconds(user.tv_usec + system.tv_usec)
    }
}
