// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The interceptors of a program, in the order in which they see a request.
public struct AppServiceInterceptors: Sendable {
    /// Around every request that is sent. None unless set.
    public var client: [any AppServiceClientInterceptor]
    /// Around every request that is handled, by services and by callers that take requests. None unless set.
    public var server: [any AppServiceServerInterceptor]

    /// Interceptors; both lists may be left out.
    public init(
        client: [any AppServiceClientInterceptor] = [],
        server: [any AppServiceServerInterceptor] = []
    ) {
        self.client = client
        self.server = server
    }
}

extension AppService {
    /// The same service with further interceptors, inside those it has.
    public func intercepted(by interceptors: any AppServiceServerInterceptor...) -> AppService {
        var service = self
        service.interceptors += interceptors
        return service
    }
}

extension RemoteSystemConnectionRequest {
    /// The same request with further interceptors, inside those it has.
    public func intercepted(by interceptors: any AppServiceClientInterceptor...) -> RemoteSystemConnectionRequest {
        var request = self
        request.interceptors += interceptors
        return request
    }
}

extension RemoteSystemConnectionRequest {
    // Calls of their own, so that the configuration is no temporary in the asynchronous function that opens the connection
    // (Docs/decisions/0008-async-frames.md).

    /// The interceptors around what is sent over the connection.
    var clientInterceptors: ClientInterceptorChain? {
        @inline(never) get {
            ClientInterceptorChain(self.origin.configuration.interceptors.client + self.interceptors)
        }
    }

    /// The interceptors around what comes over the connection.
    var serverInterceptors: [any AppServiceServerInterceptor] {
        @inline(never) get { self.origin.configuration.interceptors.server }
    }
}
