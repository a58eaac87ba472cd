// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// The messages between this process and the browser that has started it: standard input and standard output.
final class BrowserConnection: Sendable {
    /// Why the connection was cut.
    enum Cut: Error, Hashable {
        case tooLong(bytes: Int)
        /// More messages than the program handles.
        case flood
        /// The browser does not read.
        case stuck
        case invalid(String)
    }

    /// The maximum number of messages that wait in each direction.
    private static let maxWaiting = 64
    /// The maximum number of invalid messages before the connection is cut.
    private static let maxInvalid = 16

    /// The messages. Ends with the browser.
    let messages: AsyncStream<BrowserMessage>
    private let feed: AsyncStream<BrowserMessage>.Continuation
    private let input: Int32
    private let output: Int32
    private let writing = DispatchQueue(label: "remote-systems.browser")
    private let waiting = Mutex(0)
    private let isStuck = Mutex(false)
    /// A byte in it ends ``run()``.
    private let stopping: (reader: Int32, writer: Int32)

    init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO) {
        (self.messages, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maxWaiting))
        self.input = input
        self.output = output
        var ends: [Int32] = [-1, -1]
        _ = unsafe pipe(&ends)
        self.stopping = (ends[0], ends[1])
    }

    deinit {
        close(self.stopping.reader)
        close(self.stopping.writer)
    }

    func stop() {
        var byte: UInt8 = 0
        _ = unsafe write(self.stopping.writer, &byte, 1)
    }

    /// Sends a message. A browser that does not read is given up.
    func send(_ order: BrowserOrder) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let message = try? encoder.encode(order), let bytes = NativeMessages.framed(Array(message)) else {
            return
        }
        let hasPlace = self.waiting.withLock { waiting in
            guard waiting < Self.maxWaiting else { return false }
            waiting += 1
            return true
        }
        guard hasPlace else {
            self.isStuck.withLock { $0 = true }
            return self.stop()
        }
        self.writing.async {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = unsafe rest.withUnsafeBytes { unsafe write(self.output, $0.baseAddress, $0.count) }
                if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { break }
            }
            self.waiting.withLock { $0 -= 1 }
        }
    }

    /// Waits until what was sent has been written, or the browser does not read it.
    func flush() async {
        for _ in 0..<50 where self.waiting.withLock({ $0 }) > 0 { try? await Task.sleep(for: .milliseconds(20)) }
    }

    /// Reads messages until the browser ends, or ``stop()``. Blocks.
    func run() throws(Cut) {
        defer { self.feed.finish() }
        var messages = NativeMessages()
        var invalid = 0
        while let bytes = self.read() {
            messages.append(bytes)
            while true {
                let message: [UInt8]?
                do throws(NativeMessages.TooLong) {
                    message = try messages.next()
                } catch {
                    throw .tooLong(bytes: error.bytes)
                }
                guard let message else { break }
                let read: BrowserMessage
                do throws(BrowserMessage.Invalid) {
                    read = try BrowserMessage(message)
                } catch {
                    invalid += 1
                    self.send(.failed(code: "invalidMessage", message: error.text, id: nil))
                    guard invalid < Self.maxInvalid else { throw .invalid(error.text) }
                    continue
                }
                if case .leave(let reason?) = read {
                    self.send(.failed(code: "notOffered", message: reason, id: nil))
                }
                guard case .enqueued = self.feed.yield(read) else { throw .flood }
            }
        }
        if self.isStuck.withLock({ $0 }) { throw .stuck }
    }

    /// Waits for bytes; `nil` at the end.
    private func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            var descriptors = [
                pollfd(fd: self.input, events: Int16(POLLIN), revents: 0),
                pollfd(fd: self.stopping.reader, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&descriptors, 2, -1) > 0 || errno == EINTR else { return nil }
            if descriptors[1].revents != 0 { return nil }
            guard descriptors[0].revents != 0 else { continue }
            let count = unsafe Glibc.read(self.input, &buffer, buffer.count)
            if count > 0 { return Array(buffer[..<count]) }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}
