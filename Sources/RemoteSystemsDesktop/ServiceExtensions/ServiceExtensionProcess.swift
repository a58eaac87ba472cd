// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization
internal import UserNotifications

/// The process of a service extension. It reads lines from its standard input, and writes one to its standard output.
final class ServiceExtensionProcess: ServiceExtensionProgram {
    /// The time for the process to end when it is asked to.
    private static let grace = Duration.milliseconds(500)
    private static let queue = DispatchQueue(label: "remote-systems.service-extensions")
    /// A process that has ended does not read. Started programs get the default action again.
    private static let ignoresBrokenPipes: Void = { signal(SIGPIPE, SIG_IGN) }()

    private let program: StartedProgram
    private let environment: [String: String]
    /// Where the extension keeps its files.
    private let directory: String
    private let scope: String?
    private let input: DispatchIO
    private let output: DispatchIO
    private let responses: AsyncStream<String>

    /// Starts a program.
    ///
    /// - Throws: ``NotificationError`` that says why it does not start.
    init(_ arguments: [String], environment: [String: String]) throws(NotificationError) {
        _ = Self.ignoresBrokenPipes
        self.directory = try Self.makeDirectory(in: environment["TMPDIR"] ?? "/tmp")
        self.scope =
            ServiceExtensionLimits.hasServiceManager(environment)
            ? "remote-systems-extension-\(UUID().uuidString.lowercased()).scope" : nil
        var environment = environment
        environment["TMPDIR"] = self.directory
        self.environment = environment
        let requests: Pipe
        let answers: Pipe
        do throws(NotificationError) {
            requests = try Pipe()
            do throws(NotificationError) {
                answers = try Pipe()
            } catch {
                requests.close()
                throw error
            }
        } catch {
            try? FileManager.default.removeItem(atPath: self.directory)
            throw error
        }
        var program = DetachedProgram(
            ServiceExtensionLimits.command(arguments, scope: self.scope),
            environment: environment,
            directory: self.directory
        )
        // It ends soon, and its messages are all that says why it has failed.
        program.keepsOutput = true
        program.pipes = (requests.reading, answers.writing)
        program.endsItsChildren = true
        do throws(DetachedProgram.StartError) {
            self.program = try program.start()
        } catch {
            requests.close()
            answers.close()
            try? FileManager.default.removeItem(atPath: self.directory)
            throw NotificationError(.notShown, "\(arguments[0]) cannot be run: \(error).")
        }
        close(requests.reading)
        close(answers.writing)
        self.input = Self.channel(requests.writing)
        self.output = Self.channel(answers.reading)
        self.responses = Self.firstLine(of: self.output)
    }

    func send(_ line: String) {
        let data = unsafe Array("\(line)\n".utf8).withUnsafeBytes { unsafe DispatchData(bytes: $0) }
        // What the process does not read ends with it.
        self.input.write(offset: 0, data: data, queue: Self.queue) { _, _, _ in }
    }

    func response() async -> String? {
        for await line in self.responses { return line }
        return nil
    }

    func end() async -> String {
        self.input.close(flags: .stop)
        var end = await self.program.terminate(grace: Self.grace)
        if end == nil { end = await self.program.end() }
        self.output.close(flags: .stop)
        if let scope {
            // A process that has left the group is still in it.
            _ = try? DetachedProgram(ServiceExtensionLimits.stopCommand(scope), environment: self.environment).start()
        }
        await BlockingCalls.run { [directory] in try? FileManager.default.removeItem(atPath: directory) }
        return "\(end ?? .unknown)"
    }

    // MARK: Pipes and files

    private static func makeDirectory(in parent: String) throws(NotificationError) -> String {
        var template = Array("\(parent)/remote-systems-extension-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw Self.failure("No directory can be created in \(parent)")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func failure(_ text: String) -> NotificationError {
        NotificationError(.notShown, "\(text): \(unsafe String(cString: strerror(errno))).")
    }

    private struct Pipe {
        let reading: CInt
        let writing: CInt

        init() throws(NotificationError) {
            var ends: [CInt] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else { throw ServiceExtensionProcess.failure("No pipe can be created") }
            // Programs that this process starts inherit neither: they close everything. Others may not.
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (self.reading, self.writing) = (ends[0], ends[1])
        }

        func close() {
            Glibc.close(self.reading)
            Glibc.close(self.writing)
        }
    }

    private static func channel(_ descriptor: CInt) -> DispatchIO {
        let channel = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: Self.queue) { _ in
            close(descriptor)
        }
        channel.setLimit(lowWater: 1)
        return channel
    }

    /// Ends after the first line, at the end of the output, and when a line is too long.
    private static func firstLine(of output: DispatchIO) -> AsyncStream<String> {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let received = Mutex<[UInt8]>([])
        output.read(offset: 0, length: ServiceExtensionMessage.maxBytes, queue: Self.queue) { isDone, data, _ in
            let line = received.withLock { received -> [UInt8]? in
                received += data ?? .empty
                return received.firstIndex(of: UInt8(ascii: "\n")).map { Array(received[..<$0]) }
            }
            if let line { continuation.yield(String(decoding: line, as: UTF8.self)) }
            if isDone || line != nil { continuation.finish() }
        }
        return lines
    }
}
