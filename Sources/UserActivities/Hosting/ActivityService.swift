// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
public import RemoteSystemsIdentity
internal import ValueSets

/// The service with which other systems continue the application's activities, and with which programs of this system
/// let the application continue those of other systems.
struct ActivityService: AppServiceProvider {
    let origin: ActivityOrigin
    let receiver: ActivityReceiver
    let refusals: RefusalLog

    /// The service as a host offers it.
    var service: AppService {
        AppService(
            ActivityDescriptor.topic,
            requestSchema: .full,
            responseSchema: .full,
            // Delegates may compute.
            execution: .onThreadPool,
            provider: self
        )
    }

    func respond(to request: AppServiceRequest) async throws -> ValueSet {
        let unknown = AppServiceFailure(
            "The request is unknown to this version.",
            code: "\(ActivityDescriptor.topic).request-unknown"
        )
        guard let type = request.message["Request"]?.string, let callers = ContinuationRequest.callers[type] else {
            throw unknown
        }
        guard self.refusals.permits(type, of: ActivityDescriptor.topic, by: request.caller, callers) else {
            throw ContinuationError(
                .notAuthorized,
                "Only programs of the same system choose what its applications continue.",
                side: .remote
            ).failure
        }
        guard let known = ContinuationRequest(request.message) else { throw unknown }
        do {
            return try await self.response(to: known, request)
        } catch let error as ContinuationError {
            throw error.failure
        }
    }

    private func response(to known: ContinuationRequest, _ request: AppServiceRequest) async throws -> ValueSet {
        let link = ObjectIdentifier(request.connection)
        switch known {
        case .fetch(let activity, let voucher, let isWebpageOnly):
            return try await self.origin.fetch(
                activity,
                over: link,
                for: request.caller,
                voucher,
                isWebpageOnly: isWebpageOnly
            )
        case .confirm(let continuation):
            try self.origin.confirm(continuation, over: link, by: request.caller)
            return [:]
        case .return(let continuation):
            try self.origin.takeBack(continuation, over: link, from: request.caller)
            return [:]
        case .stream(let continuation):
            return try self.origin.stream(continuation, over: link, for: request.caller, request.connection)
        case .receive(let offer):
            try await self.receiver.receive(offer)
            return [:]
        case .webpage(let page):
            try await self.receiver.receive(page)
            return [:]
        }
    }

    func connectionClosed(_ connection: AppServiceConnection, status: AppServiceClosedStatus) {
        self.origin.ended(ObjectIdentifier(connection), isLost: status == .unknown)
    }
}

/// The system and the application that continued an activity.
public struct UserActivityReceiver: Sendable, Hashable {
    /// The id of the system, proved by its certificate.
    public let systemID: SystemID
    /// The id of the application. The other system states it; it is not verified.
    public let claimedApplicationID: String

    init(_ caller: AppServiceCaller) {
        self.systemID = caller.systemID
        self.claimedApplicationID = caller.claimedApplicationID
    }
}
