// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The counts of a watcher over all its runs since it was created. All values default to 0.
///
/// The same figures are sent to the process's metrics backend (swift-metrics); the article "Watching" lists them.
public struct WatcherStatistics: Sendable, Hashable {
    /// The number of systems that are listed now. 0 while the watcher is stopped.
    public var systems = 0
    /// The number of times a system was added.
    public var added = 0
    /// The number of reported changes of listed systems.
    public var updated = 0
    /// The number of times a system was removed. Stopping the watcher removes no system.
    public var removed = 0
    /// The number of connections that were opened to advertised processes.
    public var connectionsOpened = 0
    /// The number of failed attempts to connect to advertised processes.
    public var connectionsFailed = 0

    /// Creates statistics with all counts 0.
    public init() {}
}
