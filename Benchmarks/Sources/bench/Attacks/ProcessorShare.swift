// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CBenchSupport
import Glibc

/// Limits this process to a quarter of one core: its tasks wait while the process has used more.
struct ProcessorShare: Sendable {
    private static let share = 0.25

    private let begin = monotonicNanoseconds()
    private let used = bench_processor_nanoseconds(getpid())

    /// The processor time since the beginning, as a part of one core.
    var current: Double {
        let elapsed = monotonicNanoseconds() - begin
        return elapsed > 0 ? Double(bench_processor_nanoseconds(getpid()) - used) / Double(elapsed) : 0
    }

    /// Waits until the process has used less than its share. Throws when the task is cancelled.
    func wait() async throws {
        repeat {
            try Task.checkCancellation()
            guard current > Self.share else { return }
            try await Task.sleep(for: .milliseconds(2))
        } while true
    }
}
