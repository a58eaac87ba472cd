// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The built-in service by which other systems of the account launch URIs on this one.
final class LaunchService: Sendable {
    private struct Offer {
        var provider: any LaunchURIProvider
        /// In lower case and ascending order.
        var schemes: [String]

        init(_ provider: any LaunchURIProvider) {
            self.provider = provider
            self.schemes = Set(provider.supportedURISchemes.map { $0.lowercased() }).sorted()
        }
    }

    private let offer: Mutex<Offer>
    private let context: ApplicationContext
    private let limits = Mutex(LaunchLimits())

    var builtIn: BuiltInService {
        BuiltInService(Launch.service, handlers: [Launch.launch.handler(self.launch)])
    }

    init(provider: any LaunchURIProvider, context: ApplicationContext) {
        self.offer = Mutex(Offer(provider))
        self.context = context
    }

    /// The published schemes.
    var schemes: [String] { self.offer.withLock { $0.schemes } }

    /// Changes the provider of future launches.
    func update(_ provider: any LaunchURIProvider) {
        self.offer.withLock { $0 = Offer(provider) }
    }

    private func launch(
        _ message: LaunchMessage,
        from peer: BuiltInCaller
    ) async throws(WireFailure) -> LaunchResponse {
        if let input = message.input, RemoteLauncher.isTooLarge(input) {
            return LaunchResponse(.valueSetTooLarge, RemoteLauncher.tooLargeText)
        }
        guard let identity = try? self.context.security().identity else {
            throw WireFailure("The system's own identity cannot be used.", code: .hostFailed)
        }
        let caller = AppServiceCaller(peer.connection, own: identity.systemID)
        if let refused = self.refusal(of: message, from: peer.connection, own: identity.systemID) { return refused }
        let (time, deadline) = (self.context.environment.time, peer.deadline)
        let now = time.now
        let start: ContinuousClock.Instant
        do throws(LaunchLimits.Refusal) {
            start = try self.limits.withLock { limits throws(LaunchLimits.Refusal) in
                try limits.begin(caller, deadline: deadline, now: now)
            }
        } catch {
            self.context.incidents.report(
                .launchLimit,
                by: caller.systemID,
                of: caller.incidentHolder,
                reason: "too many, or too often"
            )
            return LaunchResponse(.appUnavailable, error.text(for: caller), canRetry: true)
        }
        defer { self.limits.withLock { $0.end(caller) } }
        if start > now, (try? await time.sleep(until: start)) == nil {
            let text = "The launch was cancelled before the URI was opened."
            return LaunchResponse(.appUnavailable, text, canRetry: true)
        }
        return await self.launch(message, for: caller, deadline: deadline)
    }

    /// The response to a launch whose URI or fallback the caller may not open.
    private func refusal(of message: LaunchMessage, from connection: Connection, own: SystemID) -> LaunchResponse? {
        let subject = Authorisation.Subject(connection.peer, application: connection.remote.application, own: own)
        let authorisation = Authorisation(host: self.context.configuration.applicationID, allowsAnyoneNearby: false)
        for uri in [message.uri, message.fallback].compactMap(\.self) {
            let target = Authorisation.Target.launch(scheme: uri.scheme)
            let decision = authorisation.decide(subject, target)
            self.context.audit(decision, about: subject, target)
            guard case .refused = decision else { continue }
            return LaunchResponse(
                .deniedByRemoteSystem,
                "The account of this system does not permit yours to open \(uri.scheme): URIs here."
            )
        }
        return nil
    }

    /// Opens the URI, and the fallback only if it is certain that the URI was not opened.
    private func launch(
        _ message: LaunchMessage,
        for caller: AppServiceCaller,
        deadline: ContinuousClock.Instant
    ) async -> LaunchResponse {
        let options = RemoteLauncherOptions(
            fallbackURI: message.fallback?.description,
            preferredApplicationIDs: message.applications
        )
        var limited = options
        limited.requiresPreferredApplication = message.isLimited
        let first = await self.ask(
            LaunchURIRequest(
                uri: message.uri,
                isFallback: false,
                options: limited,
                inputData: message.input,
                caller: caller,
                deadline: deadline
            )
        )
        guard first.status.leavesRoomForFallback, let fallback = message.fallback, !Task.isCancelled else {
            return first
        }
        var second = await self.ask(
            LaunchURIRequest(
                uri: fallback,
                isFallback: true,
                options: options,
                inputData: nil,
                caller: caller,
                deadline: deadline
            )
        )
        if second.status != .success {
            let texts = [first.text, second.text.map { "The fallback was not opened either: \($0)" }]
            // The first result decides, unless the fallback may have been opened.
            if second.status != .unknown { second = first }
            second.text = texts.compactMap(\.self).joined(separator: " ")
        }
        return second
    }

    private func ask(_ request: LaunchURIRequest) async -> LaunchResponse {
        let offer = self.offer.withLock { $0 }
        // The host daemon opens URIs with other applications, and checks the preferred ones itself.
        let own = self.context.configuration.applicationID
        if request.options.requiresPreferredApplication, own != RemoteSystemHost.machineApplicationID,
            !request.options.preferredApplicationIDs.contains(own)
        {
            return LaunchResponse(.appUnavailable, "This is the application \(own), but another one is required.")
        }
        guard offer.provider.judgesOtherSchemes || offer.schemes.contains(request.uri.scheme) else {
            return LaunchResponse(
                .protocolUnavailable,
                "The application \(self.context.configuration.applicationID) opens no \(request.uri.scheme): URIs."
            )
        }
        do {
            let decision = try await Self.decide(offer.provider, request)
            return LaunchResponse(
                decision,
                opened: request.isFallback ? .fallback : .uri,
                application: self.context.configuration.applicationID
            )
        } catch let failure as AppServiceFailure {
            return LaunchResponse(.unknown, failure.message, canRetry: failure.canRetry)
        } catch is CancellationError {
            let text = "The launch was cancelled: whether the URI was opened is unknown."
            return LaunchResponse(.unknown, text, canRetry: true)
        } catch {
            // The launcher learns only that an error occurred. The error itself goes to the host's log.
            self.context.incidents.report(
                .launchFailed,
                by: request.caller.incidentHolder,
                ["error": "\(LoggedError(error))", "system": "\(request.caller.systemID)"]
            )
            return LaunchResponse(
                .unknown,
                "The application failed while it opened the URI: whether the URI was opened is unknown.",
                canRetry: true
            )
        }
    }

    /// Runs off the connection's event loop: providers start programs and read files.
    @concurrent
    private static func decide(
        _ provider: any LaunchURIProvider,
        _ request: LaunchURIRequest
    ) async throws -> LaunchURIDecision {
        try await provider.launchURI(request)
    }
}

extension RemoteLaunchURIStatus {
    /// Whether the URI was certainly not opened, and not denied either.
    var leavesRoomForFallback: Bool { self == .appUnavailable || self == .protocolUnavailable }
}
