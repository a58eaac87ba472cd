// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The requests that a service sends to its caller, as an asynchronous sequence: ``AppServiceConnection/requests``,
/// ``LongLivedConnection/requests``, ``RemoteSystemApplication/withAppService(_:requestSchema:responseSchema:_:)``.
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
/// **Acknowledgement.** A request is responded to with an empty message when the reader takes it, so the service knows
/// what was received. For other responses use a request handler (`onRequest`).
///
/// **Buffer policy.** Nothing is dropped. A request waits until it is taken, its sender's deadline passes, or the
/// connection ends; the last two make it fail at the service and it is not delivered. At most
/// ``RemoteSystemsConfiguration/requestWindow`` requests wait here; further ones wait at the service, whose
/// ``AppServiceConnection/send(_:timeout:idempotencyKey:metadata:)`` returns as late as the reader is slow.
///
/// **Order.** Requests are delivered in the order in which they were sent. Each is delivered once: several readers
/// share them.
///
/// **End.** The sequence ends when the connection is closed, by either side. It throws ``RemoteSystemError`` when the
/// connection is lost, or, for a ``LongLivedConnection``, has given up. Once ended it stays so.
public struct AppServiceRequests: AsyncSequence, Sendable {
    /// One request of the service.
    public typealias Element = AppServiceRequest

    let queue: RequestQueue
    /// A connection that is read from is not given up.
    let connection: any AnyObject & Sendable

    /// A reader.
    public func makeAsyncIterator() -> Iterator { Iterator(requests: self) }

    /// Takes the requests.
    public struct Iterator: AsyncIteratorProtocol {
        let requests: AppServiceRequests

        /// The next request; `nil` when the connection has been closed.
        ///
        /// - Throws: ``RemoteSystemError`` when the connection was lost; `CancellationError`.
        public func next() async throws -> AppServiceRequest? {
            try await self.requests.queue.next()
        }

        /// The next request; `nil` when the connection has been closed.
        ///
        /// - Throws: ``RemoteSystemError`` when the connection was lost; `CancellationError`.
        public func next(isolation actor: isolated (any Actor)?) async throws -> AppServiceRequest? {
            try await self.requests.queue.next()
        }
    }
}

extension AppServiceConnection {
    /// The requests that the service sends, as a sequence. Read this property before ``open(_:)``: from then on
    /// requests wait for a reader; without it, and without `onRequest`, they fail.
    ///
    /// For a connection with `onRequest`, and for the host's end of one, the sequence throws
    /// ``RemoteSystemError/Code/misuse``, since a handler gets the requests.
    public var requests: AppServiceRequests {
        AppServiceRequests(queue: self.reception.subscribe(), connection: self)
    }
}

extension LongLivedConnection {
    /// The requests that the service sends, as a sequence that goes on over losses. Read this property before
    /// ``start()``: from then on requests wait for a reader; without it, and without `onRequest`, they fail.
    ///
    /// A request that was not taken when a connection was lost has failed at the service; whether to send it again is
    /// the service's affair. For a connection with `onRequest` the sequence throws ``RemoteSystemError/Code/misuse``.
    public var requests: AppServiceRequests {
        AppServiceRequests(queue: self.reception.subscribe(), connection: self)
    }
}
