// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The link between a staged system and all others. A test sets faults on it, which apply to every connection of the
/// system.
///
/// A link behaves like TCP: data that does not pass arrives later, unless the connection breaks first.
public struct StagedLink: Sendable {
    let site: MemorySite

    /// The direction of data on a link.
    public enum Direction: Sendable, Hashable {
        /// From the other systems to the link's system.
        case toSystem
        /// From the link's system to the other systems.
        case fromSystem

        fileprivate var ofSite: MemorySite.Direction { self == .toSystem ? .toSystem : .fromSystem }
    }

    /// Delays all data, in each direction.
    ///
    /// - Parameter latency: The delay. By the stage's clock. A value less than 0 counts as 0.
    public func delay(_ latency: Duration) {
        self.site.change { $0.latency = max(latency, .zero) }
    }

    /// Limits the rate of each connection, in each direction.
    ///
    /// - Parameter bytesPerSecond: The rate, in bytes per second of the stage's clock. A value less than 1 counts as 1.
    public func limit(bytesPerSecond: Int) {
        self.site.change { $0.bytesPerSecond = max(bytesPerSecond, 1) }
    }

    /// Makes the link silent: no data passes, and no connection is closed. Attempts to connect get no response.
    public func drop() {
        self.site.change { $0.isSilent = true }
    }

    /// Ends the faults set by ``delay(_:)``, ``limit(bytesPerSecond:)`` and ``drop()``. Data that was held back
    /// arrives.
    public func restore() {
        self.site.change { $0 = LinkConditions() }
    }

    /// Breaks every connection with the system at once. New connections can be opened.
    public func cut() {
        self.site.cut()
    }

    /// Breaks a connection with the system after a number of further bytes, for example in the middle of a message.
    ///
    /// - Parameters:
    ///   - count: The number of bytes that still pass in the direction, counted over all connections.
    ///   - direction: The direction. Defaults to ``Direction/fromSystem``.
    public func cut(afterBytes count: Int, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.cut = max(count, 0) }
    }

    /// Changes one bit after a number of further bytes. TLS detects the change and ends the connection.
    ///
    /// - Parameters:
    ///   - count: The number of unchanged bytes that pass in the direction first, counted over all connections.
    ///     Defaults to 0.
    ///   - direction: The direction. Defaults to ``Direction/fromSystem``.
    public func corrupt(afterBytes count: Int = 0, _ direction: Direction = .fromSystem) {
        self.site.change(direction.ofSite) { $0.corruption = max(count, 0) }
    }
}
