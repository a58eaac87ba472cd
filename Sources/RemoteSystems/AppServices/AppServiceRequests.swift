// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The requests that a service sends to its caller, as an asynchronous sequence.
///
/// Obtain it from ``AppServiceConnection/requests``, ``LongLivedConnection/requests`` or
/// ``RemoteSystemApplication/withAppService(_:requestSchema:responseSchema:_:)``.
///
/// ```swift
/// try await thermometer.withAppService("com.example.temperature") { connection, requests in
///     for try await request in requests {
///         let reading = try request.message(as: Reading.self)
///         print(reading.celsius)
///     }
/// }
/// ```
///
/// **Acknowledgement.** When the reader takes a request, an empty response is sent, so the service knows which requests
/// were received. To send other responses, use a request handler (`onRequest`).
///
/// **Buffer policy.** No request is dropped. A request waits until the reader takes it, its deadline passes, or the
/// connection ends. In the last two cases it fails at the service and is not delivered. At most
/// ``RemoteSystemsConfiguration/Limits/concurrentRequests`` requests wait in this process; further requests wait at the
/// service. A slow reader therefore delays the service's
/// ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)``.
///
/// **Order.** Requests are delivered in the order in which they were sent. Each is delivered once: several readers
/// share the requests.
///
/// **End.** The sequence ends when either side closes the connection. It throws ``RemoteSystemError`` when the
/// connection is lost or, for a ``LongLivedConnection``, when it gives up. After its end it delivers no more requests.
public struct AppServiceRequests: AsyncSequence, Sendable {
    /// A request of the service.
    public typealias Element = AppServiceRequest

    let queue: RequestQueue
    /// A reference that keeps the connection alive while its requests are read.
    let connection: any AnyObject & Sendable

    /// Creates an iterator over the requests. Several iterators share the requests.
    public func makeAsyncIterator() -> Iterator { Iterator(requests: self) }

    /// An iterator over the requests of a service.
    public struct Iterator: AsyncIteratorProtocol {
        let requests: AppServiceRequests

        /// Waits for the next request.
        ///
        /// If the task is cancelled while it waits, no request is lost.
        ///
        /// - Returns: the next request; `nil` after the connection was closed.
        /// - Throws: ``RemoteSystemError`` when the connection was lost, or with ``RemoteSystemError/Code/misuse`` when
        ///   a handler receives the requests; `CancellationError` when the task is cancelled.
        public func next() async throws -> AppServiceRequest? {
            try await self.requests.queue.next()
        }

        /// Waits for the next request.
        ///
        /// If the task is cancelled while it waits, no request is lost.
        ///
        /// - Parameter actor: the caller's actor. It has no effect on which request is delivered.
        /// - Returns: the next request; `nil` after the connection was closed.
        /// - Throws: ``RemoteSystemError`` when the connection was lost, or with ``RemoteSystemError/Code/misuse`` when
        ///   a handler receives the requests; `CancellationError` when the task is cancelled.
        public func next(isolation actor: isolated (any Actor)?) async throws -> AppServiceRequest? {
            try await self.requests.queue.next()
        }
    }
}

extension AppServiceConnection {
    /// The requests that the service sends, as a sequence.
    ///
    /// Read this property before ``open(_:)``. From then on requests wait for a reader. If the property is not read and
    /// the connection has no `onRequest` handler, requests fail at the service. If the connection has an `onRequest`
    /// handler, or is a host's end, the sequence throws ``RemoteSystemError/Code/misuse``, since a handler receives the
    /// requests.
    public var requests: AppServiceRequests {
        AppServiceRequests(queue: self.reception.subscribe(), connection: self)
    }
}

extension LongLivedConnection {
    /// The requests that the service sends, as a sequence that continues when a connection is lost.
    ///
    /// Read this property before ``start()``. From then on requests wait for a reader. If the property is not read and
    /// the connection has no `onRequest` handler, requests fail at the service. A request that was not read when a
    /// connection was lost fails at the service, which decides whether to send it again. If the connection has an
    /// `onRequest` handler, the sequence throws ``RemoteSystemError/Code/misuse``.
    public var requests: AppServiceRequests {
        AppServiceRequests(queue: self.reception.subscribe(), connection: self)
    }
}
