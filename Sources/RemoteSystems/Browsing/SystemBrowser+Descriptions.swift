// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// Receiving descriptions.
extension SystemBrowser {
    /// Receives the description of a process until the connection ends.
    @inline(never)
    func followPresence(of name: String, attempt: Int, over connection: Connection) async {
        guard let instance = self.instance(of: attempt, name) else { return }
        var end = try? await self.follow(instance, attempt: attempt, over: connection)
        if end == nil {
            // The subscriber of an earlier connection to the instance has not ended yet. Use a new one.
            guard let instance = self.instance(of: attempt, name) else { return }
            self.instanceStates[instance]?.description = nil
            end = try? await self.follow(instance, attempt: attempt, over: connection)
        }
        switch end {
        case .unsubscribed, .connectionEnded: break
        case nil, .publisher, .rulesBroken:
            self.logger.debug(
                "A system stopped describing itself",
                metadata: ["system": "\(connection.peer.systemID.short)", "reason": "\(end.map { "\($0)" } ?? "?")"]
            )
            // Changes of the system would be missed. Reconnect, with a delay if this repeats.
            connection.abort()
        }
    }

    private func follow(_ instance: String, attempt: Int, over connection: Connection) async throws -> StateEnd {
        let subscriber = self.subscriber(of: instance, on: connection.peer.systemID)
        let holder = connection.peer.quotaHolder
        return try await subscriber.follow(over: connection) { _ in
            // Meanwhile further changes are merged, and the publisher soon stops sending.
            while let time = self.descriptionBudget.delay(subscriber.bytes, of: holder, now: self.time.now) {
                self.delayedDescriptions.insert(attempt)
                defer { self.delayedDescriptions.remove(attempt) }
                try await self.time.sleep(until: time)
            }
            self.charge(holder, subscriber.bytes) {
                self.described(subscriber.records, instance: instance, attempt: attempt, by: connection)
            }
            // Other events get their turn between two descriptions.
            await Task.yield()
        }
    }

    /// Does work for a holder of a quota at the expense of its budget. The processor's time counts, not that of the
    /// clock: on a busy machine no system has to wait longer because of what other programs do.
    func charge(_ holder: QuotaHolder, _ bytes: Int, _ work: () -> Void) {
        let start = self.time.threadTime
        work()
        self.descriptionBudget.took(self.time.threadTime - start, bytes, of: holder, now: self.time.now)
    }

    private func subscriber(of instance: String, on system: SystemID) -> StateSubscriber {
        if let known = self.instanceStates[instance]?.description, known.system == system { return known.subscriber }
        let new = StateSubscriber(PresenceTopic.schema, window: StateLimits.minCredit, pace: self.descriptionPace)
        self.instanceStates[instance, default: InstanceState()].description = (system, new)
        return new
    }

    private func described(
        _ records: [StateKey: ValueSet],
        instance name: String,
        attempt: Int,
        by connection: Connection
    ) {
        guard let instance = self.instance(of: attempt, name), let description = SystemDescription(records) else {
            return
        }
        let isFirst = !self.machine.isDescribed(instance)
        self.described(description.application.topics, attempt: attempt, by: connection)
        self.perform(self.machine.described(instance, description, now: self.time.now))
        if let instance = self.instance(of: attempt, name) { self.forgetRecords(of: instance, attempt: attempt) }
        if isFirst { self.remember(self.instance(of: attempt, name) ?? name, over: connection) }
        if description.isAuthority { self.renewIfDue(over: [connection]) }
    }
}
