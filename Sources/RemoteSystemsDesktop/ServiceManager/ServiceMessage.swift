// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a service tells its service manager (sd_notify(3)).
package enum ServiceMessage: Sendable, Hashable {
    case ready
    case stopping
    /// Since when, in microseconds of CLOCK_MONOTONIC.
    case reloading(monotonic: UInt64)
    case watchdog
    case status(String)

    /// The lines of the datagram.
    package var lines: String {
        switch self {
        case .ready: "READY=1"
        case .stopping: "STOPPING=1"
        case .reloading(let monotonic): "RELOADING=1\nMONOTONIC_USEC=\(monotonic)"
        case .watchdog: "WATCHDOG=1"
        // A line each: nothing in it may become another message.
        case .status(let text): "STATUS=\(String(text.map { $0.isNewline ? " " : $0 }.prefix(256)))"
        }
    }
}
