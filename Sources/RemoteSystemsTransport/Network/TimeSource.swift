// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import Glibc
package import NIOCore

/// The source of time: the machine's clock, or a clock that a test advances.
package struct TimeSource: Sendable {
    /// The machine's clock.
    package static let system = TimeSource(manual: nil)

    private let manual: (any ManualTime)?

    /// Creates a source of time.
    ///
    /// - Parameter manual: a clock that a test advances; `nil` for the machine's clock.
    package init(manual: (any ManualTime)?) {
        self.manual = manual
    }

    package var now: ContinuousClock.Instant { self.manual?.now ?? .now }

    /// The present date by the system's clock, which may be set.
    package var date: Date { self.manual?.date ?? .now }

    /// The current time as an event loop's deadline.
    package var deadline: NIODeadline { self.manual?.deadline ?? .now() }

    /// The processor time that the calling thread has used, for measuring work that does not suspend. Zero for a clock
    /// that a test advances: by it, work takes no time.
    package var threadTime: Duration {
        guard self.manual == nil else { return .zero }
        // The two members of `timespec`. In some builds the compiler attributes them to a module that cannot be
        // imported.
        var time: [Int] = [0, 0]
        unsafe time.withUnsafeMutableBytes { bytes in
            guard let members = unsafe bytes.bindMemory(to: timespec.self).baseAddress else { return }
            // It fails only for a clock that does not exist.
            _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, members)
        }
        return .seconds(time[0]) + .nanoseconds(time[1])
    }

    /// Waits for a duration.
    ///
    /// - Throws: `CancellationError`.
    package func sleep(for duration: Duration) async throws {
        try await self.sleep(until: self.now + duration)
    }

    /// Waits until an instant.
    ///
    /// - Throws: `CancellationError`.
    package func sleep(until instant: ContinuousClock.Instant) async throws {
        if let manual { return try await manual.sleep(until: instant) }
        try await Task.sleep(until: instant, clock: .continuous)
    }
}

/// A clock that a test advances manually.
package protocol ManualTime: Sendable {
    var now: ContinuousClock.Instant { get }
    /// The present date.
    var date: Date { get }
    /// The present time as an event loop's deadline.
    var deadline: NIODeadline { get }
    func sleep(until instant: ContinuousClock.Instant) async throws
}

extension ManualTime {
    /// The machine's date.
    package var date: Date { .now }
}
