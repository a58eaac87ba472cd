// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore

/// Where time comes from: the machine's clock, or one that a test moves by hand.
package struct TimeSource: Sendable {
    /// The machine's clock.
    package static let system = TimeSource(manual: nil)

    private let manual: (any ManualTime)?

    /// - Parameter manual: the clock that a test moves; `nil` for the machine's own.
    package init(manual: (any ManualTime)?) {
        self.manual = manual
    }

    package var now: ContinuousClock.Instant { self.manual?.now ?? .now }

    /// Now, as event loops count time.
    package var deadline: NIODeadline { self.manual?.deadline ?? .now() }

    /// - Throws: `CancellationError`.
    package func sleep(for duration: Duration) async throws {
        try await self.sleep(until: self.now + duration)
    }

    /// - Throws: `CancellationError`.
    package func sleep(until instant: ContinuousClock.Instant) async throws {
        if let manual { return try await manual.sleep(until: instant) }
        try await Task.sleep(until: instant, clock: .continuous)
    }
}

/// A clock that a test moves by hand.
package protocol ManualTime: Sendable {
    var now: ContinuousClock.Instant { get }
    /// The same moment, as event loops count time.
    var deadline: NIODeadline { get }
    func sleep(until instant: ContinuousClock.Instant) async throws
}
