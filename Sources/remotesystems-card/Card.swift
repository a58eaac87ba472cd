// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import CRemoteSystemsGTK
import Glibc

/// The program that shows the custom view of one notification. The host daemon starts it, sends it lines of JSON, and
/// reads what the user does (`CardWindowCommand`, `CardWindowEvent`).
@main
enum Card {
    /// As in `sysexits.h`.
    private static let (usageStatus, unavailableStatus): (CInt, CInt) = (64, 69)

    @MainActor
    static func main() {
        guard CommandLine.argc == 1, isatty(STDIN_FILENO) == 0 else {
            Self.end(
                Self.usageStatus,
                "This program shows the view of a notification. The host daemon of a system starts it when the user "
                    + "opens a notification (Docs/notifications.md)."
            )
        }
        signal(SIGPIPE, SIG_IGN)
        // A view has little to draw. The graphics driver would cost 50 MB, and may have faults.
        unsafe setenv("GSK_RENDERER", "cairo", 0)
        if let problem = unsafe rs_gtk_open() {
            Self.end(Self.unavailableStatus, unsafe String(cString: problem))
        }
        let window = CardWindow()
        CommandLines.read {
            window.receive($0)
        } ended: {
            exit(0)
        }
        rs_gtk_run()
        exit(0)
    }

    /// Writes a line to standard error.
    static func log(_ text: String) { _ = Self.write(text, to: STDERR_FILENO) }

    /// Writes a line for the host daemon. Without one, nothing is shown any longer.
    static func report(_ line: String) {
        if !Self.write(line, to: STDOUT_FILENO) { exit(0) }
    }

    static func end(_ status: CInt, _ text: String) -> Never {
        Self.log(text)
        exit(status)
    }

    private static func write(_ line: String, to descriptor: CInt) -> Bool {
        var rest = Array("\(line)\n".utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
