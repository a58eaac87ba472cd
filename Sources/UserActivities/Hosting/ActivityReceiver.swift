// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import Synchronization

/// Continues activities of other systems in this application.
final class ActivityReceiver: Sendable {
    /// The maximum number of continuations that run at the same time.
    static let maxRunning = 8

    let activityTypes: Set<String>
    private let configuration: RemoteSystemsConfiguration
    private let handler: any ContinuationHandler
    private let options: UserActivityHost.Options
    private let permissions: HandOffPermissions
    private let proofs: PublisherProofs
    private let clock: FeatureClock
    private let running = Mutex(0)

    init(
        _ configuration: RemoteSystemsConfiguration,
        activityTypes: Set<String>,
        handler: any ContinuationHandler,
        options: UserActivityHost.Options,
        proofs: PublisherProofs
    ) {
        self.proofs = proofs
        self.configuration = configuration
        self.activityTypes = activityTypes
        self.handler = handler
        self.options = options
        self.permissions = HandOffPermissions(configuration, options)
        self.clock = FeatureClock(configuration)
    }

    /// Publishes the types that the application continues, or withdraws them if the user does not permit it.
    ///
    /// - Throws: `RemoteSystemError` if the types are too long together.
    func publishTypes(in topic: ApplicationTopic) throws(RemoteSystemError) {
        guard !self.activityTypes.isEmpty, self.permissions.now.receiving else {
            return topic.remove(HandledTypes.key)
        }
        try topic.put(HandledTypes.key, HandledTypes.record(self.activityTypes, titles: self.options.activityTitles))
    }

    /// Continues an offer that the application itself or another program of this system has chosen.
    func receive(_ offer: OfferReference) async throws(ContinuationError) {
        let target: RemoteSystemConnectionRequest
        do {
            target = try RemoteSystemConnectionRequest(
                connectionToken: offer.token,
                configuration: self.configuration
            )
        } catch {
            throw ContinuationError(error)
        }
        guard self.activityTypes.contains(offer.type) else {
            throw ContinuationError(
                .noHandler,
                "The application \(self.configuration.applicationID) does not continue activities of the type "
                    + "\(offer.type).",
                side: .local
            )
        }
        try await self.run(.offer(offer, target))
    }

    /// Shows a web page, for which another program of this system has found this application. Its manifest claims the
    /// page's domain, which includes the type.
    func receive(_ page: ActivityPayload) async throws(ContinuationError) { try await self.run(.webpage(page)) }

    private func run(_ source: IncomingContinuation.Source) async throws(ContinuationError) {
        guard self.permissions.now.receiving else {
            throw ContinuationError(
                .disabled,
                "Continuing activities of other systems is switched off here, for this application or for all. "
                    + "'remotesystems activities settings' shows and changes it.",
                side: .local
            )
        }
        let hasPlace = self.running.withLock { running in
            guard running < Self.maxRunning else { return false }
            running += 1
            return true
        }
        guard hasPlace else {
            throw ContinuationError(
                .busy,
                "The application continues \(Self.maxRunning) other activities at this moment.",
                side: .local,
                canRetry: true
            )
        }
        defer { self.running.withLock { $0 -= 1 } }
        try await IncomingContinuation(
            source: source,
            handler: self.handler,
            options: self.options,
            proofs: self.proofs,
            clock: self.clock
        ).run()
    }
}
