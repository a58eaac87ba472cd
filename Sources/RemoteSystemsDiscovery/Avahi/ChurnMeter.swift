// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Notices when far more instances appear and vanish than on a network where machines start and stop.
///
/// A value type without a clock; times are arguments.
struct ChurnMeter: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The number of changes from which on there is a flood: more than a browse finds at its start.
    static let flood = 1500.0
    /// The number of changes below which a flood is over.
    static let calm = 300.0
    /// The changes in a second that do not count. 1 000 machines that all restart in an hour make one.
    static let rate = 50.0

    private var level = 0.0
    private var updated: Instant
    private(set) var isFlooded = false

    init(now: Instant) {
        updated = now
    }

    /// Counts instances that appeared or vanished.
    ///
    /// - Returns: whether ``isFlooded`` has changed.
    mutating func count(_ changes: Int = 1, now: Instant) -> Bool {
        let (seconds, attoseconds) = (now - updated).components
        let elapsed = max(Double(seconds) + Double(attoseconds) / 1e18, 0)
        // Limited, so that the end of a long flood is noticed.
        level = min(max(level - elapsed * Self.rate, 0) + Double(changes), 2 * Self.flood)
        updated = max(now, updated)
        let was = isFlooded
        isFlooded = isFlooded ? level > Self.calm : level >= Self.flood
        return isFlooded != was
    }

    /// The time at which ``count(_:now:)`` reports the end of the flood if nothing changes until then; `nil` without a
    /// flood.
    var end: Instant? {
        guard isFlooded else { return nil }
        return updated + .milliseconds(Int(max(level - Self.calm, 0) / Self.rate * 1000) + 1)
    }
}
