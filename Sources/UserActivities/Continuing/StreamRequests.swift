// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import Synchronization
public import ValueSets

/// Requests and responses over a pair of continuation streams: the application that continues an activity requests what
/// it needs, and the one that offered it responds.
///
/// ```swift
/// // In continueUserActivity:
/// let requests = StreamRequests(try await activity.continuationStreams())
/// let picture = try await requests.send(["Picture": "cover"])
/// try await requests.finish()
///
/// // In the delegate of the other application:
/// try await StreamRequests.serve(input, output) { request in await store.response(to: request) }
/// ```
///
/// Requests are answered one after the other, in their order. Each message is a typed dictionary, preceded by its
/// length in four bytes, most significant first.
public final class StreamRequests: Sendable {
    /// The maximum length of a message, in bytes: 1 MiB. Send larger data in parts.
    public static let maxMessageBytes = 1 << 20

    /// Numbers of requests and bytes.
    public struct Traffic: Sendable, Hashable {
        /// The number of requests that were answered.
        public var requests = 0
        /// The bytes of all requests, with their lengths.
        public var requestBytes = 0
        /// The bytes of all responses, with their lengths.
        public var responseBytes = 0
    }

    private struct State {
        var traffic = Traffic()
        var last: Task<ValueSet, any Error>?
    }

    private let reader: MessageReader
    private let output: ContinuationOutputStream
    private let state = Mutex(State())

    /// Creates requests over a pair of streams, which must not be used for anything else.
    public init(_ streams: (input: ContinuationInputStream, output: ContinuationOutputStream)) {
        self.reader = MessageReader(streams.input)
        self.output = streams.output
    }

    /// The numbers of the requests that were answered so far, and of their bytes.
    public var traffic: Traffic { self.state.withLock { $0.traffic } }

    /// Sends a request and waits for its response. Requests of several tasks wait for each other.
    ///
    /// A request that has begun is finished even if the task is cancelled, so that the next one can follow.
    ///
    /// - Throws: ``ContinuationError`` with the code ``ContinuationError/Code/payloadTooLarge`` when the request
    ///   exceeds ``maxMessageBytes``, with ``ContinuationError/Code/streamFailed`` when the stream ends before the
    ///   response. No further request is possible then.
    public func send(_ request: ValueSet) async throws -> ValueSet {
        let bytes = try StreamMessages.encode(request)
        let exchange = self.state.withLock { state in
            let previous = state.last
            let exchange = Task {
                _ = await previous?.result
                return try await self.exchange(bytes)
            }
            state.last = exchange
            return exchange
        }
        return try await exchange.value
    }

    private func exchange(_ bytes: [UInt8]) async throws -> ValueSet {
        let response: (message: ValueSet, bytes: Int)?
        do {
            try await self.output.write(bytes)
            response = try await self.reader.next()
        } catch {
            throw ContinuationError(streamFailure: error)
        }
        guard let response else {
            throw ContinuationError(.streamFailed, "The stream ended before the response.", side: .remote)
        }
        self.state.withLock { state in
            state.traffic.requests += 1
            state.traffic.requestBytes += bytes.count
            state.traffic.responseBytes += response.bytes
        }
        return response.message
    }

    /// Ends the requests. The other application's ``serve(_:_:respond:)`` then returns.
    ///
    /// - Throws: ``ContinuationError`` with the code ``ContinuationError/Code/streamFailed``.
    public func finish() async throws {
        do {
            try await self.output.finish()
            // Read to the end, so that the stream is not aborted when it is released.
            while try await self.reader.next() != nil {}
        } catch {
            throw ContinuationError(streamFailure: error)
        }
    }

    /// Responds to the requests of the application that continues the activity, until it has finished.
    ///
    /// - Parameters:
    ///   - input: the input that the delegate received.
    ///   - output: the output that the delegate received.
    ///   - respond: returns the response to a request. If it throws, the stream is aborted.
    /// - Returns: what was transferred.
    /// - Throws: ``ContinuationError`` with the code ``ContinuationError/Code/streamFailed``; the errors of `respond`.
    @discardableResult
    public static func serve(
        _ input: ContinuationInputStream,
        _ output: ContinuationOutputStream,
        respond: (ValueSet) async throws -> ValueSet
    ) async throws -> Traffic {
        let reader = MessageReader(input)
        var traffic = Traffic()
        do {
            while let request = try await reader.next() {
                let response: [UInt8]
                do {
                    response = try StreamMessages.encode(try await respond(request.message))
                } catch {
                    output.abort("The application failed to respond.")
                    throw Refused(cause: error)
                }
                try await output.write(response)
                traffic.requests += 1
                traffic.requestBytes += request.bytes
                traffic.responseBytes += response.count
            }
            try await output.finish()
        } catch let error as Refused {
            throw error.cause
        } catch {
            throw ContinuationError(streamFailure: error)
        }
        return traffic
    }

    private struct Refused: Error {
        let cause: any Error
    }
}

/// Reads messages from a stream. One task may read at a time.
private final class MessageReader: Sendable {
    private let input: ContinuationInputStream
    private let messages = Mutex(StreamMessages())

    init(_ input: ContinuationInputStream) { self.input = input }

    /// Reads the next message; `nil` at the end.
    func next() async throws -> (message: ValueSet, bytes: Int)? {
        while true {
            if let next = try self.messages.withLock({ try $0.next() }) { return next }
            guard let bytes = try await self.input.read() else {
                guard self.messages.withLock({ $0.isEmpty }) else {
                    throw ContinuationError(.streamFailed, "The stream ended within a message.", side: .remote)
                }
                return nil
            }
            self.messages.withLock { $0.append(bytes) }
        }
    }
}

extension ContinuationError {
    /// The failure of a stream that was open.
    fileprivate init(streamFailure error: any Error) {
        if let error = error as? ContinuationError {
            self = error
            return
        }
        let cause = error as? RemoteSystemError
        self.init(
            .streamFailed,
            cause?.message ?? "A message of the stream could not be read: \(error)",
            side: cause?.side ?? .remote,
            canRetry: cause?.canRetry ?? false,
            cause: error
        )
    }
}
