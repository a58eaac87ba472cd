// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What an extension may use.
struct ExtensionLimits {
    /// The time after which it is ended, also if this process has died.
    var time: Duration
    /// The processor time of each of its processes.
    var processorTime: Duration

    static let service = ExtensionLimits(time: .seconds(40), processorTime: .seconds(30))
    /// The view of a notification is open for as long as the user looks at it.
    static let card = ExtensionLimits(time: .seconds(3600), processorTime: .seconds(300))

    /// The memory of all its processes, in bytes, where a service manager runs.
    private static let maxMemory = 256 << 20
    private static let maxTasks = 64
    /// The memory that each of its processes may allocate, in bytes.
    private static let maxData = 512 << 20
    /// The largest attachment, and some more.
    private static let maxFileBytes = 64 << 20
    /// The size of all its files together, in bytes.
    static let maxDirectoryBytes: Int64 = 256 << 20

    private static let systemdRun = "/usr/bin/systemd-run"

    /// Whether the user's service manager can put the extension into a scope of its own.
    static func hasServiceManager(_ environment: [String: String]) -> Bool {
        guard let directory = environment["XDG_RUNTIME_DIR"] else { return false }
        return unsafe access(Self.systemdRun, X_OK) == 0 && access("\(directory)/systemd/private", F_OK) == 0
    }

    /// The command that runs a program within the limits.
    ///
    /// - Parameter scope: the name of the scope; `nil` without a service manager.
    func command(_ program: [String], scope: String?) -> [String] {
        let (maxSeconds, processorSeconds) = (self.time.components.seconds, self.processorTime.components.seconds)
        let limits = [
            "prlimit", "--data=\(Self.maxData)", "--cpu=\(processorSeconds)", "--fsize=\(Self.maxFileBytes)",
            "--core=0", "--",
        ]
        guard let scope else {
            // It may outlive this process.
            return ["timeout", "--kill-after=1", "\(maxSeconds)"] + limits + program
        }
        let properties = [
            "MemoryMax=\(Self.maxMemory)", "MemorySwapMax=0", "TasksMax=\(Self.maxTasks)",
            "RuntimeMaxSec=\(maxSeconds)", "TimeoutStopSec=1",
        ]
        return [Self.systemdRun, "--user", "--scope", "--quiet", "--collect", "--unit=\(scope)"]
            + properties.map { "--property=\($0)" } + ["--"] + limits + program
    }

    /// The command that ends everything in a scope at once. Processes that have left the group are still in it.
    static func killCommand(_ scope: String) -> [String] {
        ["systemctl", "--user", "--quiet", "--signal=KILL", "kill", scope]
    }
}
