// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
package import RemoteSystems

/// Asks whoever is there with a program, such as `zenity --question --no-markup --text`: it gets the question as its last argument, and
/// says yes by ending with exit status 0. Everything else is a no: another status, a program that cannot be run, no answer in time.
///
/// One question at a time; what comes meanwhile waits in a line, and is denied when its own time is up. No shell is involved.
package actor AskingProgram {
    private let arguments: [String]
    private let environment: [String: String]
    private let timeout: Duration
    private let logger: Logger
    private var isAsking = false
    /// The questions that wait for their turn; no more than there are launches under way.
    private var line: [(number: UInt64, turn: AsyncStream<Void>.Continuation)] = []
    private var nextNumber: UInt64 = 0

    /// So long before the launcher stops waiting nobody is asked any more, so that it still hears the answer.
    static let margin = Duration.milliseconds(500)

    /// - Parameters:
    ///   - arguments: the program and its first arguments.
    ///   - environment: all that it gets; see ``ApplicationEnvironment``.
    ///   - timeout: how long somebody has for an answer; less when the launcher waits for less.
    package init(
        _ arguments: [String],
        environment: [String: String],
        timeout: Duration,
        logger: Logger
    ) {
        self.arguments = arguments
        self.environment = environment
        self.timeout = timeout
        self.logger = logger
    }

    /// For ``URISchemePolicy/ask``.
    package func ask(_ request: LaunchURIRequest) async -> Bool {
        await self.ask(
            Self.question(
                request.uri.description,
                application: request.caller.claimedApplicationID,
                system: request.caller.systemID.short
            ),
            until: min(.now + self.timeout, request.deadline - Self.margin)
        )
    }

    /// What is asked. It begins with words of ours, so that no program takes it for an option; the URI is ASCII without spaces.
    static func question(_ uri: String, application: String, system: String) -> String {
        // Only the system is proved. An id that is none, or does something to what is read, is not repeated.
        let who = ApplicationManifest.isID(application) ? "The application \(application)" : "An application"
        return "\(who) on the system \(system) of your account wants to open this here: \(uri)"
    }

    func ask(_ question: String, until deadline: ContinuousClock.Instant) async -> Bool {
        guard await self.takeTurn(until: deadline) else { return false }
        defer { self.passTurn() }
        guard ContinuousClock.now < deadline, !Task.isCancelled else { return false }
        let program: StartedProgram
        do {
            program = try DetachedProgram(self.arguments + [question], environment: self.environment).start()
        } catch {
            self.logger.error(
                "Nobody can be asked whether a URI may be opened",
                metadata: ["program": "\(self.arguments.first ?? "")", "reason": "\(error)"]
            )
            return false
        }
        let end = await Self.first(until: deadline) { await program.end() } ?? nil
        // A question that nobody waits for any more does not stay on the screen.
        program.signal(SIGKILL)
        return end?.isSuccess ?? false
    }

    /// How many questions are asked or wait.
    var inFlight: Int { self.line.count + (self.isAsking ? 1 : 0) }

    /// - Returns: whether it came in time.
    private func takeTurn(until deadline: ContinuousClock.Instant) async -> Bool {
        guard self.isAsking else {
            self.isAsking = true
            return true
        }
        let (turn, continuation) = AsyncStream.makeStream(of: Void.self)
        let number = self.nextNumber
        self.nextNumber += 1
        self.line.append((number, continuation))
        await Self.first(until: deadline) { for await _ in turn {} }
        // Whoever had the turn takes out of the line whom it passes it to.
        guard let index = self.line.firstIndex(where: { $0.number == number }) else { return true }
        self.line.remove(at: index)
        return false
    }

    private func passTurn() {
        if self.line.isEmpty {
            self.isAsking = false
        } else {
            self.line.removeFirst().turn.finish()
        }
    }

    /// What is awaited; `nil` when the time is up before, or the task is cancelled.
    @discardableResult
    private static func first<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () async -> Result
    ) async -> Result? {
        await withTaskGroup(of: Result?.self) { group in
            group.addTask { await body() }
            group.addTask {
                // A person's time, and a process's: no clock of a test moves either.
                try? await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
