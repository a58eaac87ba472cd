// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization
internal import UserNotifications

/// The first line of a pipe. The rest is not read.
final class ServiceExtensionLine: Sendable {
    private let channel: DispatchIO
    private let outputs: AsyncStream<ServiceExtensionOutput>

    init(_ channel: DispatchIO, _ queue: DispatchQueue) {
        self.channel = channel
        let (outputs, feed) = AsyncStream.makeStream(of: ServiceExtensionOutput.self)
        self.outputs = outputs
        let received = Mutex<[UInt8]?>([])
        channel.read(offset: 0, length: ServiceExtensionMessage.maxBytes + 1, queue: queue) { isDone, data, _ in
            let output = received.withLock { received in
                Self.receive(Array(data ?? .empty), isDone: isDone, &received)
            }
            guard let output else { return }
            feed.yield(output)
            feed.finish()
        }
    }

    /// - Parameter received: what has come; `nil` after the output is known.
    private static func receive(
        _ data: [UInt8],
        isDone: Bool,
        _ received: inout [UInt8]?
    ) -> ServiceExtensionOutput? {
        guard var line = received else { return nil }
        let end = data.firstIndex(of: UInt8(ascii: "\n"))
        line += data[..<(end ?? data.endIndex)]
        received = line
        guard end != nil || isDone || line.count > ServiceExtensionMessage.maxBytes else { return nil }
        received = nil
        guard line.count <= ServiceExtensionMessage.maxBytes else { return .tooLong }
        // The end of the output ends the line, too.
        return end == nil && line.isEmpty ? .ended : .line(String(decoding: line, as: UTF8.self))
    }

    /// Waits for the line.
    func output() async -> ServiceExtensionOutput {
        for await output in self.outputs { return output }
        return .ended
    }

    func close() { self.channel.close(flags: .stop) }
}

/// What a program writes to its standard error: the beginning, as the rest may be endless.
final class ServiceExtensionErrors: Sendable {
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
                bytes += (data ?? .empty).prefix(max(0, Self.maxBytes - bytes.count))
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
