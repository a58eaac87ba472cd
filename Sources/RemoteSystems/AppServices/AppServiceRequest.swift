// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// A request received over an app-service connection.
public struct AppServiceRequest: Sendable {
    /// The message. When a handler receives it, it satisfies the service's request schema; when an interceptor receives
    /// it, it may not.
    public var message: ValueSet
    /// The data that the peer sent beside the message. The peer claims it; only ``caller`` is verified.
    public var metadata: RequestMetadata
    /// The sender of the request. Verified before the message is decoded.
    public let caller: AppServiceCaller
    /// The time at which the caller stops waiting. At this time the handler's task is cancelled. A handler that runs
    /// without a task of its own (``AppService``) is not interrupted.
    public let deadline: ContinuousClock.Instant
    /// The key by which the caller identifies the operation when it may repeat the request; `nil` if it sent none.
    ///
    /// The host ensures that a request with a key is executed once
    /// (``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``).
    public let idempotencyKey: IdempotencyKey?
    /// The connection that the request arrived over, for requests in the other direction.
    public let connection: AppServiceConnection

    package init(
        message: ValueSet,
        caller: AppServiceCaller,
        deadline: ContinuousClock.Instant,
        idempotencyKey: IdempotencyKey?,
        metadata: RequestMetadata,
        connection: AppServiceConnection
    ) {
        self.message = message
        self.metadata = metadata
        self.caller = caller
        self.deadline = deadline
        self.idempotencyKey = idempotencyKey
        self.connection = connection
    }
}

/// The peer of a connection.
public struct AppServiceCaller: Sendable, Hashable {
    /// The id of the peer's system, proved by its certificate.
    public let systemID: SystemID
    /// The relation of the peer's system to this system.
    package let standing: Standing
    /// The account that certified the peer's system, which is this system's own account.
    ///
    /// `nil` for an anonymous caller, since the account that it names is not proved.
    public var accountID: AccountID? { self.standing.accountID }
    /// Whether the peer's system belongs to this system's account or is anonymous.
    ///
    /// Anonymous callers reach only services offered to ``AppServiceCallers/anyoneNearby``, on hosts that allow it.
    public var authorizationKind: RemoteSystemAuthorizationKind { RemoteSystemAuthorizationKind(self.standing.kind) }
    /// Whether the peer runs on this system.
    public let isLocal: Bool
    /// The application id that the peer claims. Only the system is proved.
    public let claimedApplicationID: String

    package init(
        systemID: SystemID,
        standing: Standing,
        isLocal: Bool,
        claimedApplicationID: String
    ) {
        self.systemID = systemID
        self.standing = standing
        self.isLocal = isLocal
        self.claimedApplicationID = claimedApplicationID
    }
}
