// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// A request that this program received over an app-service connection.
public struct AppServiceRequest: Sendable {
    /// The content of the request.
    ///
    /// A handler receives only messages that satisfy the service's request schema. An interceptor also receives
    /// messages that do not.
    public var message: ValueSet
    /// The data that the caller sent beside the message. The caller's claims are not verified; only ``caller`` is.
    public var metadata: RequestMetadata
    /// The sender of the request. Its system was authenticated before the message was decoded.
    public let caller: AppServiceCaller
    /// The time at which the caller stops waiting, when the handler's task is cancelled.
    ///
    /// A handler that runs without a task of its own (``AppService``) is not interrupted.
    public let deadline: ContinuousClock.Instant
    /// The key by which the caller identifies the operation when it may repeat the request; `nil` if it sent none.
    ///
    /// The host ensures that a request with a key is executed once
    /// (``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``).
    public let idempotencyKey: IdempotencyKey?
    /// The connection that the request arrived over. The service uses it to send requests to the caller.
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

/// The other end of a connection: its system, and the application that it claims to be.
public struct AppServiceCaller: Sendable, Hashable {
    /// The id of the peer's system, proved by its certificate.
    public let systemID: SystemID
    /// The relation of the peer's system to this system.
    package let standing: Standing
    /// The account of the peer's system, if proved. It is then this system's own account.
    ///
    /// `nil` for an anonymous peer, since the account that it names is not proved.
    public var accountID: AccountID? { self.standing.accountID }
    /// The relation of the peer's system to this system's account: the same account, or anonymous.
    ///
    /// Anonymous callers reach only services offered to ``AppServiceCallers/anyoneNearby``, on hosts that set
    /// ``RemoteSystemHost/Options/allowsAnyoneNearby``.
    public var authorizationKind: RemoteSystemAuthorizationKind { RemoteSystemAuthorizationKind(self.standing.kind) }
    /// Whether the peer runs on the same system as this program.
    public let isLocal: Bool
    /// The application id that the peer claims. It is not verified: only the peer's system is.
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
