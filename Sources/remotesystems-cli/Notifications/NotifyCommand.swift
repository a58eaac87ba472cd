// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems
import UserNotifications

/// The command `remotesystems notify`.
struct NotifyCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Show a notification on other systems, and print what their user answers.",
        usage: "remotesystems notify <system> | --all [<options>]",
        discussion: """
            The host daemon of each system shows it. With --wait, the command ends at the first answer, prints the id \
            of the action and, on a second line, the text that was entered, and withdraws the notification everywhere. \
            Buttons require it, unless they are for an application or a category of the receiving system.

              remotesystems notify --all --title 'Deploy?' --action yes=Yes --wait 600

            An answer is the id of an action, 'default' for the notification itself, or 'dismiss'. With --all, systems \
            that appear while the command waits also receive the notification, even if no system is found at first.

            With --later, the host daemon of this system keeps the notification for systems of the account that are \
            away, for at most 30 days, and sends it when they are back. 'remotesystems notifications outbox' lists \
            what waits.

            Exit status: 0 if at least one system received the notification and, with --wait, the user answered; 1 if \
            the user dismissed it, no answer came in time, it expired, or no system keeps it; 2 if no system accepted \
            it, or the command was interrupted.
            """
    )

    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String?

    @Flag(help: "Send it to all systems of the account, this one included.")
    var all = false

    @OptionGroup var content: NotifyContentOptions

    @Option(
        name: .customLong("wait"),
        defaultAsFlag: EnteredTime(seconds: 86_400),
        help: ArgumentHelp(
            "Wait for an answer, at most this time, \(EnteredTime.form). Range: 1 to 2592000 (30d).",
            valueName: "time"
        )
    )
    var wait: EnteredTime?

    @Flag(help: "Let the host daemon of this system send it later to systems that are away. Not with --wait.")
    var later = false

    @Option(
        name: .customLong("sender-id"),
        help: ArgumentHelp(
            "The application id under which systems permit, deny and limit its notifications. Defaults to "
                + "\(Self.applicationID), which all commands without this option share.",
            valueName: "id"
        )
    )
    var senderID: String?

    @Option(
        name: .customLong("search-time"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum time to look for systems, such as 10 or 500ms. Range: 0.1 to 3600 seconds.",
            valueName: "time"
        )
    )
    var searchTime = EnteredTime(seconds: 5)

    @OptionGroup var names: NameOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    private static let applicationID = "remote-systems.command.notify"

    /// The arguments with `--wait=10` as two words. The parser ignores what follows the equals sign of an option whose
    /// value may be missing.
    static func separatingWait(_ words: [String]) -> [String] {
        guard words.first == Self.configuration.commandName else { return words }
        let end = words.firstIndex(of: "--") ?? words.endIndex
        return words[..<end].indices.flatMap { index -> [String] in
            let word = words[index]
            // The parser takes a negative number for another option, and a mistyped time for the name of a system.
            if index > 0, words[index - 1] == "--wait" {
                let isMistyped = word.wholeMatch(of: /[0-9.,]+(sec|min|hour|hr|day|week)[a-z]*/) != nil
                let isNegative = EnteredTime(argument: word).map { !($0.seconds >= 0) } ?? false
                if isMistyped || isNegative { return [Self.refusedWait] }
            }
            guard word.hasPrefix("--wait=") else { return [word] }
            let value = String(word.dropFirst("--wait=".count))
            guard let time = EnteredTime(argument: value), time.seconds >= 0 else {
                return ["--wait", Self.refusedWait]
            }
            return ["--wait", value]
        } + words[end...]
    }

    /// A value that ``validate()`` refuses, in place of those that the parser would misunderstand.
    private static let refusedWait = "0"
    private static let waitRange = "--wait takes 1 to 2592000 seconds, or a time of up to 30d, such as 10m."

    func validate() throws {
        guard (self.system == nil) == self.all else {
            throw ValidationError(
                self.all ? "Give either a system or --all, not both." : "Name a system, or give --all."
            )
        }
        try self.network.validate(system: self.system)
        try self.names.validate(system: self.system)
        if let senderID, !senderID.isName {
            throw ValidationError("--sender-id takes \(String.nameForm).")
        }
        guard (1...2_592_000).contains(self.wait?.seconds ?? 1) else {
            throw ValidationError(Self.waitRange)
        }
        guard !self.later || self.wait == nil else {
            throw ValidationError("--later cannot wait: the command has ended when a system is back. Omit --wait.")
        }
        guard self.wait != nil || !self.content.isQuestion else {
            throw ValidationError(
                "Nothing receives the answer to a button without --wait. Omit --action and --text-action, or add "
                    + "\(self.later ? "--application or --category" : "--wait, --application or --category")."
            )
        }
        guard (0.1...3600).contains(self.searchTime.seconds) else {
            throw ValidationError("--search-time takes 0.1 to 3600 seconds, not \(self.searchTime).")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        var notification = try self.content.notification(reportsDismissal: self.wait != nil)
        // The command has ended when the user responds.
        notification.isOneWay = self.wait == nil
        var configuration = RemoteSystemsConfiguration(
            "notify",
            self.network,
            self.state,
            logger: self.common.logger()
        )
        if let senderID { configuration.applicationID = senderID }
        let broadcast = NotificationBroadcast(notification)
        let run = NotifyRun(
            broadcast: broadcast,
            configuration: configuration,
            searchTime: self.searchTime.duration,
            isLater: self.later,
            output: output
        )
        let wait = self.wait.map { Duration.seconds($0.seconds) }
        let finished: NotifyRun.Result?
        do {
            finished = try await untilInterrupted {
                guard let system = self.system else {
                    return try await run.sendToAll(wait: wait)
                }
                do {
                    return try await run.send(to: system, acceptsName: self.names.acceptsName, wait: wait)
                } catch  where self.later && Failure(error).error == "\(RemoteSystemError.Code.unreachable)" {
                    return NotifyRun.Result(ending: .sent, reached: 0, kept: 0, failures: [Failure(error)])
                }
            }
        } catch {
            await broadcast.withdraw()
            throw error
        }
        if wait != nil { await broadcast.withdraw() } else { await broadcast.close() }
        guard var finished else { throw CancellationError() }
        if self.later, case .sent = finished.ending {
            let later = NotifyLater(finder: run.finder(self.system, self.names.acceptsName), output: output)
            let posted = try await later.post(notification, except: finished.settled)
            if posted.count > 0 { return true }
            // Why the only system has not received it now does not matter any more.
            if self.all { finished.failures += posted.failures }
            if !self.all, !posted.failures.isEmpty { finished.failures = posted.failures }
        }
        return try self.report(finished, output)
    }

    private func report(_ result: NotifyRun.Result, _ output: Output) throws -> Bool {
        switch result.ending {
        case .answered(let response):
            try output.json(NotifyAnswerOutput(event: "answer", response))
            try output.line(response.actionIdentifier.rawValue.printable)
            if let text = response.userText { try output.line(text.printableLines) }
            return response.actionIdentifier != .dismiss
        case .interrupted:
            throw Failure(
                "cancelled",
                self.wait == nil
                    ? "The command was interrupted. Systems that have received the notification keep it."
                    : "The command was interrupted before an answer came. The notification was withdrawn.",
                canRetry: true
            )
        case .sent, .timedOut, .expired, .notKept: break
        }
        guard result.reached > 0 else { throw self.failure(of: result) }
        guard self.wait != nil else { return result.kept > 0 }
        let (reason, text) =
            if result.kept == 0 {
                ("notKept", "No system keeps it.")
            } else if case .notKept = result.ending {
                ("notKept", "No system keeps it any more: it was replaced, or the user does not permit it.")
            } else if case .expired = result.ending {
                ("expired", "The notification expired before an answer came.")
            } else {
                ("timedOut", "No answer came in time. The notification was withdrawn.")
            }
        output.note(text)
        try output.json(NotifyAnswerOutput(event: "unanswered", reason: reason))
        return false
    }

    /// The error when no system received the notification.
    private func failure(of result: NotifyRun.Result) -> Failure {
        guard let first = result.failures.first else {
            return Failure(
                "\(RemoteSystemError.Code.unreachable)",
                "No system received the notification. 'remotesystems list' lists the reachable systems; each needs "
                    + "a host daemon ('remotesystems host run').",
                canRetry: true
            )
        }
        guard self.all else { return first }
        let isSame = result.failures.allSatisfy { $0.error == first.error }
        var failure = Failure(
            isSame ? first.error : "\(RemoteSystemError.Code.unreachable)",
            "No system accepted the notification. The reason of each system is listed above.",
            canRetry: result.failures.contains { $0.canRetry }
        )
        failure.side = result.failures.allSatisfy { $0.side == first.side } ? first.side : .remote
        return failure
    }
}

/// The output of `notify --json` for the answer.
struct NotifyAnswerOutput: Encodable {
    var event: String
    let time = Date.now
    var action: String?
    var text: String?
    var systemID: String?
    var system: String?
    /// With which a script may raise a window on this system.
    var activationToken: String?
    /// Why there is no answer: `timedOut`, `expired` or `notKept`.
    var reason: String?

    init(event: String, _ response: NotificationResponse? = nil, reason: String? = nil) {
        self.event = event
        self.reason = reason
        self.action = response?.actionIdentifier.rawValue
        self.text = response?.userText
        self.systemID = response?.systemID
        self.system = response?.systemName
        self.activationToken = response?.activationToken
    }
}
