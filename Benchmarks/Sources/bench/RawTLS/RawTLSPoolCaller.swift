// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore
import Synchronization

/// Calls from tasks of Swift's thread pool. A message takes two changes of thread: to the event loop, and back through
/// a continuation. Messages that wait for the event loop are sent with one flush, and the tasks whose responses arrived
/// in one read are resumed together, so that many messages in flight share a change of thread.
struct RawTLSPoolCaller: Caller {
    private let target: RawTLSTarget

    init(_ setup: Setup) throws { target = try RawTLSTarget(setup) }

    func open() async throws -> any Line {
        let (channel, responses) = try await target.connect { RawResponses() }
        let line = RawTLSPoolLine(channel: channel, responses: responses, waiting: RawWaitingMessages())
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

private struct RawTLSPoolLine: RoundTripLine {
    let channel: any Channel
    let responses: NIOLoopBound<RawResponses>
    let waiting: RawWaitingMessages

    func message(for load: Load) -> ByteBuffer { RawFrame.message(for: load) }

    func roundTrip(_ message: ByteBuffer, load: Load) async throws {
        let bytes = RawFrame.headerBytes + (load.answer == .echo ? load.bytes : 0)
        try await withCheckedThrowingContinuation { done in
            guard waiting.append(RawWaitingMessage(message: message, responseBytes: bytes, done: done)) else { return }
            channel.eventLoop.execute {
                for next in waiting.takeAll() {
                    responses.value.expect(next.responseBytes, next.done)
                    channel.write(next.message, promise: nil)
                }
                channel.flush()
            }
        }
    }

    func close() async {
        try? await channel.close()
    }
}

private struct RawWaitingMessage: Sendable {
    var message: ByteBuffer
    var responseBytes: Int
    var done: CheckedContinuation<Void, any Error>
}

/// The messages on their way to the event loop.
private final class RawWaitingMessages: Sendable {
    private let messages = Mutex<[RawWaitingMessage]>([])

    /// Adds a message. Returns whether it is the only one, so that the event loop has to be woken.
    func append(_ message: RawWaitingMessage) -> Bool {
        messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
    }

    func takeAll() -> [RawWaitingMessage] {
        messages.withLock { messages in
            var taken: [RawWaitingMessage] = []
            taken.reserveCapacity(messages.capacity)
            swap(&taken, &messages)
            return taken
        }
    }
}

/// Resumes each task when its response has arrived. Responses come in the order of the messages.
private final class RawResponses: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var waiting = CircularBuffer<(bytes: Int, done: CheckedContinuation<Void, any Error>)>()
    /// The tasks whose responses arrived in this read.
    private var completed: [CheckedContinuation<Void, any Error>] = []
    private var received = 0
    private var error: (any Error)?

    func expect(_ bytes: Int, _ done: CheckedContinuation<Void, any Error>) {
        if let error { return done.resume(throwing: error) }
        waiting.append((bytes, done))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += unwrapInboundIn(data).readableBytes
        while let next = waiting.first, received >= next.bytes {
            waiting.removeFirst()
            received -= next.bytes
            completed.append(next.done)
        }
        if waiting.isEmpty, received > 0 { fail(BenchError("\(received) more bytes came back than were sent.")) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        for done in completed { done.resume() }
        completed.removeAll(keepingCapacity: true)
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(ChannelError.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    private func fail(_ error: any Error) {
        self.error = self.error ?? error
        for done in completed { done.resume() }
        completed = []
        while let next = waiting.popFirst() { next.done.resume(throwing: error) }
    }
}
