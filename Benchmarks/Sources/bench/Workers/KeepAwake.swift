// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import CBenchSupport
import FoundationEssentials

/// Keeps the cores awake at the lowest priority until the driver ends.
struct KeepAwake: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Keep the cores awake. Started by the driver.",
        shouldDisplay: false
    )

    func run() throws {
        for core in 0..<ProcessInfo.processInfo.activeProcessorCount {
            // Errors are ignored: a core that this process may not use stays as it is.
            _ = bench_keep_awake(Int32(core))
        }
        while readLine() != nil {}
    }
}
