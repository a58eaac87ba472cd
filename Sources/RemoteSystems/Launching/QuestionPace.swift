// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// Limits how often one system may ask the user in vain, so that it cannot repeat a question until the user gives in.
///
/// Only questions that the user denied or ignored count. The systems of a linked account have one share together.
///
/// A value type without a clock; times are arguments.
package struct QuestionPace: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The number of questions that the user may deny or ignore at once.
    static let burst = 3
    /// The time after which one more question is permitted.
    package static let interval = Duration.seconds(20)

    private var denials: KeyedTokenBuckets<QuotaHolder>

    /// Creates a pace.
    ///
    /// - Parameter interval: the time after which one more question is permitted. Defaults to ``interval``.
    package init(interval: Duration = Self.interval) {
        self.denials = KeyedTokenBuckets(capacity: Double(Self.burst), rate: Duration.seconds(1) / interval)
    }

    /// Whether the user may be asked a question of the holder.
    package func permits(_ holder: QuotaHolder, at now: Instant) -> Bool { self.denials.permits(holder, at: now) }

    /// Counts a question that the user denied or ignored.
    package mutating func countDenial(of holder: QuotaHolder, at now: Instant) {
        self.denials.take(of: holder, at: now)
    }
}
