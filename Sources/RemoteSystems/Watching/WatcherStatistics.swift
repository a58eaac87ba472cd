// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a watcher has counted, over all of its runs since it was made.
///
/// The same figures go to the process's metrics backend (swift-metrics), as the article "Watching" lists them.
public struct WatcherStatistics: Sendable, Hashable {
    /// The number of systems that are listed now. 0 while the watcher is stopped.
    public var systems = 0
    /// How many times a system was added.
    public var added = 0
    /// How many changes of listed systems were reported.
    public var updated = 0
    /// How many times a system was removed. Stopping the watcher removes no system.
    public var removed = 0
    /// How many connections to announced instances were opened.
    public var connectionsOpened = 0
    /// How many attempts to connect to announced instances failed, for whatever reason.
    public var connectionsFailed = 0

    /// Zero throughout.
    public init() {}
}
