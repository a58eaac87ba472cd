// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import RemoteSystems
internal import RemoteSystemsIdentity

extension AppServiceCaller {
    /// A caller that never called, for tests of a handler by itself. Outside of tests a caller is one that has proved its
    /// system, and cannot be made.
    ///
    /// - Parameters:
    ///   - applicationID: the application that it says it is.
    ///   - systemID: its system; one that nobody else has unless given.
    ///   - isLocal: whether it is on the same machine.
    ///   - authorizationKind: whose system it is. Defaults to one of the same account; services that are offered to
    ///     anyone nearby also receive requests of `anonymous` systems.
    public static func staged(
        applicationID: String = "test.caller",
        systemID: SystemID? = nil,
        isLocal: Bool = false,
        authorizationKind: RemoteSystemAuthorizationKind = .sameUser
    ) -> AppServiceCaller {
        AppServiceCaller(
            systemID: systemID ?? SystemID(of: P256.Signing.PrivateKey().publicKey),
            standing: authorizationKind == .anonymous ? .anonymous : .sameAccount(Self.stagedAccount),
            isLocal: isLocal,
            claimedApplicationID: applicationID
        )
    }

    /// All such callers are of one account.
    private static let stagedAccount = AccountID(of: P256.Signing.PrivateKey().publicKey)
}

extension AppServiceRequest {
    /// A request that came over no network, for tests of a handler by itself.
    ///
    /// ```swift
    /// let answer = try await volume.respond(to: .staged(["Volume": 0.3]))
    /// ```
    ///
    /// - Parameters:
    ///   - message: what was sent.
    ///   - caller: who sent it.
    ///   - timeout: how long the caller waits, from now by the machine's clock.
    ///   - idempotencyKey: by which the caller names what it wants done.
    ///   - metadata: what was sent beside the message.
    ///   - connection: what it came over; one that is not open unless given. For a handler that sends requests of its own
    ///     there is ``DiscoveryStage/withConnectedPair(_:patience:_:)``.
    public static func staged(
        _ message: ValueSet = [:],
        from caller: AppServiceCaller = .staged(),
        timeout: Duration = .seconds(30),
        idempotencyKey: IdempotencyKey? = nil,
        metadata: RequestMetadata = RequestMetadata(),
        connection: AppServiceConnection = AppServiceConnection(to: AppServiceDescription(name: "test.service"))
    ) -> AppServiceRequest {
        AppServiceRequest(
            message: message,
            caller: caller,
            deadline: .now + timeout,
            idempotencyKey: idempotencyKey,
            metadata: metadata,
            connection: connection
        )
    }
}

extension AppService {
    /// What the service's handler answers, for tests of it by itself: the message and the answer are held to the service's
    /// schemas, as a host does, and the service's own interceptors run. Who may call is a host's affair; for that there is
    /// ``DiscoveryStage``.
    ///
    /// - Throws: what the handler or an interceptor throws; `RemoteSystemError` with the code `invalidMessage` when the message or the answer is not
    ///   allowed.
    public func respond(to request: AppServiceRequest) async throws -> ValueSet {
        try await self.intercepting(request) { request in
            try Self.check(request.message, self.requestSchema)
            let response = try await self.response(to: request)
            try Self.check(response, self.responseSchema)
            return response
        }
    }

    private static func check(_ message: ValueSet, _ schema: AllowedValueSchema) throws(RemoteSystemError) {
        do {
            try schema.validate(message)
        } catch {
            throw RemoteSystemError(error)
        }
    }
}

extension LaunchURIRequest {
    /// A launch that came over no network, for tests of a `LaunchURIProvider` by itself.
    ///
    /// - Parameters:
    ///   - uri: what to open.
    ///   - isFallback: whether it is the launcher's second choice.
    ///   - options: what the launcher asked for beside it.
    ///   - inputData: what the launcher sent along.
    ///   - caller: who sent it.
    ///   - timeout: how long the launcher waits, from now by the machine's clock.
    /// - Throws: `RemoteSystemError` with the code `misuse` when the URI is none.
    public static func staged(
        _ uri: String,
        isFallback: Bool = false,
        options: RemoteLauncherOptions = RemoteLauncherOptions(),
        inputData: ValueSet? = nil,
        from caller: AppServiceCaller = .staged(),
        timeout: Duration = .seconds(30)
    ) throws -> LaunchURIRequest {
        LaunchURIRequest(
            uri: try LaunchURI(uri),
            isFallback: isFallback,
            options: options,
            inputData: inputData,
            caller: caller,
            deadline: .now + timeout
        )
    }
}
