// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import Logging
internal import Synchronization
internal import UserNotifications

/// The process of an extension. It reads lines from its standard input, and writes lines to its standard output.
final class ExtensionProcess: ExtensionProgram {
    /// The time for the process to end when it is asked to.
    private static let grace = Duration.milliseconds(500)
    /// How often the size of its files is checked.
    private static let sizeInterval = Duration.milliseconds(500)
    /// A process that has ended does not read. Started programs get the default action again.
    private static let ignoresBrokenPipes: Void = { signal(SIGPIPE, SIG_IGN) }()

    private struct State {
        var ending: Task<String, Never>?
        var whenEnded: (@Sendable () -> Void)?
        /// Why it was killed.
        var fault: String?
        /// The size of the files that it was given.
        var givenBytes: Int64 = 0
    }

    private let program: StartedProgram
    private let environment: [String: String]
    /// Where the extension keeps its files.
    private let directory: String
    private let scope: String?
    private let input: ExtensionInput
    private let lines: ExtensionLines
    private let errors: ExtensionErrors
    private let logger: Logger
    private let state = Mutex(State())

    /// Starts a program. The call may block.
    ///
    /// - Parameters:
    ///   - directory: where its directory is created.
    ///   - limits: what it may use.
    /// - Throws: ``NotificationError`` that says why it does not start.
    init(
        _ arguments: [String],
        environment: [String: String],
        directory parent: String,
        limits: ExtensionLimits = .service,
        logger: Logger
    ) throws(NotificationError) {
        _ = Self.ignoresBrokenPipes
        let directory = try ExtensionFiles.make(in: parent)
        self.directory = directory
        self.scope =
            ExtensionLimits.hasServiceManager(environment)
            ? "remote-systems-extension-\(UUID().uuidString.lowercased()).scope" : nil
        var environment = environment
        environment["TMPDIR"] = directory
        self.environment = environment
        self.logger = logger
        do throws(NotificationError) {
            let pipes = try ExtensionPipes()
            defer { pipes.closeEnds() }
            var program = DetachedProgram(
                limits.command(arguments, scope: self.scope),
                environment: environment,
                directory: directory
            )
            program.pipes = pipes.ends
            program.endsItsChildren = true
            do throws(DetachedProgram.StartError) {
                self.program = try program.start()
            } catch {
                throw NotificationError(.notShown, "\(arguments[0]) cannot be run: \(error).")
            }
            self.input = pipes.input
            self.lines = pipes.lines
            self.errors = pipes.errors
        } catch {
            ExtensionFiles.remove(directory, logger)
            throw error
        }
        Task { await self.watchSize() }
    }

    func send(_ line: String) {
        // A line that is left out may be the one that counts, such as the last position of a slider.
        if !self.input.send(line) { self.kill("it did not read its input") }
    }

    func makeRoom(for byteCount: Int64) async throws(NotificationError) -> String {
        self.state.withLock { $0.givenBytes += byteCount }
        return try await BlockingCalls.run { [directory] in
            // The process may have files of any names there already.
            Result { () throws(NotificationError) in try ExtensionFiles.make(in: directory) }
        }.get()
    }

    var outputs: AsyncStream<ExtensionOutput> { self.lines.outputs }

    func end() async -> String {
        await self.state.withLock { state in
            if let ending = state.ending { return ending }
            // A task of its own: it is not cancelled with the caller.
            let ending = Task { await self.endOnce() }
            state.ending = ending
            return ending
        }.value
    }

    /// Calls `body` when the process has ended and its files are removed.
    func whenEnded(_ body: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.whenEnded = body }
    }

    private func endOnce() async -> String {
        self.input.close()
        var end = await self.program.terminate(grace: Self.grace)
        if end == nil { end = await self.program.end() }
        await self.lines.close()
        if let scope { await self.killScope(scope) }
        let text = await self.errors.close()
        if !text.isEmpty {
            self.logger.info("An extension wrote to its standard error", metadata: ["text": "\(text)"])
        }
        await BlockingCalls.run { [directory, logger] in ExtensionFiles.remove(directory, logger) }
        let (fault, whenEnded) = self.state.withLock { ($0.fault, $0.whenEnded.take()) }
        whenEnded?()
        // With the signal of this process: it has not crashed.
        let clause = end == .killed(signal: SIGTERM) ? "the host daemon has ended it" : "\(end ?? .unknown)"
        return fault.map { "\(clause), because \($0)" } ?? clause
    }

    private func kill(_ fault: String) {
        self.state.withLock { state in
            guard state.fault == nil else { return }
            state.fault = fault
        }
        self.program.signal(SIGKILL)
    }

    private func killScope(_ scope: String) async {
        let command = DetachedProgram(ExtensionLimits.killCommand(scope), environment: self.environment)
        let killing = await BlockingCalls.run { try? command.start() }
        _ = await killing?.end()
    }

    /// Ends the process when its files are too large together.
    private func watchSize() async {
        while self.program.ended == nil {
            let given = self.state.withLock { $0.givenBytes }
            let isTooLarge = await BlockingCalls.run { [directory] in
                ExtensionFiles.isTooLarge(directory, beside: given)
            }
            if isTooLarge { return self.kill("its files were too large") }
            try? await Task.sleep(for: Self.sizeInterval)
        }
    }
}
