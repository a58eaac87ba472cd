// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The link between a staged system and all others. A test sets faults on it, which apply to every connection of that
/// system.
///
/// A link behaves like TCP: what does not pass arrives later, unless the connection breaks before.
public struct StagedLink: Sendable {
    let site: MemorySite

    /// The direction of bytes.
    public enum Direction: Sendable, Hashable {
        /// To the system.
        case toSystem
        /// From the system.
        case fromSystem

        fileprivate var ofSite: MemorySite.Direction { self == .toSystem ? .toSystem : .fromSystem }
    }

    /// Delays everything, in each direction. By the stage's clock. A value less than 0 counts as 0.
    public func delay(_ latency: Duration) {
        self.site.change { $0.latency = max(latency, .zero) }
    }

    /// Limits the rate of each connection, in each direction. In bytes per second of the stage's clock. A value less
    /// than 1 counts as 1.
    public func limit(bytesPerSecond: Int) {
        self.site.change { $0.bytesPerSecond = max(bytesPerSecond, 1) }
    }

    /// Makes the link silent: nothing passes, and no connection is closed. Attempts to connect get no response.
    public func drop() {
        self.site.change { $0.isSilent = true }
    }

    /// Ends delay, limit and drop. What was held back arrives.
    public func restore() {
        self.site.change { $0 = LinkConditions() }
    }

    /// Breaks every connection with the system at once. New connections are possible.
    public func cut() {
        self.site.cut()
    }

    /// Breaks a connection with the system after this many further bytes have passed in the direction, counted over all
    /// connections. For example, in the middle of a message.
    public func cut(afterBytes count: Int, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.cut = max(count, 0) }
    }

    /// Changes one bit after this many further bytes have passed in the direction, counted over all connections. TLS
    /// detects it.
    public func corrupt(afterBytes count: Int = 0, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.corruption = max(count, 0) }
    }
}
