// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore
import NIOPosix
import NIOSSL

/// Bare TLS between applications: tasks of Swift's thread pool write and read the bytes, as arrays or as files.
///
/// The control of the continuation streams of hand-off. It has neither frames, nor windows, nor keep-alive: the number
/// of bytes precedes them, and the server repeats it once it has received and stored them.
struct RawTransfer: Contestant {
    var form: StreamForm

    func serve(_ setup: Setup) throws -> any Server {
        try RawTransferServer(setup, form: form)
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        RawTransferCaller(target: try RawTLSTarget(setup), form: form, directory: setup.directory)
    }
}

// MARK: Sending

private struct RawTransferCaller: Caller {
    let target: RawTLSTarget
    let form: StreamForm
    let directory: String

    func open() async throws -> any Line {
        let (inbox, outbox) = (RawInbox(), RawOutbox())
        let (channel, handler) = try await target.connect { RawStreamHandler(inbox, outbox) }
        let stream = RawStream(channel: channel, handler: handler, inbox: inbox, outbox: outbox)
        let line = RawTransferLine(stream: stream, form: form, directory: directory)
        try await line.transfer(64) { try await stream.write(.array([UInt8](repeating: 7, count: 64))) }
        return line
    }
}

private struct RawTransferLine: Line {
    let stream: RawStream
    let form: StreamForm
    let directory: String

    /// Sends as many messages as the limit has, as one transfer. Each of them is an array, or a part of a file.
    ///
    /// A transfer ends at its announced length only, so it neither observes the limit's time nor keeps messages in
    /// flight.
    func exchange(_ load: Load, until limit: Limit) async throws -> Measurement {
        guard load.answer == .acknowledgement else { throw BenchError("A transfer is not echoed.") }
        let bytes = load.bytes * limit.count
        let elapsed: Int64
        switch form {
        case .parts:
            let part = [UInt8](repeating: 7, count: load.bytes)
            elapsed = try await transfer(bytes) {
                for _ in 0..<limit.count { try await stream.write(.array(part)) }
            }
        case .file:
            let path = try StreamedFiles.sent(megabytes: bytes >> 20, in: directory)
            elapsed = try await transfer(bytes) { try await send(bytes, of: path, in: load.bytes) }
        }
        return Measurement(
            nanoseconds: Array(repeating: elapsed / Int64(limit.count), count: limit.count),
            elapsedNanoseconds: elapsed
        )
    }

    /// Announces so many bytes, sends them, and returns the time until the server has received them.
    @discardableResult
    func transfer(_ bytes: Int, _ send: () async throws -> Void) async throws -> Int64 {
        let begin = monotonicNanoseconds()
        try await stream.writeCount(bytes)
        try await send()
        guard let (count, more) = try await stream.readCount() else { throw BenchError("The connection ended.") }
        guard count == bytes, more.isEmpty else { throw BenchError("\(count) of \(bytes) bytes were acknowledged.") }
        return monotonicNanoseconds() - begin
    }

    /// Sends a file. The next part is read while the last one is sent.
    private func send(_ bytes: Int, of path: String, in partBytes: Int) async throws {
        let file = try await RawFile.toRead(path)
        defer { file.close() }
        var offset = 0
        while case let part = try await file.read(partBytes, at: offset), part.readableBytes > 0 {
            offset += part.readableBytes
            try await stream.write(.buffer(part))
        }
        guard offset == bytes else { throw BenchError("\(offset) of \(bytes) bytes of \(path) were read.") }
    }

    func close() async {
        try? await stream.channel.close()
    }
}

// MARK: Receiving

/// Receives on one event-loop thread, and in a task for each connection.
private struct RawTransferServer: Server {
    let address: String
    private let channel: any Channel

    init(_ setup: Setup, form: StreamForm) throws {
        let context = try setup.credentials.serverContext()
        let path = form == .file ? StreamedFiles.received(in: setup.directory) : nil
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (inbox, outbox) = (RawInbox(), RawOutbox())
                    let handler = RawStreamHandler(inbox, outbox)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    try pipeline.addHandler(handler)
                    let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
                    let stream = RawStream(channel: channel, handler: bound, inbox: inbox, outbox: outbox)
                    Task {
                        try? await RawTransferReceiver(stream: stream, path: path).run()
                        channel.close(promise: nil)
                    }
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        guard let port = channel.localAddress?.port else { throw BenchError("The raw server has no port.") }
        address = String(port)
    }
}

/// Receives the transfers of one connection, one after the other.
private struct RawTransferReceiver {
    let stream: RawStream
    /// The file that stores a transfer; nil if its bytes are only counted.
    let path: String?

    func run() async throws {
        while let (count, more) = try await stream.readCount() {
            try await receive(count, more)
            try await stream.writeCount(count)
        }
    }

    private func receive(_ count: Int, _ first: [UInt8]) async throws {
        var file: RawFile?
        if let path { file = try await RawFile.toWrite(path) }
        defer { file?.close() }
        var missing = count - first.count
        try await file?.write(first)
        while missing > 0 {
            guard let bytes = try await stream.read() else { throw BenchError("The connection ended.") }
            missing -= bytes.count
            try await file?.write(bytes)
        }
        guard missing == 0 else { throw BenchError("\(-missing) more bytes arrived than were announced.") }
    }
}
