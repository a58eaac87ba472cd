// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Blocks signals that this process handles through signal sources.
enum SignalMask {
    /// Blocks the signals of a subcommand. Must be called on the main thread before another thread exists.
    ///
    /// Dispatch reads signals from a file descriptor (signalfd) and blocks them in its own threads. A new thread blocks
    /// nothing yet. If it receives a signal, Dispatch raises the signal again for this thread only, where signalfd does
    /// not see it, and the signal is lost. Threads inherit the main thread's mask. Started programs get their own mask.
    ///
    /// - Parameter words: The arguments of the command line.
    static func block(for words: [String]) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in Self.signals(for: words) { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// The signals that a subcommand traps as soon as it has parsed its arguments, and until it ends.
    private static func signals(for words: [String]) -> [CInt] {
        let second = words.dropFirst().first
        // Without the name of a subcommand, 'host' is 'host run'.
        let isDaemon = words.first == "host" && (second.map { $0 == "run" || $0.hasPrefix("-") } ?? true)
        // Only the daemon reads SIGHUP. It ends the others with their terminal, unless they inherit that it is ignored,
        // as under nohup(1).
        if isDaemon { return [SIGTERM, SIGINT, SIGHUP] }
        let traps =
            ["serve", "doctor"].contains(words.first)
            || words.first == "account" && ["revoke", "unlink"].contains(second)
        return traps ? [SIGTERM, SIGINT] : []
    }
}
