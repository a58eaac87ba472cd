// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Blocks signals that this process handles through signal sources.
enum SignalMask {
    /// Blocks SIGTERM, SIGINT and SIGHUP. Must be called on the main thread before another thread exists.
    ///
    /// Dispatch reads signals from a file descriptor (signalfd) and blocks them in its own threads. A new thread blocks
    /// nothing yet. If it receives a signal, Dispatch raises the signal again for this thread only, where signalfd does
    /// not see it, and the signal is lost. Threads inherit the main thread's mask. Started programs get their own mask.
    static func blockTermination() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
