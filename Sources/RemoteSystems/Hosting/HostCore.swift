// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The state of a running host: its services, and the connections to them.
actor HostCore {
    let context: ApplicationContext
    let services: [String: AppService]
    /// Whether two of the services have the same name.
    let hasDuplicate: Bool
    let metrics: [String: ServiceMetrics]
    let rules: [String: MessageRules]
    let responses: IdempotencyCache
    let builtIns: [String: BuiltInService]
    /// Handles the requests of watchers.
    let renewal: BuiltInService
    var application: SystemDescription.Application
    let uriSchemes: [String]
    let facts: MachineFacts
    /// Every open connection, recorded the moment it opens, so that a shutdown closes all of them.
    nonisolated let connections: HostConnections
    /// The memory that all connections share for messages that have arrived in part, requests in flight, and responses
    /// that are not read.
    nonisolated let memoryBudget: MemoryBudget
    /// The streams that this host offers to other systems.
    nonisolated let streamTickets: StreamTickets
    /// The open connections of watchers, each with its number in the order of their opening.
    var watchers: [ObjectIdentifier: (number: UInt64, connection: Connection)] = [:]
    /// The number of the watcher's connection that was opened last.
    var lastWatcher: UInt64 = 0
    /// The topics of this application and, on the host daemon, of the registered programs.
    nonisolated let topics: HostTopics
    /// The published state of the host; `nil` until ``begin()``.
    var publications: HostPublications?
    /// The connections of systems of other accounts; `nil` where none are accepted.
    let anonymousConnections: AnonymousConnections?
    let linkedConnections: LinkedConnections
    let authorisation: Authorisation
    nonisolated let referral: ApplicationReferral?
    var installed: [InstalledApplication] = []
    var systemDisplayName: String?
    private(set) var isClosing = false
    /// Whether the description exceeded the maximum size. Logged once.
    var hasOutgrownTopic = false
    /// The version of the registered programs that was published last.
    var publishedPrograms: UInt64?
    /// The names of topics that were published last.
    var publishedTopics: [String] = []
    let port = Promise<Int>()

    init(
        context: ApplicationContext,
        services: [AppService],
        builtIns: [BuiltInService] = [],
        referral: ApplicationReferral? = nil,
        application: SystemDescription.Application,
        topics: [ApplicationTopic] = [],
        allowsAnonymous: Bool = false
    ) {
        self.topics = HostTopics(topics, of: application.id, logger: context.logger)
        self.referral = referral
        self.anonymousConnections = allowsAnonymous ? AnonymousConnections() : nil
        self.linkedConnections = LinkedConnections()
        self.authorisation = Authorisation(host: application.id, allowsAnyoneNearby: allowsAnonymous)
        self.systemDisplayName = context.configuration.systemDisplayName
        self.context = context
        self.connections = HostConnections(
            ConnectionQuota(
                limit: FileDescriptorBudget.connections(wanted: context.configuration.limits.connections),
                share: context.configuration.limits.connectionsPerSystem
            ),
            logger: context.logger
        )
        self.memoryBudget = MemoryBudget(
            messageBytes: context.limits.messageBytes,
            windowBytes: context.limits.windowBytes,
            window: context.limits.window
        )
        self.streamTickets = StreamTickets(network: context.account.network, memoryBudget: self.memoryBudget)
        self.responses = IdempotencyCache(
            context.environment,
            messageBytes: context.limits.messageBytes,
            incidents: context.incidents
        )
        self.facts = context.environment.facts ?? .read()
        self.services = Dictionary(services.map { ($0.name, $0) }) { first, _ in first }
        self.hasDuplicate = self.services.count < services.count
        self.rules = self.services.mapValues { MessageRules(published: $0.schemas) }
        self.metrics = self.services.mapValues { ServiceMetrics(service: $0.name) }
        self.builtIns = Dictionary(builtIns.map { ($0.name, $0) }) { first, _ in first }
        self.renewal = CertificateRenewal.service(context)
        self.application = application
        self.uriSchemes = application.uriSchemes
    }

    /// Checks the configuration and the services, so that a mistake is reported here instead of being refused or
    /// dropped by peers.
    nonisolated func validate() throws(RemoteSystemError) {
        func misuse(_ text: String) -> RemoteSystemError { RemoteSystemError(.misuse, text, side: .local) }
        try self.context.configuration.validate()
        guard !self.hasDuplicate else {
            throw .invalidArgument("Two services of the host have the same name. Give each service a name of its own.")
        }
        for (name, service) in self.services {
            try service.validate()
            guard name != Presence.service, name != Launch.service, name != StreamClaim.service,
                self.builtIns[name] == nil
            else {
                throw misuse("The service name \(name) is reserved.")
            }
        }
        guard self.services.count <= SystemDescription.maxServices else {
            throw misuse("A host offers at most \(SystemDescription.maxServices) services.")
        }
        let topics = self.topics.ownNames
        guard topics.count <= ApplicationTopic.maxTopics, Set(topics).count == topics.count,
            topics.allSatisfy(StateMessage.isName)
        else {
            throw misuse(
                "An application publishes at most \(ApplicationTopic.maxTopics) topics, with names that differ, of 1 "
                    + "to 64 of a-z, 0-9, '-' and '.'."
            )
        }
        guard self.uriSchemes.count <= SystemDescription.maxSchemes else {
            throw misuse("A host opens URIs of at most \(SystemDescription.maxSchemes) schemes.")
        }
        for scheme in self.uriSchemes where !LaunchURI.isScheme(scheme) {
            throw misuse("\(scheme) is not a URI scheme (RFC 3986, section 3.1): letters, digits, '+', '-' and '.'.")
        }
    }

    // MARK: Changes

    func update(attributes: [String: String]) async {
        guard attributes != self.application.attributes else { return }
        self.application.attributes = attributes
        self.publish()
    }

    func update(uriSchemes: [String]) async {
        guard uriSchemes != self.application.uriSchemes else { return }
        self.application.uriSchemes = uriSchemes
        self.publish()
    }

    func update(systemDisplayName: String?) async {
        guard systemDisplayName != self.systemDisplayName else { return }
        self.systemDisplayName = systemDisplayName
        self.publish()
    }

    func update(installed: [InstalledApplication]) async {
        guard installed != self.installed else { return }
        self.installed = installed
        self.topics.update(installed: installed)
        self.publish()
    }

    // MARK: Closing

    /// Closes every connection and returns when all are closed. Gracefully, or at once when the task is cancelled.
    ///
    /// - Parameter first: runs before the connections close, when nothing is published any more.
    func close(first: () async -> Void) async {
        self.isClosing = true
        // Programs that leave now still run: their records must not end before the connections to this host do.
        self.topics.end()
        await first()
        await self.referral?.starter.stop()
        await withTaskCancellationHandler {
            // A connection that was admitted just before may open while the others close.
            while case let open = self.connections.allOrShut(), !open.isEmpty {
                await withDiscardingTaskGroup { group in
                    for connection in open {
                        group.addTask {
                            if Task.isCancelled {
                                await connection.abortAndWait()
                            } else {
                                await connection.close(.completed)
                            }
                        }
                    }
                }
            }
        } onCancel: {
            for connection in self.connections.all { connection.abort(.cancelled, reason: nil) }
        }
        self.responses.stop()
    }
}
