// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Measuring

extension Report.Machine {
    /// The current state of this machine.
    static func current() -> Self {
        let load = loadAverage()
        return Self(
            processor: processor ?? "unknown processor",
            cores: ProcessInfo.processInfo.activeProcessorCount,
            kernel: "Linux " + (text("/proc/sys/kernel/osrelease") ?? "of an unknown version"),
            loadBefore: load,
            loadAfter: load
        )
    }

    /// The one-minute load average. It includes the work of the run itself.
    static func loadAverage() -> Double {
        text("/proc/loadavg")?.split(separator: " ").first.flatMap { Double($0) } ?? .nan
    }

    private static var processor: String? {
        text("/proc/cpuinfo")?.split(separator: "\n").first { $0.hasPrefix("model name") }
            .flatMap { $0.split(separator: ":").last }
            .map { String($0.drop { $0 == " " }) }
    }

    private static func text(_ path: String) -> String? {
        try? String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").joined(separator: "\n")
    }
}
