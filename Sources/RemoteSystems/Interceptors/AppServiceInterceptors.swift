// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The interceptors of all requests that a program sends or handles.
public struct AppServiceInterceptors: Sendable {
    /// The interceptors around every request that is sent, outermost first. Defaults to none.
    public var client: [any AppServiceClientInterceptor]
    /// The interceptors around every request that is handled, outermost first. Defaults to none.
    ///
    /// They also intercept the requests that a service sends to this program as its caller.
    public var server: [any AppServiceServerInterceptor]

    /// Creates the two lists of interceptors.
    ///
    /// - Parameters:
    ///   - client: the interceptors around every request that is sent, outermost first. Defaults to none.
    ///   - server: the interceptors around every request that is handled, outermost first. Defaults to none.
    public init(
        client: [any AppServiceClientInterceptor] = [],
        server: [any AppServiceServerInterceptor] = []
    ) {
        self.client = client
        self.server = server
    }
}

extension AppService {
    /// Returns the same service with additional interceptors.
    ///
    /// - Parameter interceptors: the interceptors to add, outermost first. They run inside the existing ones.
    public func intercepted(by interceptors: any AppServiceServerInterceptor...) -> AppService {
        var service = self
        service.interceptors += interceptors
        return service
    }
}

extension RemoteSystemConnectionRequest {
    /// Returns the same connection request with additional interceptors.
    ///
    /// - Parameter interceptors: the interceptors to add, outermost first. They run inside the existing ones.
    public func intercepted(by interceptors: any AppServiceClientInterceptor...) -> RemoteSystemConnectionRequest {
        var request = self
        request.interceptors += interceptors
        return request
    }
}

extension RemoteSystemConnectionRequest {
    // Separate functions, so that the configuration is not a temporary of the asynchronous function that opens the
    // connection (Docs/decisions/0008-async-frames.md).

    /// The interceptors around requests sent over the connection.
    var clientInterceptors: ClientInterceptorChain? {
        @inline(never) get {
            ClientInterceptorChain(self.origin.configuration.interceptors.client + self.interceptors)
        }
    }

    /// The interceptors around requests received over the connection.
    var serverInterceptors: [any AppServiceServerInterceptor] {
        @inline(never) get { self.origin.configuration.interceptors.server }
    }
}
