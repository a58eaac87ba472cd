// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems ping`.
struct PingCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Ping a system of the account: measure the round-trip time of messages.",
        usage: "remotesystems ping [<system>] [<options>]",
        discussion: """
            Finds the system, opens a mutually authenticated TLS 1.3 connection to its ping service, and prints a line \
            for each message, then a summary: the round-trip times and the number of messages sent, answered and lost. \
            Ctrl-C ends the command early and prints the summary. On the other machine, 'remotesystems serve' offers \
            the ping service.

            Exit status: 0 if every message was answered; 1 if one was lost; 2 if the service was not found or could \
            not be reached.
            """
    )

    @Argument(
        help: "The system: \(SystemFinder.help). Defaults to the first system that is found.",
        completion: NetworkCompletion.systems
    )
    var system: String?

    @Option(
        name: .shortAndLong,
        parsing: .unconditional,
        help: ArgumentHelp("The number of messages. Range: 1 to 1000000.", valueName: "number")
    )
    var count = 10

    @Option(
        name: .shortAndLong,
        parsing: .unconditional,
        help: ArgumentHelp("The payload of each message, in bytes. Range: 0 to 16000000.", valueName: "bytes")
    )
    var size = 56

    @Option(
        name: .shortAndLong,
        parsing: .unconditional,
        help: ArgumentHelp("The time between messages, such as 500ms. Range: 0 to 3600 seconds.", valueName: "time")
    )
    var interval = EnteredTime(seconds: 0.2)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The timeout for the connection, including the start of an application (defaults to 15), and for each "
                + "response (defaults to 5). Finding the system has its own timeouts: --wait, and 5 seconds for an "
                + "address.",
            valueName: "time"
        )
    )
    var timeout: EnteredTime?

    @Option(
        help: ArgumentHelp("The app service to ping.", valueName: "name"),
        completion: NetworkCompletion.services
    )
    var service = AppService.pingName

    @OptionGroup var nearby: NearbyOptions
    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...1_000_000).contains(self.count) else {
            throw ValidationError("--count takes 1 to 1000000, not \(self.count).")
        }
        guard (0...16_000_000).contains(self.size) else {
            throw ValidationError("--size takes 0 to 16000000 bytes, not \(self.size).")
        }
        guard (0...3600).contains(self.interval.seconds) else {
            throw ValidationError("--interval takes 0 to 3600 seconds, not \(self.interval).")
        }
        guard self.service.isName else {
            throw ValidationError("--service takes \(String.nameForm).")
        }
        guard (0.001...86_400).contains(self.timeout?.seconds ?? 1) else {
            throw ValidationError("--timeout takes 0.001 to 86400 seconds.")
        }
        try self.search.validate(system: self.system)
        try self.names.validate(system: self.system)
    }

    func perform(_ output: Output) async throws -> Bool {
        let finder = SystemFinder(
            self.system,
            wait: self.search.wait,
            self.search.configuration(for: "ping", self.common),
            anyoneNearby: self.nearby.anyoneNearby,
            acceptsName: self.names.acceptsName
        )
        let system = try await interruptible { try await finder.find(offering: self.service) }
        let run = PingRun(
            system: system,
            service: self.service,
            count: self.count,
            size: self.size,
            interval: self.interval.duration,
            timeout: self.timeout?.duration,
            output: output
        )
        let statistics = try await run.run()
        try output.json(PingSummaryOutput(statistics))
        try output.line(statistics.summary)
        return statistics.sent > 0 && statistics.lost == 0
    }
}
