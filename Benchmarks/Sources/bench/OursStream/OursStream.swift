// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Measuring
import NIOCore
import RemoteSystems
import ValueSets

/// A stream of RemoteSystems through its public API.
///
/// The bytes are those of ``RawTLS`` in the form `streamed`: each message has a header, and is returned or acknowledged
/// as its bytes arrive.
struct OursStream: Contestant {
    static let service = "org.remotesystems.benchmark.stream"

    func serve(_ setup: Setup) throws -> any Server {
        try OursStreamServer(Ours.configuration(setup))
    }

    func caller(_ setup: Setup) async throws -> any Caller {
        guard let port = Int(setup.address) else { throw BenchError("The host's port is not a number.") }
        return OursStreamCaller(
            request: RemoteSystemConnectionRequest(
                host: "127.0.0.1",
                port: port,
                configuration: Ours.configuration(setup)
            )
        )
    }
}

private struct OursStreamServer: Server {
    let address: String

    init(_ configuration: RemoteSystemsConfiguration) throws {
        var options = RemoteSystemHost.Options()
        options.isDiscoverable = false
        options.allowsSeveralProcesses = true
        let service = AppService(OursStream.service) { request in
            let offer = try request.connection.offerStream()
            Task {
                let stream = try await offer.opened()
                try await Task(executorPreference: stream.executor) { try await OursStreamAnswerer(stream).run() }.value
            }
            return ["Stream": offer.ticket]
        }
        let host = RemoteSystemHost(configuration, services: [service], options: options)
        address = try blocking {
            Task { try await host.run() }
            return String(try await host.port)
        }
    }
}

/// Responds to each message as its bytes arrive.
private struct OursStreamAnswerer {
    private let stream: RemoteSystemStream
    /// The first bytes of an incomplete header.
    private var header = ByteBuffer()
    private var frame: RawFrame?
    private var missing = 0

    init(_ stream: RemoteSystemStream) {
        self.stream = stream
    }

    consuming func run() async throws {
        while let chunk = try await stream.readBuffer() {
            var input = chunk
            while input.readableBytes > 0 { try await answer(&input) }
        }
        try await stream.finish()
    }

    private mutating func answer(_ input: inout ByteBuffer) async throws {
        if frame == nil {
            let count = min(RawFrame.headerBytes - header.readableBytes, input.readableBytes)
            if var part = input.readSlice(length: count) { header.writeBuffer(&part) }
            guard let read = try RawFrame(peekingAt: header) else { return }
            header.clear()
            frame = read
            missing = read.bodyBytes
            if read.answer == .echo { try await stream.write(buffer: read.header) }
        }
        guard let frame else { return }
        let count = min(missing, input.readableBytes)
        missing -= count
        if let body = input.readSlice(length: count), count > 0, frame.answer == .echo {
            try await stream.write(buffer: body)
        }
        guard missing == 0 else { return }
        self.frame = nil
        if frame.answer == .acknowledgement { try await stream.write(buffer: frame.header) }
    }
}
