// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore

/// The bytes that a task writes at a time.
enum RawPart: Sendable {
    /// The bytes of an application. They are copied piece by piece, while they are sent.
    case array([UInt8])
    /// Bytes that are sent without a copy.
    case buffer(ByteBuffer)

    /// The number of bytes that are encrypted and sent at a time: four full records of TLS.
    static let pieceBytes = 64 << 10

    var count: Int {
        switch self {
        case .array(let bytes): bytes.count
        case .buffer(let buffer): buffer.readableBytes
        }
    }
}

/// A byte stream over bare TLS, which tasks of Swift's thread pool read and write. At most one task does either.
struct RawStream: Sendable {
    private static let countBytes = 8
    /// The range of an announced number of bytes. Other numbers are errors.
    private static let counts = 1...(1 << 40)

    let channel: any Channel
    let handler: NIOLoopBound<RawStreamHandler>
    let inbox: RawInbox
    let outbox: RawOutbox

    // MARK: Writing

    /// Writes bytes. Returns when the event loop begins to send them, so that it finds the next part at their end.
    func write(_ part: RawPart) async throws {
        try await withCheckedThrowingContinuation { (writer: CheckedContinuation<Void, any Error>) in
            guard outbox.put(part, writer) else { return }
            channel.eventLoop.execute { handler.value.send(on: channel) }
        }
    }

    func writeCount(_ count: Int) async throws {
        try await write(.buffer(ByteBuffer(integer: UInt64(count))))
    }

    // MARK: Reading

    /// Waits for bytes and returns all that have arrived. Returns nil when the peer has closed the connection.
    func read() async throws -> [UInt8]? {
        let (bytes, makesSpace) = try await inbox.take()
        if makesSpace { channel.read() }
        return bytes.isEmpty ? nil : bytes
    }

    /// Reads a number, and the bytes that arrived with it. Returns nil when the peer has closed the connection.
    func readCount() async throws -> (count: Int, more: [UInt8])? {
        var bytes: [UInt8] = []
        while bytes.count < Self.countBytes {
            guard let more = try await read() else { return nil }
            bytes += more
        }
        let number = bytes.prefix(Self.countBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let count = Int(exactly: number), Self.counts.contains(count) else {
            throw BenchError("The raw peer announced \(number) bytes.")
        }
        return (count, Array(bytes.dropFirst(Self.countBytes)))
    }
}

/// The event loop's side of a ``RawStream``.
final class RawStreamHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = Never
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let inbox: RawInbox
    private let outbox: RawOutbox
    /// The part that is being sent, and the number of its bytes that were sent.
    private var part: RawPart?
    private var sent = 0
    /// The last piece of an array. TLS has encrypted it when the next one is needed, which then uses its memory.
    private var piece = ByteBuffer()
    private var isSending = false

    init(_ inbox: RawInbox, _ outbox: RawOutbox) {
        self.inbox = inbox
        self.outbox = outbox
    }

    // MARK: Sending

    /// Sends while the channel is writable.
    func send(on channel: any Channel) {
        // Sending a piece changes the channel's writability, which calls this method again.
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        while channel.isWritable, let next = nextPiece() { channel.writeAndFlush(next, promise: nil) }
    }

    private func nextPiece() -> ByteBuffer? {
        guard let current = part ?? outbox.take() else { return nil }
        let begin = sent
        let end = min(begin + RawPart.pieceBytes, current.count)
        let isLast = end == current.count
        part = isLast ? nil : current
        sent = isLast ? 0 : end
        switch current {
        case .array(let bytes):
            piece.clear(minimumCapacity: end - begin)
            piece.writeBytes(bytes[begin..<end])
            return piece
        case .buffer(let buffer):
            return buffer.getSlice(at: buffer.readerIndex + begin, length: end - begin)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        send(on: context.channel)
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.append(unwrapInboundIn(data))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        inbox.resumeReader()
    }

    func read(context: ChannelHandlerContext) {
        if !inbox.holdsNetwork() { context.read() }
    }

    // MARK: Ending

    func channelInactive(context: ChannelHandlerContext) {
        fail(ChannelError.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(error)
        context.close(promise: nil)
    }

    private func fail(_ error: any Error) {
        inbox.end(error)
        outbox.fail(error)
    }
}
