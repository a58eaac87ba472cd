// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
package import RemoteSystems

/// Asks the user with a program whether a URI may be opened, for example with `zenity --question --no-markup --text`.
///
/// The program gets the question as its last argument. Exit status 0 means yes. Another exit status and no answer in
/// time mean no. If the program cannot be started, the user is not asked. No shell is used.
///
/// Only one question is shown at a time. Further questions wait, and are given up when their launchers stop waiting.
///
/// The systems take turns: next is the earliest question of the system whose last question is longest ago. A question
/// waits for at most one of each other system, however many others they have. A system whose questions the user denied
/// or ignored several times must pause; see ``QuestionPace``. Programs of this system need not pause: they run as the
/// user, and can show questions of their own.
package actor AskingProgram {
    /// The end of a question.
    enum Answer {
        case allowed
        /// The user denied or ignored the question, or the program ended without asking it.
        case denied
        /// The question was given up before the user saw it, or its system must pause.
        case notShown
        /// The program cannot be started.
        case notStarted
    }

    private struct NotShown: Error {}

    /// The program cannot be started. A retry cannot help.
    struct NotStarted: Error {}

    private let arguments: [String]
    private let environment: [String: String]
    private let timeout: Duration
    private let logger: Logger
    private var pace: QuestionPace
    private var isAsking = false
    /// The waiting questions in order of arrival, at most one per launch in progress.
    private var line: [(number: UInt64, holder: QuotaHolder, turn: AsyncStream<Void>.Continuation)] = []
    private var nextNumber: UInt64 = 0
    /// The reason why the program could not be started for the last question; `nil` if it was started.
    private var problem: DetachedProgram.StartError?
    /// The number of questions that were shown since none was waiting.
    private var shown: UInt64 = 0
    /// The value of ``shown`` with the last question of each system. A question that was given up while it waited does
    /// not change it.
    private var lastShown: [QuotaHolder: UInt64] = [:]

    /// The time between the end of a question and the launcher's deadline, so that the answer still reaches the
    /// launcher.
    static let margin = Duration.milliseconds(500)

    /// Creates access to a program that asks the user. Starts nothing yet.
    ///
    /// - Parameters:
    ///   - arguments: The program and its first arguments.
    ///   - environment: The complete environment of the program; see ``ApplicationEnvironment``.
    ///   - timeout: The time that the user has for an answer. The launcher's deadline can shorten it.
    ///   - pace: The limit of the questions of one system that the user denies or ignores.
    package init(
        _ arguments: [String],
        environment: [String: String],
        timeout: Duration,
        pace: QuestionPace = QuestionPace(),
        logger: Logger
    ) {
        self.arguments = arguments
        self.environment = environment
        self.timeout = timeout
        self.pace = pace
        self.logger = logger
    }

    /// Asks whether a URI may be opened. Suitable as ``URISchemePolicy/ask``.
    ///
    /// - Throws: if the user did not see the question.
    package func ask(_ request: LaunchURIRequest) async throws -> Bool {
        let answer = await self.ask(
            Self.question(request.uri.description, of: request.caller),
            of: request.caller.quotaHolder,
            isLocal: request.caller.isLocal,
            until: request.deadline - Self.margin
        )
        switch answer {
        case .allowed: return true
        case .denied: return false
        case .notShown: throw NotShown()
        case .notStarted: throw NotStarted()
        }
    }

    /// The text of the question.
    ///
    /// It begins with fixed words, so that no program parses it as an option. The URI is ASCII without spaces.
    static func question(_ uri: String, of caller: AppServiceCaller) -> String {
        // Only the system is authenticated. An invalid application id, such as one with control characters, is omitted.
        let application = caller.claimedApplicationID
        let subject = ApplicationManifest.isID(application) ? "The application \(application)" : "An application"
        let account =
            switch caller.standing {
            case .sameAccount: "your account"
            case .linked(let owner, _): "the linked account \(owner.short)"
            case .anonymous: "an unknown account"
            }
        return "\(subject) on the system \(caller.systemID.short) of \(account) wants to open this here: \(uri)"
    }

    func ask(
        _ question: String,
        of holder: QuotaHolder,
        isLocal: Bool = false,
        until launcherEnd: ContinuousClock.Instant
    ) async -> Answer {
        guard await self.takeTurn(of: holder, until: launcherEnd) else { return .notShown }
        defer { self.passTurn() }
        let now = ContinuousClock.now
        guard now < launcherEnd, !Task.isCancelled, isLocal || self.pace.permits(holder, at: now) else {
            return .notShown
        }
        self.shown += 1
        self.lastShown[holder] = self.shown
        // Counted from now, so that a question which the user ignores does not take the time of the next one.
        let deadline = min(.now + self.timeout, launcherEnd)
        let program: StartedProgram
        do throws(DetachedProgram.StartError) {
            program = try DetachedProgram(self.arguments + [question], environment: self.environment).start()
            self.problem = nil
        } catch {
            // No pace limits these questions, so a system could fill the log.
            self.logger.log(
                level: error == self.problem ? .debug : .error,
                "The user cannot be asked whether a URI may be opened",
                metadata: ["program": "\(self.arguments.first ?? "")", "reason": "\(error)"]
            )
            self.problem = error
            return .notStarted
        }
        let end = await Self.first(until: deadline) { await program.end() } ?? nil
        // Removes the question from the screen if its time is over.
        program.signal(SIGKILL)
        guard end?.isSuccess ?? false else {
            if !isLocal { self.pace.countDenial(of: holder, at: .now) }
            return .denied
        }
        return .allowed
    }

    /// The number of questions that are shown or waiting.
    var inFlight: Int { self.line.count + (self.isAsking ? 1 : 0) }

    /// Waits until no other question is shown.
    ///
    /// - Returns: Whether this happened in time.
    private func takeTurn(of holder: QuotaHolder, until deadline: ContinuousClock.Instant) async -> Bool {
        guard self.isAsking else {
            self.isAsking = true
            return true
        }
        let (turn, continuation) = AsyncStream.makeStream(of: Void.self)
        let number = self.nextNumber
        self.nextNumber += 1
        self.line.append((number, holder, continuation))
        await Self.first(until: deadline) { for await _ in turn {} }
        // passTurn() removes the question whose turn it is from the line.
        guard let index = self.line.firstIndex(where: { $0.number == number }) else { return true }
        self.line.remove(at: index)
        return false
    }

    private func passTurn() {
        let lastShown = self.lastShown
        let next = self.line.min { one, other in
            (lastShown[one.holder] ?? 0, one.number) < (lastShown[other.holder] ?? 0, other.number)
        }
        guard let next else {
            self.isAsking = false
            self.shown = 0
            self.lastShown = [:]
            return
        }
        self.line.removeAll { $0.number == next.number }
        next.turn.finish()
    }

    /// Returns the result of `body`; `nil` if the time is over first or the task is cancelled.
    @discardableResult
    private static func first<Result: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable () async -> Result
    ) async -> Result? {
        await withTaskGroup(of: Result?.self) { group in
            group.addTask { await body() }
            group.addTask {
                // Real time, not a test clock: the user and the program act in real time.
                try? await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
