// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CBenchSupport
import FoundationEssentials

/// Keeps the cores from sleeping, at the lowest priority there is, until the driver goes.
struct KeepAwake: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keeps the cores awake; started by a run.",
        shouldDisplay: false
    )

    func run() throws {
        for core in 0..<ProcessInfo.processInfo.activeProcessorCount {
            // A core that this process may not use is left as it is.
            _ = bench_keep_awake(Int32(core))
        }
        while readLine() != nil {}
    }
}
