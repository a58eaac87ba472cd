// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
internal import RemoteSystemsDiscovery
internal import Synchronization
internal import UserNotifications

/// The pipes of a program: its standard input, output and error.
struct ExtensionPipes {
    let input: ExtensionInput
    let lines: ExtensionLines
    let errors: ExtensionErrors
    /// The program's ends.
    let ends: (input: CInt, output: CInt, errors: CInt)

    init() throws(NotificationError) {
        var ends: [CInt] = []
        do throws(NotificationError) {
            self.input = try ExtensionInput(Self.pipe(writes: true, &ends))
            self.lines = try ExtensionLines(Self.pipe(writes: false, &ends))
            self.errors = try ExtensionErrors(Self.pipe(writes: false, &ends))
        } catch {
            for end in ends { close(end) }
            throw error
        }
        self.ends = (ends[0], ends[1], ends[2])
    }

    /// Closes the program's ends. Must be called once.
    func closeEnds() {
        close(self.ends.input)
        close(self.ends.output)
        close(self.ends.errors)
    }

    /// Creates a pipe.
    ///
    /// - Parameter ends: where the program's end is added.
    /// - Returns: the end of this process.
    private static func pipe(writes: Bool, _ ends: inout [CInt]) throws(NotificationError) -> CInt {
        var both: [CInt] = [-1, -1]
        guard unsafe Glibc.pipe(&both) == 0 else {
            let reason = unsafe String(cString: strerror(errno))
            throw NotificationError(.notShown, "No pipe can be created: \(reason).")
        }
        // Programs that this process starts inherit neither: they close everything. Others may not.
        for end in both { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        ends.append(writes ? both[0] : both[1])
        return writes ? both[1] : both[0]
    }

    /// The queue of all pipes. What runs there never blocks.
    fileprivate static let queue = DispatchQueue(label: "remote-systems.extensions")

    /// Takes over this process's end of a pipe.
    fileprivate static func source(
        _ descriptor: CInt,
        _ events: DescriptorSource.Events,
        _ handler: @escaping (DescriptorSource) -> Void
    ) throws(NotificationError) -> DescriptorSource {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        guard let source = DescriptorSource(descriptor, events: events, queue: Self.queue, handler: handler) else {
            throw NotificationError(.notShown, "The system has no resources to use another pipe.")
        }
        return source
    }
}

/// The lines that a program reads from a pipe.
final class ExtensionInput: Sendable {
    /// The maximum number of lines that wait for the program to read them.
    private static let maxUnread = 64

    private final class Unread: Sendable {
        /// What the pipe has not taken yet; `nil` after the end.
        let lines = Mutex<[ArraySlice<UInt8>]?>([])

        /// Writes as much as the pipe takes.
        func write(to source: DescriptorSource) {
            self.lines.withLock { lines in
                while let line = lines?.first {
                    let count = unsafe line.withUnsafeBytes { bytes in
                        unsafe Glibc.write(source.descriptor, bytes.baseAddress, bytes.count)
                    }
                    if count == line.count {
                        lines?.removeFirst()
                    } else if count >= 0 {
                        lines?[0] = line.dropFirst(count)
                    } else if errno == EAGAIN {
                        return
                    } else if errno != EINTR {
                        // The program reads no more. What it has not read ends with it.
                        lines = []
                    }
                }
                source.watch([])
            }
        }
    }

    private let source: DescriptorSource
    private let unread: Unread

    /// Takes over the end of a pipe.
    init(_ descriptor: CInt) throws(NotificationError) {
        let unread = Unread()
        self.unread = unread
        self.source = try ExtensionPipes.source(descriptor, []) { unread.write(to: $0) }
    }

    deinit { self.source.cancel() }

    /// Sends a line. After the end, it is dropped.
    ///
    /// - Returns: `false` if too many lines are unread.
    func send(_ line: String) -> Bool {
        let isTaken = self.unread.lines.withLock { lines in
            guard let count = lines?.count else { return true }
            guard count < Self.maxUnread else { return false }
            lines?.append(Array("\(line)\n".utf8)[...])
            return true
        }
        if isTaken { self.source.watch(.writing) }
        return isTaken
    }

    func close() {
        self.unread.lines.withLock { $0 = nil }
        self.source.cancel()
    }
}

/// Reads what a program writes to a pipe.
private final class ExtensionReader: Sendable {
    private static let readBytes = 1 << 16
    /// The maximum number of reads at the end: what the largest pipe of a user without privileges contains.
    private static let maxReads = 16

    private let source: DescriptorSource
    private let receive: @Sendable (ArraySlice<UInt8>?) -> Void

    /// Takes over the end of a pipe.
    ///
    /// - Parameter receive: called on the queue of the pipes; with `nil` at the end.
    init(
        _ descriptor: CInt,
        _ receive: @escaping @Sendable (ArraySlice<UInt8>?) -> Void
    ) throws(NotificationError) {
        self.receive = receive
        self.source = try ExtensionPipes.source(descriptor, .reading) { _ = Self.read($0, receive) }
    }

    deinit {
        ExtensionPipes.queue.async { [source, receive] in ExtensionReader.end(source, receive) }
    }

    /// Reads what the pipe contains, and then no more.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            ExtensionPipes.queue.async { [source, receive] in
                for _ in 0..<Self.maxReads {
                    guard Self.read(source, receive) else { break }
                }
                Self.end(source, receive)
                continuation.resume()
            }
        }
    }

    /// Returns whether there was something to read.
    private static func read(_ source: DescriptorSource, _ receive: (ArraySlice<UInt8>?) -> Void) -> Bool {
        guard !source.isCancelled else { return false }
        var bytes = [UInt8](repeating: 0, count: Self.readBytes)
        var count = -1
        repeat {
            count = unsafe Glibc.read(source.descriptor, &bytes, bytes.count)
        } while count < 0 && errno == EINTR
        if count > 0 {
            receive(bytes[..<count])
            return true
        }
        if count == 0 || errno != EAGAIN { Self.end(source, receive) }
        return false
    }

    /// Only on the queue, where the descriptor is open until the source is cancelled.
    private static func end(_ source: DescriptorSource, _ receive: (ArraySlice<UInt8>?) -> Void) {
        guard !source.isCancelled else { return }
        source.cancel()
        receive(nil)
    }
}

/// The lines that a program writes to a pipe.
final class ExtensionLines: Sendable {
    /// The maximum number of lines that wait to be read.
    private static let maxWaiting = 64

    private final class Received: Sendable {
        /// The beginning of a line; `nil` when nothing more is read.
        let rest = Mutex<[UInt8]?>([])
    }

    private let reader: ExtensionReader
    let outputs: AsyncStream<ExtensionOutput>

    /// Takes over the end of a pipe.
    init(_ descriptor: CInt) throws(NotificationError) {
        let (outputs, feed) = AsyncStream.makeStream(
            of: ExtensionOutput.self,
            bufferingPolicy: .bufferingOldest(Self.maxWaiting)
        )
        self.outputs = outputs
        let received = Received()
        self.reader = try ExtensionReader(descriptor) { data in
            received.rest.withLock { rest in
                if let data { return Self.receive(data, &rest, feed) }
                guard let line = rest else { return }
                // The end of the output ends a line, too.
                if !line.isEmpty { feed.yield(.line(String(decoding: line, as: UTF8.self))) }
                rest = nil
                feed.finish()
            }
        }
    }

    /// - Parameter rest: the beginning of a line; `nil` when nothing more is read.
    private static func receive(
        _ data: ArraySlice<UInt8>,
        _ rest: inout [UInt8]?,
        _ feed: AsyncStream<ExtensionOutput>.Continuation
    ) {
        guard var line = rest else { return }
        var data = data
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

    /// Reads what has come, and then no more.
    func close() async { await self.reader.close() }
}

/// What a program writes to its standard error: the beginning, as the rest may be endless.
final class ExtensionErrors: Sendable {
    private static let maxBytes = 4096

    private final class Received: Sendable {
        let bytes = Mutex<[UInt8]>([])
    }

    private let reader: ExtensionReader
    private let received: Received

    /// Takes over the end of a pipe.
    init(_ descriptor: CInt) throws(NotificationError) {
        let received = Received()
        self.received = received
        self.reader = try ExtensionReader(descriptor) { data in
            guard let data else { return }
            received.bytes.withLock { $0 += data.prefix(max(0, Self.maxBytes - $0.count)) }
        }
    }

    /// Reads what has come, and then no more.
    ///
    /// - Returns: all that has come, in one line.
    func close() async -> String {
        await self.reader.close()
        let text = String(decoding: self.received.bytes.withLock { $0 }, as: UTF8.self)
        let lines = text.split { $0.isNewline }.map(String.init)
        return lines.joined(separator: " | ").filter { !$0.isASCII || $0 >= " " }
    }
}
