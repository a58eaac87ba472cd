// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import Synchronization

/// The time since the user has used this system, measured once for all that ask within half a second.
///
/// A measurement asks several programs of the desktop, and other systems can cause any number of questions.
final class SharedIdleTime: Sendable {
    typealias Measure = @Sendable () async -> Duration?

    private struct Measurement {
        let task: Task<Duration?, Never>
        let end: ContinuousClock.Instant
    }

    /// The time for which a measurement counts. The readings of two systems may be older than each other by less than
    /// half of ``SoundChoice/margin``.
    static let age = Duration.milliseconds(500)

    private let measure: Measure
    private let clock: FeatureClock
    private let last = Mutex<Measurement?>(nil)

    init(_ clock: FeatureClock, measure: @escaping Measure) {
        self.clock = clock
        self.measure = measure
    }

    /// Returns the time, which may have been measured up to ``age`` ago; `nil` if it is not known.
    func read() async -> Duration? {
        let task = self.last.withLock { last -> Task<Duration?, Never> in
            let now = self.clock.now
            if let last, now < last.end { return last.task }
            let task = self.clock.task(self.measure)
            last = Measurement(task: task, end: now + Self.age)
            return task
        }
        return await task.value
    }
}
