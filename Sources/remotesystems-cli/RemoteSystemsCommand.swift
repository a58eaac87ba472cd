// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// `remotesystems`: the command line of the SDK.
@main
struct RemoteSystemsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remotesystems",
        abstract: "Your Linux machines as one system: find them, talk to them, let them into your account.",
        discussion: """
            Machines of one account find each other on the local network by themselves. An account is made silently on \
            first use; 'remotesystems account invite' lets another machine in.

            Exit status: 0 done; 1 done, and the answer is no (nothing found, messages lost, problems found, input not \
            valid); 2 could not be done (not reachable, no usable identity, no right to); 64 the arguments make no \
            sense; 78 the configuration of 'remotesystems host' is not understood.

            With --json every subcommand prints one JSON object a line; 'remotesystems topic json' lists the fields.
            """,
        version: "remotesystems \(SoftwareVersion.current) (protocol 1.0)",
        subcommands: [
            WatchCommand.self, ListCommand.self, InfoCommand.self, AppsCommand.self, CallCommand.self,
            LaunchCommand.self,
            PingCommand.self, ServeCommand.self, HostCommand.self, ValuesCommand.self, AccountCommand.self,
            DoctorCommand.self, TopicCommand.self,
        ]
    )

    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        if let mistake = SubcommandSpelling.mistake(in: words, of: Self.self) {
            Self.exit(withError: ValidationError(mistake))
        }
        // Both trap signals as soon as they have read their arguments.
        if words.first == "serve" || words.starts(with: ["host", "run"]) { SignalMask.blockTermination() }
        await Self.main(words)
    }
}
