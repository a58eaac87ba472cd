// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import Synchronization
internal import ValueSets

/// Follows what the user's other systems publish about the states of notifications.
final class NotificationStateWatch: Sendable {
    private typealias Records = [String: ValueSet]

    /// The newest records of each system that were not read yet. A system that changes them often is read as often as
    /// there is time.
    private final class Inbox: Sendable {
        let signals: AsyncStream<Void>
        private let signal: AsyncStream<Void>.Continuation
        private let records = Mutex<[SystemID: Records]>([:])

        /// The systems that are listed have changed.
        func changed() { self.signal.yield() }

        init() { (self.signals, self.signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

        func put(_ change: TopicChange) {
            // Other programs of that system, and systems of linked accounts, do not speak for the user.
            guard change.isSameAccount, let own = change.records[RemoteSystemHost.machineApplicationID] else { return }
            self.records.withLock { $0[change.system] = own }
            self.signal.yield()
        }

        /// Everything that was not read yet, by system.
        func take() -> [SystemID: Records] {
            self.records.withLock { records in
                defer { records = [:] }
                return records
            }
        }
    }

    private let configuration: RemoteSystemsConfiguration
    private let clock: FeatureClock
    private let task = Mutex<Task<Void, Never>?>(nil)
    private let watcher: RemoteSystemWatcher
    private let inbox = Inbox()

    init(_ configuration: RemoteSystemsConfiguration) {
        self.configuration = configuration
        self.clock = FeatureClock(configuration)
        self.watcher = RemoteSystemWatcher(configuration, topics: [NotificationState.topic]) { [inbox] in inbox.put($0)
        }
        self.watcher.onAdded { [inbox] _ in inbox.changed() }
        self.watcher.onUpdated { [inbox] _ in inbox.changed() }
    }

    /// The systems that are listed now. Empty before the start.
    var systems: [RemoteSystem] { self.watcher.systems }

    /// Begins to watch. Has no effect after the first time.
    ///
    /// - Parameters:
    ///   - changed: called when systems were listed or have changed.
    ///   - merge: receives what another system knows, and its id.
    func start(
        changed: @escaping @Sendable () async -> Void,
        merge: @escaping @Sendable ([String: ValueSet], SystemID) async -> Void
    ) {
        self.task.withLock { task in
            guard task == nil else { return }
            task = self.clock.task { [configuration, clock, watcher, inbox] in
                while !Task.isCancelled {
                    do throws(RemoteSystemError) {
                        try await watcher.start()
                        break
                    } catch {
                        configuration.logger.info(
                            "The states of notifications on other systems are not known yet",
                            metadata: ["reason": "\(error)"]
                        )
                    }
                    guard (try? await clock.sleep(until: clock.now + .seconds(60))) != nil else { return }
                }
                for await _ in inbox.signals {
                    await changed()
                    // Each system once, however often one of them changes its table meanwhile.
                    for (system, records) in inbox.take() {
                        let start = clock.now
                        await merge(records, system)
                        // A system that changes its table without end takes about a tenth of the time of one processor:
                        // of a table that is new each time, few records are taken over. A merge that waited for the
                        // screen or the disk delays the others by one second.
                        let pause = min((clock.now - start) * 9, .seconds(1))
                        guard (try? await clock.sleep(until: clock.now + pause)) != nil else { break }
                    }
                }
                await watcher.stop()
            }
        }
    }

    func stop() { self.task.withLock { $0?.cancel() } }
}
