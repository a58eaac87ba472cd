// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
package import RemoteSystems

/// Asks whoever is there with a program, such as `zenity --question --no-markup --text`: it gets the question as its last argument, and
/// says yes by ending with exit status 0. Everything else is a no: another status, a program that cannot be run, no answer in time.
///
/// One question at a time; what comes meanwhile waits, and is denied when its own time is up. No shell is involved.
package actor AskingProgram {
    private let arguments: [String]
    private let environment: [String: String]
    private let timeout: Duration
    private let logger: Logger
    private var isAsking = false

    /// So long before the launcher stops waiting nobody is asked any more, so that it still hears the answer.
    static let margin = Duration.milliseconds(500)
    /// How often a question that waits looks whether the one before is answered.
    private static let interval = Duration.milliseconds(50)

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
        while self.isAsking {
            guard ContinuousClock.now < deadline, (try? await Task.sleep(for: Self.interval)) != nil else {
                return false
            }
        }
        guard ContinuousClock.now < deadline, !Task.isCancelled else { return false }
        self.isAsking = true
        defer { self.isAsking = false }
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
        let end = await Self.end(of: program, until: deadline)
        // A question that nobody waits for any more does not stay on the screen.
        program.signal(SIGKILL)
        return end?.isSuccess ?? false
    }

    private static func end(
        of program: StartedProgram,
        until deadline: ContinuousClock.Instant
    ) async -> StartedProgram.End? {
        await withTaskGroup(of: StartedProgram.End?.self) { group in
            group.addTask { await program.end() }
            group.addTask {
                try? await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }
}
