// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Continues one activity of another system in this application.
struct IncomingContinuation: Sendable {
    /// What is continued.
    enum Source: Sendable {
        /// An offer, and what leads to the application that offers it.
        case offer(OfferReference, RemoteSystemConnectionRequest)
        /// A web page, whose content another program of this system has fetched.
        case webpage(ActivityPayload)

        /// The type of the activity.
        var type: String {
            switch self {
            case .offer(let offer, _): offer.type
            case .webpage(let page): page.type
            }
        }
    }

    let source: Source
    let handler: any ContinuationHandler
    let options: UserActivityHost.Options
    let proofs: PublisherProofs
    let clock: FeatureClock

    /// Continues the activity. Returns when the application has continued it.
    ///
    /// - Throws: ``ContinuationError``. The handler has received it before, unless it declined or hangs. An activity
    ///   that was confirmed and then not continued is returned to its origin, if that can still be reached.
    func run() async throws(ContinuationError) {
        let type = self.source.type
        let decision = await self.clock.first(within: self.options.decisionTimeout) { [handler] in
            await handler.willContinueUserActivity(type: type)
        }
        guard let decision else {
            throw await self.failed(
                ContinuationError(
                    .timedOut,
                    "The application did not decide in time whether it continues the activity.",
                    side: .local,
                    canRetry: true
                )
            )
        }
        guard decision else {
            throw ContinuationError(
                .declined,
                "The application declined to continue the activity now.",
                side: .local,
                canRetry: true
            )
        }
        do {
            switch self.source {
            case .offer(let offer, let target): try await self.fetchAndContinue(offer, target)
            case .webpage(let page): try await self.continue(page, streams: nil)
            }
        } catch let error as ContinuationError {
            throw await self.failed(error)
        } catch let error as RemoteSystemError {
            throw await self.failed(ContinuationError(error))
        } catch is CancellationError {
            throw await self.failed(
                ContinuationError(.timedOut, "The continuation was cancelled.", side: .local, canRetry: true)
            )
        } catch {
            throw await self.failed(
                ContinuationError(
                    .handlerFailed,
                    "The application failed to continue the activity.",
                    side: .local,
                    cause: error
                )
            )
        }
    }

    /// Notifies the application. An application that hangs, perhaps since ``run()`` has asked it, does not keep the
    /// caller waiting.
    private func failed(_ error: ContinuationError) async -> ContinuationError {
        let (handler, type, limit) = (self.handler, self.source.type, self.options.decisionTimeout)
        // In a task of its own: the application has its time also if this one was cancelled.
        await self.clock.task { [clock] in
            _ = await clock.first(within: limit) {
                await handler.didFailToContinueUserActivity(type: type, error: error)
            }
        }.value
        return error
    }

    private func fetchAndContinue(_ offer: OfferReference, _ target: RemoteSystemConnectionRequest) async throws {
        self.progress(.connecting)
        let (connection, peer) = try await self.connect(offer, target)
        do {
            let (payload, continuation) = try await self.fetch(offer, over: connection, peer)
            // A program that fails only while it continues the activity must not take it away from the origin.
            if self.options.continuesBeforeConfirmation { try await self.continue(payload, streams: nil) }
            // Otherwise confirmed before anything is restored: if several systems continue the activity at the same
            // time, only one of them shows it.
            let confirmed = try await self.confirm(continuation, over: connection) {
                try await self.connect(offer, target).connection
            }
            do {
                if !self.options.continuesBeforeConfirmation {
                    try Task.checkCancellation()
                    try await self.restore(payload, continuation, over: confirmed)
                }
                await confirmed.close()
            } catch {
                await self.return(continuation, over: confirmed) { try await self.connect(offer, target).connection }
                await confirmed.close()
                throw error
            }
            await connection.close()
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Opens a connection to the application that offers the activity.
    private func connect(
        _ offer: OfferReference,
        _ target: RemoteSystemConnectionRequest
    ) async throws -> (connection: AppServiceConnection, peer: AppServiceCaller) {
        let connection = AppServiceConnection(
            to: AppServiceDescription(name: ActivityDescriptor.topic, applicationID: offer.application)
        )
        let status = try await connection.open(target)
        guard status == .success else {
            throw ContinuationError(status, connection.openError)
        }
        guard let peer = connection.info?.peer, peer.systemID == offer.system else {
            await connection.close()
            throw ContinuationError(
                .originGone,
                "Another system responds at the address of the one that offered the activity.",
                side: .remote
            )
        }
        return (connection, peer)
    }

    private func fetch(
        _ offer: OfferReference,
        over connection: AppServiceConnection,
        _ peer: AppServiceCaller
    ) async throws -> (ActivityPayload, UUID) {
        self.progress(.requesting)
        let own = await self.proofs.own(for: offer.system, about: offer.activity)
        let response = try await self.send(
            .fetch(activity: offer.activity, voucher: own?.bytes, isWebpageOnly: offer.isWebpageOnly),
            over: connection
        )
        let isSameAccount = peer.authorizationKind == .sameUser
        if !offer.isWebpageOnly || !isSameAccount {
            try self.proofs.compare(
                own,
                with: response[ContinuationResponse.voucher]?.data.map { Array($0) },
                of: PublisherProofs.Peer(
                    system: offer.system,
                    holder: peer.incidentHolder,
                    application: offer.application,
                    isSameAccount: isSameAccount
                ),
                about: offer.activity,
                type: offer.type,
                isOrigin: false
            )
        }
        guard let continuation = response[ContinuationResponse.continuation]?.uuid,
            let content = response[ContinuationResponse.payload]?.dictionary
        else {
            throw ContinuationError(
                .payloadInvalid,
                "The other system's response contains no activity.",
                side: .remote
            )
        }
        let payload = try ActivityPayload(
            content,
            offeredAs: offer.type,
            documents: self.options.documents ?? DocumentURLMapper.none
        )
        self.progress(.received)
        return (payload, continuation)
    }

    /// Confirms that the content has arrived. If the connection is lost before the outcome is known, it is confirmed
    /// once more over another one: the origin may have handed the activity over, and neither side would have it.
    ///
    /// - Parameter reconnect: opens another connection.
    /// - Returns: the connection over which the continuation goes on.
    private func confirm(
        _ continuation: UUID,
        over connection: AppServiceConnection,
        reconnect: @escaping @Sendable () async throws -> AppServiceConnection
    ) async throws -> AppServiceConnection {
        let request = ContinuationRequest.confirm(continuation: continuation)
        // In a task of its own: if this one is cancelled, the origin may have given the activity up nevertheless.
        return try await self.clock.task { () -> Result<AppServiceConnection, any Error> in
            do {
                _ = try await self.send(request, over: connection)
                return .success(connection)
            } catch let error as ContinuationError where error.isOutcomeUnknown {
                guard let second = try? await reconnect() else { return .failure(error) }
                guard (try? await self.send(request, over: second)) != nil else {
                    await second.close()
                    return .failure(error)
                }
                return .success(second)
            } catch {
                return .failure(error)
            }
        }.value.get()
    }

    /// Returns the activity to its origin, which has given it up: the application has failed to continue it. If the
    /// connection is lost or silent, it is returned over another one.
    ///
    /// - Parameter reconnect: opens another connection.
    private func `return`(
        _ continuation: UUID,
        over connection: AppServiceConnection,
        reconnect: @escaping @Sendable () async throws -> AppServiceConnection
    ) async {
        let request = ContinuationRequest.return(continuation: continuation)
        let limit = self.options.decisionTimeout
        // In a task of its own: also if this one was cancelled. The error of the application counts, so one of the
        // return is dropped: the other system is gone, or older.
        await self.clock.task {
            do {
                _ = try await request.send(over: connection, timeout: limit)
            } catch let error as ContinuationError where error.code == .originGone || error.isOutcomeUnknown {
                guard let second = try? await reconnect() else { return }
                // The continuation belongs to the connection that has confirmed it.
                let confirmation = ContinuationRequest.confirm(continuation: continuation)
                if (try? await confirmation.send(over: second, timeout: limit)) != nil {
                    _ = try? await request.send(over: second, timeout: limit)
                }
                await second.close()
            } catch {}
        }.value
    }

    private func restore(
        _ payload: ActivityPayload,
        _ continuation: UUID,
        over connection: AppServiceConnection
    ) async throws {
        let streams = ContinuationStreams(
            isSupported: payload.attributes.supportsContinuationStreams,
            continuation: continuation,
            connection: connection
        )
        defer { streams.end() }
        try await self.continue(payload, streams: streams)
    }

    /// Lets the application continue an activity whose content is here. An application that was cancelled may still be
    /// restoring it: its result is waited for, as long as the time limit permits.
    private func `continue`(_ payload: ActivityPayload, streams: ContinuationStreams?) async throws {
        let activity = UserActivity(continuing: payload, streams: streams)
        let (clock, handler, limit) = (self.clock, self.handler, self.options.continuationTimeout)
        let work = clock.task { () -> Result<Bool, any Error> in
            await handler.didUpdateUserActivity(activity)
            do {
                let isContinued = try await handler.continueUserActivity(activity) { objects in
                    for object in objects { await object.restoreUserActivityState(activity) }
                }
                return .success(isContinued)
            } catch {
                return .failure(error)
            }
        }
        let result = await withTaskCancellationHandler {
            await clock.task { await clock.first(within: limit) { await work.value } }.value
        } onCancel: {
            work.cancel()
        }
        work.cancel()
        guard let result else {
            throw ContinuationError(
                .timedOut,
                "The application did not continue the activity in time.",
                side: .local,
                canRetry: true
            )
        }
        guard try result.get() else {
            throw ContinuationError(
                .handlerFailed,
                "The application could not continue the activity.",
                side: .local
            )
        }
    }

    private func send(_ request: ContinuationRequest, over connection: AppServiceConnection) async throws -> ValueSet {
        do {
            return try await request.send(over: connection, timeout: self.options.contentTimeout)
        } catch let error as ContinuationError {
            // An application closes the connections to its services in order only when it ends.
            guard (error.cause as? RemoteSystemError)?.code == .connectionClosed,
                (try? await connection.waitUntilClosed()) == .completed
            else { throw error }
            throw ContinuationError(endedBy: error.cause)
        }
    }

    private func progress(_ step: ContinuationProgress.Step) {
        self.handler.didProgress(ContinuationProgress(activityType: self.source.type, step: step))
    }
}

extension ContinuationRequest {
    /// Sends the request and returns the content of a successful response.
    func send(over connection: AppServiceConnection, timeout: Duration) async throws -> ValueSet {
        let response = try await connection.send(self.message, timeout: timeout)
        if let error = response.error { throw ContinuationError(error) }
        return response.message
    }
}

extension ContinuationError {
    /// Whether the request may have been executed: the connection was lost, or no response arrived in time.
    fileprivate var isOutcomeUnknown: Bool {
        let code = (self.cause as? RemoteSystemError)?.code
        return code == .connectionLost || code == .deadlineExceeded
    }

    /// The application that offered the activity is ending, often because the activity was continued.
    fileprivate init(endedBy cause: (any Error)?) {
        self.init(
            .activityUnknown,
            "The application that offered the activity is ending, so it does not offer the activity any more. Another "
                + "system may have continued it.",
            side: .remote,
            cause: cause
        )
    }

    fileprivate init(_ status: AppServiceConnectionStatus, _ error: RemoteSystemError?) {
        guard error?.failureCode != FailureCode.applicationClosing.rawValue else {
            self.init(endedBy: error)
            return
        }
        let message = error?.message ?? "The offering application cannot be reached (\(status))."
        let code: Code =
            switch status {
            case .notAuthorized: .notAuthorized
            case .appServiceUnavailable, .appNotInstalled: .activityUnknown
            default: error?.code == .incompatibleVersion ? .versionNotSupported : .originGone
            }
        self.init(
            code,
            message,
            side: error?.side ?? .remote,
            canRetry: error?.canRetry ?? true,
            cause: error
        )
    }
}

/// The streams that a continued activity can open to the application that offered it.
final class ContinuationStreams: Sendable {
    private let isSupported: Bool
    private let continuation: UUID
    private let connection: Mutex<AppServiceConnection?>

    init(isSupported: Bool, continuation: UUID, connection: AppServiceConnection) {
        self.isSupported = isSupported
        self.continuation = continuation
        self.connection = Mutex(connection)
    }

    /// Opens a stream. Several may be opened.
    func open() async throws(ContinuationError) -> RemoteSystemStream {
        guard self.isSupported else { throw .streamsNotSupported }
        guard let connection = self.connection.withLock({ $0 }) else {
            throw ContinuationError(
                .streamFailed,
                "Streams can be opened only while the application continues the activity.",
                side: .local
            )
        }
        do {
            let response = try await ContinuationRequest.stream(continuation: self.continuation)
                .send(over: connection, timeout: .seconds(10))
            return try await connection.openStream(response[ContinuationResponse.ticket])
        } catch let error as ContinuationError {
            throw error
        } catch {
            throw ContinuationError(
                .streamFailed,
                (error as? RemoteSystemError)?.message ?? "The stream was not opened: the task was cancelled.",
                side: (error as? RemoteSystemError)?.side ?? .local,
                canRetry: (error as? RemoteSystemError)?.canRetry ?? true,
                cause: error
            )
        }
    }

    /// Opens no further streams. Those that are open stay open.
    func end() { self.connection.withLock { $0 = nil } }
}
