// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The interceptors of a program, outermost first.
public struct AppServiceInterceptors: Sendable {
    /// The interceptors around every request that is sent. Defaults to none.
    public var client: [any AppServiceClientInterceptor]
    /// The interceptors around every request that is handled, by services and by callers that receive requests.
    /// Defaults to none.
    public var server: [any AppServiceServerInterceptor]

    /// Creates the two lists of interceptors.
    public init(
        client: [any AppServiceClientInterceptor] = [],
        server: [any AppServiceServerInterceptor] = []
    ) {
        self.client = client
        self.server = server
    }
}

extension AppService {
    /// Returns the same service with additional interceptors, inside the existing ones.
    public func intercepted(by interceptors: any AppServiceServerInterceptor...) -> AppService {
        var service = self
        service.interceptors += interceptors
        return service
    }
}

extension RemoteSystemConnectionRequest {
    /// Returns the same request with additional interceptors, inside the existing ones.
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
