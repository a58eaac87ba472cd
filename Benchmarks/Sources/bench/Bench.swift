// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command. It runs on the main thread, because the kernel kills children with the thread that started them.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Compares RemoteSystems with similar technologies in one interleaved run.",
        subcommands: [
            Run.self, Serve.self, Call.self, Code.self, Pack.self, HandOff.self, Attack.self, KeepAwake.self,
        ],
        defaultSubcommand: Run.self
    )
}
