// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Runs on the main thread throughout: the system ends children with the thread that started them.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measures RemoteSystems against its peers, in one go and interleaved.",
        subcommands: [Run.self, Serve.self, Call.self, Code.self, KeepAwake.self],
        defaultSubcommand: Run.self
    )
}
