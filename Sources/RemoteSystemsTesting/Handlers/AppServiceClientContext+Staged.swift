// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

extension RemoteSystemConnectionInfo {
    /// Facts of a connection that was never opened, for tests of an interceptor by itself.
    ///
    /// - Parameters:
    ///   - peer: who is at the other end.
    ///   - isProximal: whether the other end is on the same network.
    ///   - address: the address at the other end, in text form.
    ///   - messageLimit: the largest message that the other end takes, in bytes on the wire.
    ///   - requestWindow: how many requests the other end takes at once.
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
    /// A context without a connection, for tests of a client's interceptor by itself.
    ///
    /// ```swift
    /// let next = AppServiceClientNext { request in AppServiceResponse(status: .success, message: request.message) }
    /// let request = AppServiceClientRequest(message: [:])
    /// let response = try await interceptor.intercept(request, context: .staged(), next: next)
    /// ```
    ///
    /// - Parameters:
    ///   - service: the name of the connection's service.
    ///   - connection: facts of the connection.
    ///   - isPush: whether it is the service that sends the request to its caller.
    public static func staged(
        service: String = "test.service",
        connection: RemoteSystemConnectionInfo = .staged(),
        isPush: Bool = false
    ) -> AppServiceClientContext {
        AppServiceClientContext(service: service, connection: connection, isPush: isPush)
    }
}
