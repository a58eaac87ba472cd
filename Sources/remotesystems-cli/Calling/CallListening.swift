// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import RemoteSystems
import Synchronization

/// Implements `call --listen`: one connection on which the service sends requests.
final class CallListening: Sendable {
    private struct State {
        var received = 0
        var failure: OutputError?
    }

    private let application: RemoteSystemApplication
    private let service: RemoteSystemApplication.Service
    private let message: ValueSet?
    private let count: Int?
    private let timeout: Duration
    private let output: Output
    private let state = Mutex(State())

    /// Creates the run of `call --listen`. ``run()`` connects.
    ///
    /// - Parameters:
    ///   - message: The message that is sent first. If `nil`, nothing is sent.
    ///   - count: The number of requests after which the command ends. If `nil`, it runs until Ctrl-C.
    ///   - timeout: The timeout for opening the connection, and for the response to the message.
    init(
        application: RemoteSystemApplication,
        service: RemoteSystemApplication.Service,
        message: ValueSet?,
        count: Int?,
        timeout: Duration,
        output: Output
    ) {
        self.application = application
        self.service = service
        self.message = message
        self.count = count
        self.timeout = timeout
        self.output = output
    }

    /// Connects, sends the message, and prints the requests of the service.
    ///
    /// - Returns: Whether all expected requests came.
    func run() async throws -> Bool {
        let (requests, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let connection = AppServiceConnection(
            to: AppServiceDescription(
                name: self.service.name,
                applicationID: self.application.id,
                requestSchema: .full,
                pushRequestSchema: .full
            ),
            onRequest: { [weak self] request in
                self?.received(request.message)
                feed.yield()
                return [:]
            }
        )
        let isDone = try await untilInterrupted {
            try await connection.open(RemoteSystemConnectionRequest(application: self.application), in: self.timeout)
            return try await self.listen(on: connection, requests)
        }
        // close() sends the acknowledgement of the last request first.
        if isDone == true { await connection.close() } else { await connection.cancel() }
        if let failure = self.state.withLock({ $0.failure }) { throw failure }
        // Ctrl-C is a regular end.
        return isDone ?? true
    }

    private func listen(on connection: AppServiceConnection, _ requests: AsyncStream<Void>) async throws -> Bool {
        if let message {
            let response = try await connection.send(message, timeout: self.timeout)
            guard try CallCommand.report(response, self.output) else { return false }
        }
        self.output.note("Listening to \(self.service.name) (Ctrl-C to stop)".printable)
        return try await withThrowingTaskGroup(of: AppServiceClosedStatus?.self) { group in
            group.addTask {
                for await _ in requests where self.isComplete { return nil }
                return nil
            }
            group.addTask { try await connection.waitUntilClosed() }
            defer { group.cancelAll() }
            let closed = try await group.next() ?? nil
            guard let closed, !self.isComplete else { return true }
            return try self.ended(closed)
        }
    }

    private func ended(_ status: AppServiceClosedStatus) throws(Failure) -> Bool {
        guard status == .completed else {
            var failure = Failure(
                "\(RemoteSystemError.Code.connectionLost)",
                "The connection was lost (\(status)). Run the command again to continue listening.",
                canRetry: true
            )
            failure.side = .network
            throw failure
        }
        self.output.note("The service closed the connection.")
        return self.count == nil
    }

    private var isComplete: Bool {
        self.state.withLock { state in state.failure != nil || self.count.map { state.received >= $0 } ?? false }
    }

    /// Prints a request, unless `count` requests have already been printed.
    private func received(_ message: ValueSet) {
        self.state.withLock { state in
            guard state.failure == nil, self.count.map({ state.received < $0 }) ?? true else { return }
            state.received += 1
            do {
                try self.output.json(PushedRequestOutput(service: self.service.name, message: message))
                try self.output.line(message.readableJSON.printableLines)
            } catch {
                state.failure = error as? OutputError ?? OutputError(number: EIO)
            }
        }
    }
}

/// The output of `call --listen --json` for one request of the service.
private struct PushedRequestOutput: Encodable {
    let event = "request"
    let time = Date.now
    var service: String
    var message: ValueSet
}
