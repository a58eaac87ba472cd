// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsDiscovery
package import RemoteSystemsIdentity

/// What the host daemon knows about the publishers of its machine's applications. The daemon's
/// ``InstalledApplications`` may conform.
package protocol PublisherVouching: Sendable {
    /// Compares a process with the manifest of the application that it claims to be.
    func publisher(of application: String, process: ProgramProcess) async -> ApplicationPublisher

    /// Whether a manifest of this machine is signed. Where none is, unsigned applications may hand over unless the user
    /// forbids it.
    var hasSignedManifests: Bool { get }
}

/// A process of this machine, as it was when it connected. A process id alone may be given to another process later.
package struct ProgramProcess: Sendable, Hashable {
    package let pid: Int32
    /// The time of the process's start in clock ticks after the machine's (proc_pid_stat(5), field 22); `nil` if it is
    /// unknown.
    package let started: UInt64?

    /// Reads the start of a process that runs now.
    ///
    /// - Parameter root: the directory of processes. Another one in tests only.
    package init(pid: Int32, root: String = "/proc") {
        self.pid = pid
        self.started = Self.start(of: pid, root: root)
    }

    /// Whether the same process still runs.
    package func isRunning(root: String = "/proc") -> Bool {
        self.started != nil && Self.start(of: self.pid, root: root) == self.started
    }

    private static func start(of pid: Int32, root: String) -> UInt64? {
        guard let text = SystemFile.text(of: "\(root)/\(pid)/stat"),
            // The second field is the program's name in parentheses, which may contain spaces and parentheses.
            let end = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[text.index(after: end)...].split(separator: " ")
        return fields.count > 19 ? UInt64(fields[19]) : nil
    }
}

/// What the host daemon states to a program about the program itself.
package struct OwnVoucher: Sendable {
    /// The statement for the other system.
    package var bytes: [UInt8]
    package var publisher: ApplicationPublisher
    /// Whether a manifest of this machine is signed.
    package var hasSignedManifests: Bool

    package init(bytes: [UInt8], publisher: ApplicationPublisher, hasSignedManifests: Bool) {
        self.bytes = bytes
        self.publisher = publisher
        self.hasSignedManifests = hasSignedManifests
    }
}
