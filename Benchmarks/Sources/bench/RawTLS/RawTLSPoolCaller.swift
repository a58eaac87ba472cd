// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore

/// Calls from tasks of Swift's thread pool. A message takes two changes of thread: to the event loop, and back through
/// a continuation.
struct RawTLSPoolCaller: Caller {
    private let target: RawTLSTarget

    init(_ setup: Setup) throws { target = try RawTLSTarget(setup) }

    func open() async throws -> any Line {
        let (channel, responses) = try await target.connect { RawResponses() }
        let line = RawTLSPoolLine(channel: channel, responses: responses)
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

private struct RawTLSPoolLine: RoundTripLine {
    let channel: any Channel
    let responses: NIOLoopBound<RawResponses>

    func message(for load: Load) -> ByteBuffer { RawFrame.message(for: load) }

    func roundTrip(_ message: ByteBuffer, load: Load) async throws {
        let bytes = RawFrame.headerBytes + (load.answer == .echo ? load.bytes : 0)
        try await withCheckedThrowingContinuation { done in
            channel.eventLoop.execute {
                responses.value.expect(bytes, done)
                channel.writeAndFlush(message, promise: nil)
            }
        }
    }

    func close() async {
        try? await channel.close()
    }
}

/// Resumes each task when its response has arrived. Responses come in the order of the messages.
private final class RawResponses: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var waiting = CircularBuffer<(bytes: Int, done: CheckedContinuation<Void, any Error>)>()
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
            next.done.resume()
        }
        if waiting.isEmpty, received > 0 { fail(BenchError("\(received) more bytes came back than were sent.")) }
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
        while let next = waiting.popFirst() { next.done.resume(throwing: error) }
    }
}
