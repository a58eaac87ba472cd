// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization
internal import UserNotifications

/// The lines that a program writes to a pipe.
final class ExtensionLines: Sendable {
    /// The maximum number of lines that wait to be read.
    private static let maxWaiting = 64

    private let channel: DispatchIO
    let outputs: AsyncStream<ExtensionOutput>

    init(_ channel: DispatchIO, _ queue: DispatchQueue) {
        self.channel = channel
        let (outputs, feed) = AsyncStream.makeStream(
            of: ExtensionOutput.self,
            bufferingPolicy: .bufferingOldest(Self.maxWaiting)
        )
        self.outputs = outputs
        let rest = Mutex<[UInt8]?>([])
        channel.read(offset: 0, length: .max, queue: queue) { isDone, data, _ in
            rest.withLock { rest in
                Self.receive(Array(data ?? .empty), &rest, feed)
                guard isDone, let line = rest else { return }
                // The end of the output ends a line, too.
                if !line.isEmpty { feed.yield(.line(String(decoding: line, as: UTF8.self))) }
                rest = nil
                feed.finish()
            }
        }
    }

    /// - Parameter rest: the beginning of a line; `nil` when nothing more is read.
    private static func receive(
        _ data: [UInt8],
        _ rest: inout [UInt8]?,
        _ feed: AsyncStream<ExtensionOutput>.Continuation
    ) {
        guard var line = rest else { return }
        var data = data[...]
        while let end = data.firstIndex(of: UInt8(ascii: "\n")), line.count <= ServiceExtensionMessage.maxBytes {
            line += data[..<end]
            data = data[(end + 1)...]
            guard line.count <= ServiceExtensionMessage.maxBytes,
                // One place is for the last output.
                case .enqueued(let room) = feed.yield(.line(String(decoding: line, as: UTF8.self))), room > 1
            else { return Self.stop(&rest, feed) }
            line = []
        }
        line += data
        rest = line
        if line.count > ServiceExtensionMessage.maxBytes { Self.stop(&rest, feed) }
    }

    private static func stop(_ rest: inout [UInt8]?, _ feed: AsyncStream<ExtensionOutput>.Continuation) {
        rest = nil
        feed.yield(.tooLong)
        feed.finish()
    }

    func close() { self.channel.close(flags: .stop) }
}

/// What a program writes to its standard error: the beginning, as the rest may be endless.
final class ExtensionErrors: Sendable {
    private static let maxBytes = 4096

    private let channel: DispatchIO
    private let received: Received

    private final class Received: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    init(_ channel: DispatchIO, _ queue: DispatchQueue) {
        self.channel = channel
        let received = Received()
        self.received = received
        channel.read(offset: 0, length: .max, queue: queue) { _, data, _ in
            received.bytes.withLock { bytes in
                // As an array: Dispatch never releases data whose slice is iterated.
                bytes += Array(data ?? .empty).prefix(max(0, Self.maxBytes - bytes.count))
            }
        }
    }

    /// What has come, in one line.
    var text: String {
        let text = String(decoding: self.received.bytes.withLock { $0 }, as: UTF8.self)
        let lines = text.split { $0.isNewline }.map(String.init)
        return lines.joined(separator: " | ").filter { !$0.isASCII || $0 >= " " }
    }

    /// Reads no further.
    func close() { self.channel.close(flags: .stop) }
}
