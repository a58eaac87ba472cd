// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// Following the topics of applications that watchers want.
extension SystemBrowser {
    /// The topics of the process at the other end of one presence connection.
    struct ProcessTopics {
        let connection: Connection
        /// The topics that the process publishes, as it says itself.
        var listed: Set<String> = []
        /// The topics that are followed now.
        var followed: Set<String> = []
        /// The topics whose records have arrived, or will not.
        var received: Set<String> = []

        /// Whether the records of a topic are still to arrive.
        func isAwaited(_ topic: String) -> Bool { self.listed.contains(topic) && !self.received.contains(topic) }
    }

    /// The records of one instance in each topic.
    struct InstanceRecords {
        let system: SystemID
        /// The linked account of the system; `nil` for a system of this account.
        let linkedAccount: AccountID?
        /// The records of each topic, by application and their own keys.
        var topics: [String: [String: [String: ValueSet]]] = [:]
    }

    /// Follows the wanted ones of the topics that a process lists.
    func described(_ topics: [String], attempt: Int, by connection: Connection) {
        // Peers of which only the key is known publish no topics.
        guard connection.peer.standing.kind.isAccountProved else { return }
        let added = Set(topics).subtracting(self.processTopics[attempt]?.listed ?? [])
        self.processTopics[attempt, default: ProcessTopics(connection: connection)].listed = Set(topics)
        // Watchers learn that the records are awaited before they learn of the process.
        for topic in added { self.reportRecords(of: connection.peer.systemID, in: topic) }
        self.followWantedTopics(attempt)
    }

    /// Forgets what a process publishes: its connection has ended. Nothing that it did not send is awaited any more.
    func forgetTopics(_ attempt: Int) {
        guard let process = self.processTopics.removeValue(forKey: attempt) else { return }
        for topic in process.listed where process.isAwaited(topic) {
            self.reportRecords(of: process.connection.peer.systemID, in: topic)
        }
    }

    /// Follows what a new watcher wants, and ends what no watcher wants.
    func wantedTopicsChanged() {
        self.wantedTopics.change { $0 = self.needs.topics }
        for attempt in self.processTopics.keys { self.followWantedTopics(attempt) }
    }

    private func followWantedTopics(_ attempt: Int) {
        guard let process = self.processTopics[attempt] else { return }
        for topic in process.listed.intersection(self.needs.topics).subtracting(process.followed) {
            self.processTopics[attempt]?.followed.insert(topic)
            self.add(.followTopic(topic, process.connection, attempt: attempt))
        }
    }

    /// Receives the records of a topic until the connection ends or no watcher wants the topic any more.
    @inline(never)
    func follow(_ topic: String, over connection: Connection, attempt: Int) async {
        let subscriber = StateSubscriber(
            .application(topic),
            window: StateLimits.minCredit,
            pace: self.descriptionPace
        )
        let end = await withTaskGroup(of: StateEnd?.self) { group in
            group.addTask { try? await self.follow(subscriber, over: connection, attempt: attempt) }
            group.addTask { [wantedTopics] in
                await wantedTopics.becomes { !$0.contains(topic) }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        self.processTopics[attempt]?.followed.remove(topic)
        switch end {
        // The records stay as long as the system is listed. It may reconnect.
        case .connectionEnded, .unsubscribed:
            self.processTopics[attempt]?.received.remove(topic)
            return
        case .publisher, .rulesBroken: self.received([:], in: topic, attempt: attempt)
        // No watcher wants them, so they have not arrived for the next one that does.
        case nil: self.received([:], in: topic, attempt: attempt, isAnswer: false)
        }
        switch end {
        case .publisher:
            // The topic may have been closed and opened again before the description changed.
            guard (try? await self.time.sleep(for: BrowserTimes.topic)) != nil else { return }
        case .rulesBroken: return
        // Another watcher may want the topic by now.
        default: break
        }
        self.followWantedTopics(attempt)
    }

    private func follow(
        _ subscriber: StateSubscriber,
        over connection: Connection,
        attempt: Int
    ) async throws -> StateEnd {
        let holder = connection.peer.quotaHolder
        return try await subscriber.follow(over: connection) { _ in
            // The same budget as for descriptions: a system cannot take more time by publishing topics.
            while let time = self.descriptionBudget.delay(subscriber.bytes, of: holder, now: self.time.now) {
                try await self.time.sleep(until: time)
            }
            self.charge(holder, subscriber.bytes) {
                var records: [String: [String: ValueSet]] = [:]
                for (key, record) in subscriber.records {
                    guard let key = ApplicationRecordKey(key) else { continue }
                    records[key.application, default: [:]][key.key] = record
                }
                self.received(records, in: subscriber.schema.name, attempt: attempt)
            }
            await Task.yield()
        }
    }

    /// - Parameter isAnswer: whether these are all records of the process. Defaults to `true`.
    private func received(
        _ records: [String: [String: ValueSet]],
        in topic: String,
        attempt: Int,
        isAnswer: Bool = true
    ) {
        if isAnswer {
            self.processTopics[attempt]?.received.insert(topic)
        } else {
            self.processTopics[attempt]?.received.remove(topic)
        }
        guard let instance = self.instanceStates.first(where: { $0.value.attempt?.number == attempt })?.key,
            let peer = self.processTopics[attempt]?.connection.peer
        else { return }
        let linkedAccount: AccountID?
        switch peer.standing {
        case .sameAccount: linkedAccount = nil
        case .linked(let account, _): linkedAccount = account
        // Not followed.
        case .anonymous: return
        }
        let system = peer.systemID
        if self.instanceStates[instance]?.records?.system != system { self.forgetRecords(of: instance) }
        var known =
            self.instanceStates[instance]?.records ?? InstanceRecords(system: system, linkedAccount: linkedAccount)
        known.topics[topic] = records.isEmpty ? nil : records
        self.instanceStates[instance]?.records = known
        self.reportRecords(of: system, in: topic)
    }

    /// Forgets the records of an instance that is gone, and reports that. The records of a program that its host has
    /// forwarded stay if the program is still listed over another connection, until that one carries them.
    func forgetRecords(of instance: String) {
        guard let gone = self.instanceStates[instance]?.records.take() else { return }
        for (topic, applications) in gone.topics {
            for (application, records) in applications {
                guard let successor = self.successor(of: application, on: gone.system, in: topic) else { continue }
                var kept =
                    self.instanceStates[successor]?.records
                    ?? InstanceRecords(system: gone.system, linkedAccount: gone.linkedAccount)
                kept.topics[topic] = [application: records]
                self.instanceStates[successor, default: InstanceState()].records = kept
            }
        }
        for topic in gone.topics.keys { self.reportRecords(of: gone.system, in: topic) }
    }

    /// The instance of an application whose own records in a topic are still to arrive, if any.
    private func successor(of application: String, on system: SystemID, in topic: String) -> String? {
        self.machine.names(of: application, on: system).first { name in
            guard self.instanceStates[name]?.records?.topics[topic] == nil else { return false }
            if self.machine.isReconnecting(name) { return true }
            guard let attempt = self.instanceStates[name]?.attempt?.number else { return false }
            return self.processTopics[attempt]?.isAwaited(topic) ?? false
        }
    }

    /// Forgets the records in topics that a process does not list over its present connection. It may have been
    /// restarted since the last one.
    func forgetRecords(of instance: String, attempt: Int) {
        guard let known = self.instanceStates[instance]?.records, let process = self.processTopics[attempt] else {
            return
        }
        for topic in known.topics.keys where !process.listed.contains(topic) && !process.followed.contains(topic) {
            self.instanceStates[instance]?.records?.topics[topic] = nil
            self.reportRecords(of: known.system, in: topic)
        }
    }

    private func reportRecords(of system: SystemID, in topic: String) {
        for user in self.users { self.reportRecords(of: system, in: topic, to: user.run.topics) }
    }

    private func reportRecords(of system: SystemID, in topic: String, to user: FollowedTopics) {
        guard user.names.contains(topic) else { return }
        var records: [String: [String: ValueSet]] = [:]
        // A program is published by the daemon and, for a moment, by itself, too.
        var linkedAccount: AccountID?
        for instance in self.instanceStates.values.compactMap(\.records) where instance.system == system {
            linkedAccount = instance.linkedAccount ?? linkedAccount
            records.merge(instance.topics[topic] ?? [:]) { $0.merging($1) { $1 } }
        }
        let isAwaited = self.processTopics.values.contains {
            $0.connection.peer.systemID == system && $0.isAwaited(topic)
        }
        user.changed(
            TopicChange(
                topic: topic,
                system: system,
                linkedAccount: linkedAccount,
                records: records,
                isComplete: !isAwaited
            )
        )
    }

    /// Reports all present records to a new watcher.
    func reportRecords(to user: FollowedTopics) {
        for topic in user.names {
            let systems = self.instanceStates.values.compactMap(\.records).filter { $0.topics[topic] != nil }.map(
                \.system
            )
            // A topic without records has been received, too.
            let publishing = self.processTopics.values.filter { $0.listed.contains(topic) }
                .map(\.connection.peer.systemID)
            for system in Set(systems + publishing) { self.reportRecords(of: system, in: topic, to: user) }
        }
    }
}
