// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The connections of watchers: publishes the host's description and the trust.
extension HostCore {
    /// Starts publishing the host's description. Watchers receive nothing before this call.
    func begin() throws {
        let publications = try HostPublications(
            self.authorisation,
            self.context.security(),
            audit: { [context] decision, subject, target in context.audit(decision, about: subject, target) }
        )
        self.publications = publications
        self.topics.begin(publications)
        self.accountChanged()
    }

    /// Accepts a watcher's connection. Publishes to a system of another account only what is offered to it.
    func presence(_ peer: PeerIdentity, own: SystemID) -> EstablishedConnection {
        switch peer.standing {
        case .sameAccount: self.presence(to: peer.systemID == own ? .local : .account)
        case .linked(let account, _): self.presence(to: .linked(account))
        case .anonymous: self.presence(to: .anonymous)
        }
    }

    private var watcherLimits: ConnectionLimits {
        var limits = self.context.limits
        limits.window = min(limits.window, 8)
        // A side that subscribes must accept state frames of `minLimit` bytes, even if messages are limited to fewer.
        limits.messageBytes = max(limits.messageBytes, StateLimits.minLimit)
        return limits
    }

    /// Accepts a watcher's connection. Trust is exchanged on it, except with systems of accounts that are not linked.
    private func presence(to group: HostPublications.Group) -> EstablishedConnection {
        let limits = group == .anonymous ? self.context.limits.forAnonymous : self.watcherLimits
        return EstablishedConnection(
            acceptance: Acceptance(application: self.application.id, limits: limits.peerLimits),
            limits: limits,
            handler: RequestHandler(self.renewal.respond),
            opened: { [publications, context] connection in
                publications?.publish(to: group, on: connection)
                guard group != .anonymous else { return }
                Task(executorPreference: context.environment.taskExecutor) {
                    await self.watched(by: connection)
                    async let renewing: Void = self.renewIfDue(over: [connection])
                    await context.account.followTrust(over: connection)
                    await renewing
                }
            }
        )
    }

    private func watched(by connection: Connection) {
        guard !self.isClosing else { return }
        let id = ObjectIdentifier(connection)
        self.lastWatcher += 1
        self.watchers[id] = (self.lastWatcher, connection)
        connection.onClose { _ in
            Task(executorPreference: self.context.environment.taskExecutor) { await self.unwatched(id) }
        }
    }

    private func unwatched(_ id: ObjectIdentifier) {
        self.watchers[id] = nil
    }

    /// The open connections of watchers, the earliest first.
    var watchersByAge: [Connection] {
        self.watchers.values.sorted { $0.number < $1.number }.map(\.connection)
    }

    /// Closes the connections of watchers with `cancelled` instead of `completed`. The watchers keep the host listed
    /// and reconnect to its advertised address.
    func sendWatchersOn() async {
        await withDiscardingTaskGroup { group in
            for watcher in self.watchersByAge { group.addTask { await watcher.close(.cancelled) } }
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

    /// Publishes the registered programs and the names of topics, if they have changed since they were last published.
    /// Does nothing while the host closes: watchers then connect to the programs themselves.
    func publishPrograms() {
        guard !self.isClosing, let version = self.referral?.running.registered?.version else { return }
        let topics = self.topics.names
        guard version != self.publishedPrograms || topics != self.publishedTopics else { return }
        self.publishedPrograms = version
        self.publishedTopics = topics
        self.publish()
    }

    /// Requests a new certificate from the watchers that are connected, if it is due and one of them holds the root
    /// key.
    func renewIfDue() async {
        // Of a system with several connections, the earliest one is asked over first. It is the one that lasts.
        await self.renewIfDue(over: self.watchersByAge)
    }

    private func renewIfDue(over connections: [Connection]) async {
        let account = self.context.account
        await account.renewer.renewIfDue(of: account, over: connections, logger: self.context.logger)
    }

    /// Publishes what has changed in the account: the linked accounts, the trust, and the name of this system.
    func accountChanged() {
        do {
            let account = self.context.account
            let trust = try self.context.security().trust
            try self.publications?.update(linked: Set(trust.linked.keys))
            self.topics.publishAll()
            try self.publications?.update(trust.own, links: account.links)
        } catch {
            self.context.logger.warning("The account's trust could not be published", metadata: ["reason": "\(error)"])
        }
        self.publish()
    }

    private func description(for group: HostPublications.Group) -> SystemDescription {
        let identity = try? self.context.security().identity
        var description = SystemDescription(
            displayName: self.systemDisplayName ?? self.context.account.systemName ?? self.facts.displayName,
            kind: self.facts.kind,
            platform: .linux,
            manufacturer: self.facts.manufacturer,
            model: self.facts.model,
            isAuthority: identity?.isAuthority ?? false,
            application: self.application
        )
        description.application.topics = self.topics.names
        let isLocal: Bool
        switch group {
        case .local: isLocal = true
        case .account, .linked: isLocal = false
        case .anonymous:
            return description.forAnyone(self.servicesForAnyone)
        }
        let running = self.referral?.running(beside: self.application.id, isLocal: isLocal) ?? []
        description.running = Array(running.prefix(SystemDescription.maxRunning))
        description.programs = self.referral?.programs(isLocal: isLocal) ?? []
        description.installed = self.installed.prefix(SystemDescription.maxInstalled)
            .map { $0.description(isLocal: isLocal) }
        if case .linked(let account) = group {
            let grants = try? self.context.security().trust.linked[account]?.grants.inForce(at: Date())
            let others = self.anonymousConnections == nil ? [] : self.servicesForAnyone
            return description.granted(grants ?? Grants(), beside: others, offered: self.services)
        }
        return description
    }

    /// The names of the services that are offered to anyone nearby.
    private var servicesForAnyone: [String] {
        self.services.values.filter { Authorisation.ServiceOffer($0, of: self.application.id).isForAnyone }.map(\.name)
    }
}
