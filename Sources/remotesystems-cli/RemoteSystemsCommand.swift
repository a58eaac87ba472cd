// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems`: the SDK's command-line tool.
@main
struct RemoteSystemsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remotesystems",
        abstract: "Find the Linux machines of your account, call their services, and manage the account.",
        discussion: """
            Machines of one account find each other on the local network automatically. The account is created on \
            first use; 'remotesystems pair' on two machines adds one to the account of the other.

            Exit status: 0 success; 1 completed with a negative result (nothing found, messages lost, problems found, \
            invalid input); 2 failed (unreachable, no usable identity, missing permission); 64 invalid arguments; 78 \
            the configuration of 'remotesystems host' is invalid.

            With --json, every subcommand prints one JSON object per line; 'remotesystems topic json' lists the fields.
            """,
        version: "remotesystems \(SoftwareVersion.current) (protocol 1.0)",
        subcommands: [
            WatchCommand.self, ListCommand.self, InfoCommand.self, AppsCommand.self, CallCommand.self,
            LaunchCommand.self, NotifyCommand.self, NotificationsCommand.self, ActivitiesCommand.self,
            AppCommand.self, AssociationCommand.self, PingCommand.self, ServeCommand.self, HostCommand.self,
            ValuesCommand.self, AccountCommand.self,
            PairCommand.self, DoctorCommand.self, TopicCommand.self,
        ]
    )

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        if let mistake = SubcommandSpelling.mistake(in: words, of: Self.self) {
            Output.error(mistake)
            Self.exit(withError: ExitCode.validationFailure)
        }
        SignalMask.block(for: words)
        await Self.parseAndRun(NotificationTexts.joined(words))
    }

    /// Parses the arguments and runs the subcommand, as `main(_:)` of the parser does, which reports unknown options
    /// last.
    @concurrent private static func parseAndRun(_ words: [String]) async {
        let parsed: any ParsableCommand
        do {
            parsed = try await Self.asyncParseAsRoot(NotifyCommand.separatingWait(words))
        } catch {
            if !Self.exitCode(for: error).isSuccess, let mistake = OptionSpelling.mistake(in: words, of: Self.self) {
                Output.error(mistake)
                Self.exit(withError: ExitCode.validationFailure)
            }
            Self.exit(withError: error)
        }
        do {
            if var command = parsed as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = parsed
                try command.run()
            }
        } catch {
            Self.exit(withError: error)
        }
    }
}
