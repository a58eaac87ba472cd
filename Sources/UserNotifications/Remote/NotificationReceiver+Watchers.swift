// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import ValueSets

/// The programs of this system that receive every change, such as a list on the screen.
extension NotificationReceiver {
    /// The maximum number of programs of this system that watch.
    private static let maxWatchers = 16

    /// A program of this system receives every change from now on.
    func watch(_ connection: AppServiceConnection) throws(NotificationError) {
        let id = ObjectIdentifier(connection)
        guard self.watchers[id] != nil || self.watchers.count < Self.maxWatchers else {
            throw NotificationError(.limitExceeded, "\(Self.maxWatchers) programs watch already. End one of them.")
        }
        if self.watchers[id] == nil, connection.info != nil {
            self.watchers[id] = NotificationWatcher(connection, self.clock)
        }
    }

    /// Reports a notification to the programs that watch. One that is hidden is reported when it is shown.
    func reportDelivery(_ entry: ReceivedNotifications.Entry) {
        guard entry.snoozedUntil == nil else { return }
        self.report("delivered", entry)
    }

    /// Reports the end of a notification to the programs that watch, and to what still works for it.
    func report(_ end: NotificationEnd, _ entry: ReceivedNotifications.Entry) {
        self.superseded.yield(entry.number)
        self.report(end.rawValue, entry)
    }

    /// Reports a change of a notification to the programs that watch.
    func report(_ event: String, _ entry: ReceivedNotifications.Entry) {
        // Its delivery was not reported.
        guard entry.readyBy == nil else { return }
        var entry = entry
        entry.notification = self.withCheckedFiles(entry.notification)
        for watcher in self.watchers.values { watcher.report(NotificationMessage.event(event, entry)) }
    }
}

/// A program of this system that receives every change.
struct NotificationWatcher {
    private let feed: AsyncStream<ValueSet>.Continuation
    private let task: Task<Void, Never>

    init(_ connection: AppServiceConnection, _ clock: FeatureClock) {
        let (events, feed) = AsyncStream.makeStream(of: ValueSet.self, bufferingPolicy: .bufferingNewest(256))
        self.feed = feed
        self.task = clock.task {
            for await event in events {
                guard (try? await connection.send(event, timeout: .seconds(10)))?.status == .success else { return }
            }
        }
    }

    func report(_ event: ValueSet) { self.feed.yield(event) }

    func end() {
        self.feed.finish()
        self.task.cancel()
    }
}
