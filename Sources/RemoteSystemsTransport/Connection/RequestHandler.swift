// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import NIOCore
package import ValueSets

/// A request from the peer, as its handler receives it.
package struct IncomingRequest: Sendable {
    /// The id of the request, unique among the peer's requests on this connection.
    let id: UInt64
    package var message: ValueSet
    /// The time at which the caller stops waiting for the response.
    package var deadline: NIODeadline
    /// The idempotency key: requests with the same key are performed once.
    package var key: [UInt8]?
    /// The request's metadata, which satisfies ``MetadataRules``.
    package var metadata: ValueSet
    /// The reason why no handler receives the request; `nil` for one that a handler receives.
    var rejection: Rejection?

    enum Rejection: Sendable {
        /// The message cannot be read, for this reason.
        case malformed(String)
        /// The host holds as many bytes of requests as it accepts.
        case notHeld
    }

    /// A request that takes its turn only to get its response. Its message is not held.
    static func rejected(_ id: UInt64, _ rejection: Rejection) -> IncomingRequest {
        IncomingRequest(id: id, message: [:], deadline: .distantFuture, metadata: [:], rejection: rejection)
    }
}

/// A handler's response.
package struct Response: Sendable {
    package var status: ResponseStatus
    package var message: ValueSet
    package var failure: WireFailure?

    package init(status: ResponseStatus = .success, message: ValueSet = [:], failure: WireFailure? = nil) {
        self.status = status
        self.message = message
        self.failure = failure
    }
}

/// Handles the requests of a connection, on its event loop.
package struct RequestHandler: Sendable {
    package typealias Handle = @Sendable (IncomingRequest, Connection) async -> Response
    package typealias HandleImmediately = @Sendable (IncomingRequest, Connection) -> Response?

    /// The closure that handles a request that ``handleImmediately`` does not. It runs on the connection's event loop
    /// until it first suspends, so that an immediate response is sent without delay. After that it runs on the default
    /// executor.
    let handle: Handle
    /// The closure that handles a request without a task, which would cost a fifth of the host's work for a small
    /// request. Called before ``handle``; returns `nil` if the request needs a task.
    let handleImmediately: HandleImmediately?

    package init(immediately handleImmediately: HandleImmediately? = nil, _ handle: @escaping Handle) {
        self.handle = handle
        self.handleImmediately = handleImmediately
    }
}
