// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
public import RemoteSystems
internal import RemoteSystemsIdentity

extension AppServiceCaller {
    /// Creates a caller that never connected, for testing a handler alone. Outside of tests, a caller exists only after
    /// its system is authenticated.
    ///
    /// - Parameters:
    ///   - applicationID: The application id that the caller claims. Defaults to `test.caller`.
    ///   - systemID: The id of the caller's system. Defaults to `nil`: a new, unique id.
    ///   - isLocal: Whether the caller is on the same machine. Defaults to `false`.
    ///   - authorizationKind: The relation of the caller's system to this system's account. Defaults to the same
    ///     account. Services that are offered to anyone nearby also receive requests of `anonymous` systems.
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

    /// The account of all staged callers that are not anonymous.
    private static let stagedAccount = AccountID(of: P256.Signing.PrivateKey().publicKey)
}

extension AppServiceRequest {
    /// Creates a request that was not received over a network, for testing a handler alone.
    ///
    /// ```swift
    /// let answer = try await volume.respond(to: .staged(["Volume": 0.3]))
    /// ```
    ///
    /// - Parameters:
    ///   - message: The message. Defaults to an empty one.
    ///   - caller: The caller. Defaults to an application `test.caller` on another system of the same account.
    ///   - timeout: The time for which the caller waits, from now by the machine's clock. Defaults to 30 s.
    ///   - idempotencyKey: The request's idempotency key. Defaults to `nil`: none.
    ///   - metadata: The request's metadata. Defaults to none.
    ///   - connection: The connection of the request. Defaults to one that is not open. For a handler that sends
    ///     requests itself, use ``DiscoveryStage/withConnectedPair(_:patience:_:)``.
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
    /// Calls the service's handler as a host does, and returns its response, for testing the service alone.
    ///
    /// The request and the response are validated by the service's schemas, and the service's own interceptors run.
    /// Access rules are not applied, because the host applies them: use ``DiscoveryStage`` to test them.
    ///
    /// - Parameter request: The request, usually a staged one.
    /// - Returns: The response.
    /// - Throws: The error of the handler or an interceptor; `RemoteSystemError` with the code `invalidMessage` if the
    ///   request or the response is not valid.
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
    /// Creates a launch request that was not received over a network, for testing a `LaunchURIProvider` alone.
    ///
    /// - Parameters:
    ///   - uri: The URI to open.
    ///   - isFallback: Whether the URI is the launcher's fallback URI. Defaults to `false`.
    ///   - options: The launcher's options. Defaults to `RemoteLauncherOptions()`.
    ///   - inputData: The launcher's input data. Defaults to `nil`: none.
    ///   - caller: The caller. Defaults to an application `test.caller` on another system of the same account.
    ///   - timeout: The time for which the launcher waits, from now by the machine's clock. Defaults to 30 s.
    /// - Throws: `RemoteSystemError` with the code `misuse` if the URI is not valid.
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
