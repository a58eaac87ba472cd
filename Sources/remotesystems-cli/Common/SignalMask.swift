// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The signals that no thread of this process takes by itself.
enum SignalMask {
    /// Leaves SIGTERM, SIGINT and SIGHUP to signal sources. Called on the main thread before there is another one.
    ///
    /// Dispatch reads signals from a descriptor (signalfd), and blocks them in its threads for that. A thread that has
    /// just been made blocks nothing yet; when it gets a signal, Dispatch raises it again for this thread alone, where
    /// no descriptor shows it, and the signal is lost. Threads inherit what the main thread blocks. Programs that are
    /// started get a mask of their own.
    static func blockTermination() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
