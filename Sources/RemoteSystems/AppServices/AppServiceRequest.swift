// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// A request that came over an app-service connection, for its handler.
public struct AppServiceRequest: Sendable {
    /// What the other side sent. It satisfies the service's request schema when a handler gets it, and not yet when an
    /// interceptor does.
    public var message: ValueSet
    /// What the other side sent beside the message. It says so itself; only ``caller`` is verified.
    public var metadata: RequestMetadata
    /// Who sent it. Verified, before the first byte of the message was looked at.
    public let caller: AppServiceCaller
    /// When the caller stops waiting. The handler's task, if it has one, is cancelled then.
    public let deadline: ContinuousClock.Instant
    /// By which the caller names what it wants done, if it means to ask again should no answer come. A host has seen to it
    /// already that a request with a key is carried out once (``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``).
    public let idempotencyKey: IdempotencyKey?
    /// The connection it came over, for requests in the other direction.
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

/// Who is at the other end of a connection.
public struct AppServiceCaller: Sendable, Hashable {
    /// The system, proved by its certificate.
    public let systemID: SystemID
    /// What the system is to this one.
    package let standing: Standing
    /// The account that certified the system: this system's own. `nil` for an anonymous caller, since the account that it
    /// names is not proved.
    public var accountID: AccountID? { self.standing.accountID }
    /// Whose system it is. Anonymous callers reach only services that are offered to
    /// ``AppServiceCallers/anyoneNearby``, on hosts that allow it.
    public var authorizationKind: RemoteSystemAuthorizationKind { RemoteSystemAuthorizationKind(self.standing.kind) }
    /// Whether it is this very machine.
    public let isLocal: Bool
    /// The application's id as the other side says; only the system is proved.
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
