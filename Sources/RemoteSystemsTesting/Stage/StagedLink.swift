// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The link between a system of a stage and everybody else: what a test does to it (its faults) happens to every
/// connection with that system.
///
/// A link is as TCP is: what does not get through arrives later, unless the connection breaks before.
public struct StagedLink: Sendable {
    let site: MemorySite

    /// Which way bytes go.
    public enum Direction: Sendable, Hashable {
        /// To the system.
        case toSystem
        /// From the system.
        case fromSystem

        fileprivate var ofSite: MemorySite.Direction { self == .toSystem ? .toSystem : .fromSystem }
    }

    /// Everything is under way for this long, each way, by the stage's clock. Less than 0 counts as 0.
    public func delay(_ latency: Duration) {
        self.site.change { $0.latency = max(latency, .zero) }
    }

    /// No more than this gets through in a second of the stage's clock, each way, on each connection. Less than 1 counts as 1.
    public func limit(bytesPerSecond: Int) {
        self.site.change { $0.bytesPerSecond = max(bytesPerSecond, 1) }
    }

    /// Nothing gets through any more, and nobody is told. Attempts to connect get no answer.
    public func drop() {
        self.site.change { $0.isSilent = true }
    }

    /// Takes back delay, limit and drop. What was held arrives.
    public func restore() {
        self.site.change { $0 = LinkConditions() }
    }

    /// Breaks every connection with the system at once. New ones can be made.
    public func cut() {
        self.site.cut()
    }

    /// Breaks a connection with the system once so many more bytes have passed in the direction, on whatever connection:
    /// half-way through a message, say.
    public func cut(afterBytes count: Int, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.cut = max(count, 0) }
    }

    /// Changes one bit once so many more bytes have passed in the direction, on whatever connection. TLS notices it.
    public func corrupt(afterBytes count: Int = 0, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.corruption = max(count, 0) }
    }
}
