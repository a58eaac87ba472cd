// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore

/// Calls on one event-loop thread. It sends the next message directly when a response arrives, without tasks.
struct RawTLSCaller: Caller {
    private let target: RawTLSTarget

    init(_ setup: Setup) throws { target = try RawTLSTarget(setup) }

    func open() async throws -> any Line {
        let line = RawTLSLine(channel: try await target.connect { RawExchanger() }.channel)
        _ = try await line.exchange(.roundTrip, until: Limit(count: 1, seconds: 10))
        return line
    }
}

private struct RawTLSLine: Line {
    let channel: any Channel

    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        let promise = channel.eventLoop.makePromise(of: Measurement.self)
        let exchange = RawExchange(
            message: RawFrame.message(for: load),
            responseBytes: RawFrame.headerBytes + (load.answer == .echo ? load.bytes : 0),
            inFlight: load.inFlight,
            limit: limit,
            promise: promise
        )
        channel.writeAndFlush(exchange).cascadeFailure(to: promise)
        return try await promise.futureResult.get()
    }

    func close() async {
        try? await channel.close()
    }
}

/// An exchange for the handler at the end of the pipeline.
private struct RawExchange: Sendable {
    var message: ByteBuffer
    var responseBytes: Int
    var inFlight: Int
    var limit: Limit
    var promise: EventLoopPromise<Measurement>
}

private final class RawExchanger: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = RawExchange
    typealias OutboundOut = ByteBuffer

    /// A class, because copying a structure would copy all its times.
    private final class Course {
        let exchange: RawExchange
        let begin = monotonicNanoseconds()
        /// The send times of the messages in flight. Responses come in order.
        var starts: CircularBuffer<Int64>
        var times: [Int64] = []
        var sent = 0
        var received = 0

        init(_ exchange: RawExchange) {
            self.exchange = exchange
            starts = CircularBuffer(initialCapacity: exchange.inFlight)
            times.reserveCapacity(exchange.limit.count)
        }

        func maySend(at now: Int64) -> Bool {
            sent < exchange.limit.count && now - begin < exchange.limit.nanoseconds
        }
    }

    private var course: Course?
    private var hasUnflushed = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = unwrapOutboundIn(data)
        guard course == nil else {
            promise?.fail(BenchError("A line allows only one exchange at a time."))
            return
        }
        let course = Course(exchange)
        self.course = course
        let now = monotonicNanoseconds()
        for _ in 0..<min(exchange.inFlight, exchange.limit.count) { send(course, context, at: now) }
        promise?.succeed()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let course else { return }
        course.received += unwrapInboundIn(data).readableBytes
        while course.received >= course.exchange.responseBytes, let start = course.starts.popFirst() {
            let now = monotonicNanoseconds()
            course.received -= course.exchange.responseBytes
            course.times.append(now - start)
            if course.maySend(at: now) { send(course, context, at: now) }
        }
        if course.starts.isEmpty { finish(course) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard hasUnflushed else { return }
        hasUnflushed = false
        context.flush()
    }

    func channelInactive(context: ChannelHandlerContext) {
        fail(ChannelError.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    private func send(_ course: Course, _ context: ChannelHandlerContext, at now: Int64) {
        course.starts.append(now)
        course.sent += 1
        hasUnflushed = true
        context.write(wrapOutboundOut(course.exchange.message), promise: nil)
    }

    private func finish(_ course: Course) {
        self.course = nil
        guard course.received == 0 else {
            course.exchange.promise.fail(BenchError("\(course.received) more bytes came back than were sent."))
            return
        }
        let elapsed = monotonicNanoseconds() - course.begin
        course.exchange.promise.succeed(Measurement(nanoseconds: course.times, elapsedNanoseconds: elapsed))
    }

    private func fail(_ error: any Error) {
        guard let failed = course else { return }
        course = nil
        failed.exchange.promise.fail(error)
    }
}
