// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Keeps a signal that ends the process from leaving a terminal that does not show what is typed.
enum SilentTerminal {
    private static let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM]

    /// The terminal and its former settings.
    ///
    /// A signal handler cannot wait for a lock. While it is installed, only the handler accesses them.
    private nonisolated(unsafe) static var former = (terminal: Int32(-1), settings: termios())

    /// Runs `body`. A signal that ends the process meanwhile first restores the settings of the terminal.
    static func restoring<Result>(
        _ settings: termios,
        of terminal: Int32,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe Self.former = (terminal, settings)
        let actions = Self.signals.map { number in
            let action = signal(number) { number in
                // Calls only functions that are safe in a signal handler, see signal-safety(7). SIGTTOU would stop a
                // process in the background that sets the terminal.
                signal(SIGTTOU, SIG_IGN)
                unsafe tcsetattr(SilentTerminal.former.terminal, TCSANOW, &SilentTerminal.former.settings)
                // The process ends by the signal when this handler returns.
                signal(number, SIG_DFL)
                raise(number)
            }
            // One that the process ignores does not end it, such as SIGHUP under nohup(1).
            if unsafe unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                signal(number, SIG_IGN)
            }
            return action
        }
        defer { for (number, action) in zip(Self.signals, actions) { signal(number, action) } }
        return try body()
    }
}
