// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// One run of a watcher, from start to stop. Holds what the shared ``SystemBrowser`` must know about the watcher.
final class WatcherRun: Sendable {
    let context: ApplicationContext
    let filters: [RemoteSystemFilter]
    let options: RemoteSystemWatcher.Options
    let topics: FollowedTopics
    let metrics: WatcherMetrics
    let emit: @Sendable (RemoteSystemEvent) -> Void
    private let browser: SystemBrowser

    /// Creates a run of a watcher. ``run()`` starts it.
    ///
    /// - Throws: ``RemoteSystemError`` when this system's account cannot be used.
    init(
        context: ApplicationContext,
        filters: [RemoteSystemFilter],
        options: RemoteSystemWatcher.Options,
        topics: FollowedTopics = FollowedTopics(),
        metrics: WatcherMetrics,
        emit: @escaping @Sendable (RemoteSystemEvent) -> Void
    ) throws(RemoteSystemError) {
        self.context = context
        self.filters = filters
        self.options = options
        self.topics = topics
        self.metrics = metrics
        self.emit = emit
        self.browser = try context.browser()
    }

    /// Runs until cancelled, or until this system has left its account.
    func run() async { await self.browser.serve(self) }

    /// The systems and advertisements that the watcher sees but does not list.
    var unlisted: RemoteSystemWatcher.Unlisted {
        get async { await self.browser.unlisted(for: self) }
    }

    /// Waits until each process that was found has described itself or failed to respond. Does not wait for discovery.
    func waitForFoundSystems() async { await self.browser.isOpening.becomes { !$0 } }

    func makeList(ownSystem: SystemID, now: ContinuousClock.Instant) -> WatcherList {
        WatcherList(
            filters: self.filters,
            ownSystem: ownSystem,
            origin: self.context,
            enumerationEnds: now + self.options.enumerationTime
        )
    }
}
