// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

extension RemoteSystemConnectionInfo {
    /// Creates the information about a connection that was never opened, for testing an interceptor alone.
    ///
    /// - Parameters:
    ///   - peer: The peer. Defaults to a caller with a new, unique system id.
    ///   - isProximal: Whether the peer is on the same network. Defaults to `true`.
    ///   - address: The peer's address, in text form. Defaults to `192.0.2.1`.
    ///   - messageLimit: The maximum message size that the peer accepts, in bytes on the wire. Defaults to 1 MiB.
    ///   - requestWindow: The maximum number of requests that the peer accepts at once. Defaults to 128.
    public static func staged(
        peer: AppServiceCaller = .staged(),
        isProximal: Bool = true,
        address: String = "192.0.2.1",
        messageLimit: Int = 1 << 20,
        requestWindow: Int = 128
    ) -> RemoteSystemConnectionInfo {
        RemoteSystemConnectionInfo(
            peer: peer,
            isProximal: isProximal,
            address: address,
            messageLimit: messageLimit,
            requestWindow: requestWindow
        )
    }
}

extension AppServiceClientContext {
    /// Creates a context without a connection, for testing a client's interceptor alone.
    ///
    /// ```swift
    /// let next = AppServiceClientNext { request in AppServiceResponse(status: .success, message: request.message) }
    /// let request = AppServiceClientRequest(message: [:])
    /// let response = try await interceptor.intercept(request, context: .staged(), next: next)
    /// ```
    ///
    /// - Parameters:
    ///   - service: The name of the connection's service. Defaults to `test.service`.
    ///   - connection: Information about the connection. Defaults to a connection that was never opened.
    ///   - isPush: Whether the service sends the request to its caller. Defaults to `false`.
    public static func staged(
        service: String = "test.service",
        connection: RemoteSystemConnectionInfo = .staged(),
        isPush: Bool = false
    ) -> AppServiceClientContext {
        AppServiceClientContext(service: service, connection: connection, isPush: isPush)
    }
}
