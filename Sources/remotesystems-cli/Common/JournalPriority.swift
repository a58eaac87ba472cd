// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Logging

/// The priority of a line in systemd's journal. Raw values are those of syslog(3).
enum JournalPriority: Int {
    case critical = 2
    case error
    case warning
    case notice
    case info
    case debug

    init(_ level: Logger.Level) {
        self =
            switch level {
            case .critical: .critical
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug, .trace: .debug
            }
    }

    /// What the journal reads as the priority of a line (sd-daemon(3)). Empty if standard error is not the journal.
    var prefix: String { Self.isStandardError ? "<\(self.rawValue)>" : "" }

    /// Whether standard error is connected to the journal: `JOURNAL_STREAM` names the device and the inode of the
    /// journal's stream (systemd.exec(5)). A program that redirects its errors also inherits the variable.
    private static let isStandardError: Bool = {
        var status = stat()
        guard let stream = ProcessInfo.processInfo.environment["JOURNAL_STREAM"],
            unsafe fstat(STDERR_FILENO, &status) == 0
        else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }()
}
