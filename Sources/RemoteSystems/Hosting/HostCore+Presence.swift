// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The connections of watchers: publishes the host's description and the trust.
extension HostCore {
    /// Starts publishing the host's description. Watchers receive nothing before this call.
    func begin() throws {
        self.publications = try HostPublications(allowsAnonymous: self.anonymousConnections != nil)
        self.publish()
        self.publishTrust()
    }

    func presence(peer: PeerIdentity, own: SystemID) -> EstablishedConnection {
        var limits = self.context.limits
        limits.window = min(limits.window, 8)
        // A side that subscribes must accept state frames of `minLimit` bytes, even if messages are limited to fewer.
        limits.messageBytes = max(limits.messageBytes, StateLimits.minLimit)
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: RequestHandler(self.renewal.respond),
            opened: { [publications, context] connection in
                publications?.publish(to: peer.systemID == own ? .local : .account, on: connection)
                Task(executorPreference: context.environment.taskExecutor) {
                    await self.watched(by: connection)
                    await context.account.followTrust(over: connection, logger: context.logger)
                }
            }
        )
    }

    /// Publishes to a system of another account only what is offered to it.
    func anonymousPresence() -> EstablishedConnection {
        let limits = self.context.limits.forAnonymous
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: { _, _ in .requestUnknown },
            opened: { [publications] connection in publications?.publish(to: .anonymous, on: connection) }
        )
    }

    private func watched(by connection: Connection) {
        guard !self.isClosing else { return }
        let id = ObjectIdentifier(connection)
        self.watchers[id] = connection
        connection.onClose { _ in
            Task(executorPreference: self.context.environment.taskExecutor) { await self.unwatched(id) }
        }
    }

    private func unwatched(_ id: ObjectIdentifier) {
        self.watchers[id] = nil
    }

    /// Closes the connections of watchers with `cancelled` instead of `completed`. The watchers keep the host listed
    /// and reconnect to its advertised address.
    func sendWatchersOn() async {
        await withDiscardingTaskGroup { group in
            for watcher in self.watchers.values { group.addTask { await watcher.close(.cancelled) } }
        }
    }

    /// Publishes the description of this process, if it has changed.
    func publish() {
        do {
            guard let publications, try !publications.update(self.description), !self.hasOutgrownTopic else { return }
            self.hasOutgrownTopic = true
            self.context.logger.warning(
                """
                The description of the services and applications is too large to be published completely; schemas are \
                left out first. The maximum is 1 MiB in total, and 16 KiB for each schema and installed application.
                """
            )
        } catch {
            self.context.logger.warning(
                "The host's description could not be published",
                metadata: ["reason": "\(error)"]
            )
        }
    }

    /// Publishes the registered programs, if they have changed since they were last published. Does nothing while the
    /// host closes: watchers then connect to the programs themselves.
    func publishPrograms() {
        guard !self.isClosing, let version = self.referral?.running.registered?.version,
            version != self.publishedPrograms
        else { return }
        self.publishedPrograms = version
        self.publish()
    }

    /// Publishes the revocation list and the account's root keys.
    func publishTrust() {
        do {
            let roots = try self.context.security().trust.own.roots
            try self.publications?.update(self.context.account.revocations, roots: roots)
        } catch {
            self.context.logger.warning("The revocation list could not be published", metadata: ["reason": "\(error)"])
        }
    }

    private func description(for group: HostPublications.Group) -> SystemDescription {
        let identity = try? self.context.security().identity
        var description = SystemDescription(
            displayName: self.systemDisplayName ?? self.facts.displayName,
            kind: self.facts.kind,
            platform: .linux,
            manufacturer: self.facts.manufacturer,
            model: self.facts.model,
            isAuthority: identity?.isAuthority ?? false,
            application: self.application
        )
        guard group != .anonymous else {
            return description.forAnyone(self.services.values.filter(\.isForAnyone).map(\.name))
        }
        let isLocal = group == .local
        let running = self.referral?.running(beside: self.application.id, isLocal: isLocal) ?? []
        description.running = Array(running.prefix(SystemDescription.maxRunning))
        description.programs = self.referral?.programs(isLocal: isLocal) ?? []
        description.installed = self.installed.prefix(SystemDescription.maxInstalled)
            .map { $0.description(isLocal: isLocal) }
        return description
    }
}
