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
    /// The time at which the caller stops waiting. The handler's task is then cancelled.
    ///
    /// A handler that runs without a task of its own (``AppService``) is not interrupted.
    public let deadline: ContinuousClock.Instant
    /// The caller's idempotency key for the operation. Repeats of a request have the same key. `nil` if the caller sent
    /// none.
    ///
    /// The handler runs once for all requests of one system to this service with the same key, as long as the host
    /// remembers the response: at most five minutes, and not after a restart
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
    /// The account of the peer's system, if proved: this system's own account, or a linked account.
    ///
    /// `nil` for an anonymous peer, since the account that it names is not proved.
    public var accountID: AccountID? { self.standing.accountID }
    /// The relation of the peer's system to this system's account: the same account, a linked account, or anonymous.
    ///
    /// Callers of a linked account reach only the services that are granted to that account.
    ///
    /// Anonymous callers reach only services offered to ``AppServiceCallers/anyoneNearby``, on hosts that set
    /// ``RemoteSystemHost/Options/allowsAnyoneNearby``.
    public var authorizationKind: RemoteSystemAuthorizationKind { RemoteSystemAuthorizationKind(self.standing.kind) }
    /// Whether the peer runs on the same system as this program.
    public let isLocal: Bool
    /// The application id that the peer claims. It is not verified: only the peer's system is.
    public let claimedApplicationID: String
    /// The holder of the quota that the peer uses.
    package var quotaHolder: QuotaHolder { self.standing.quotaHolder(of: self.systemID) }
    /// The origin of the incidents that the peer causes; `nil` for an anonymous system, of which a machine can be any
    /// number.
    package var incidentHolder: QuotaHolder? {
        if case .anonymous = self.standing { return nil }
        return self.quotaHolder
    }

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
