// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A message from a service to its service manager (sd_notify(3)).
package enum ServiceMessage: Sendable, Hashable {
    case ready
    case stopping
    /// A reload begins. The time is in microseconds of CLOCK_MONOTONIC.
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
        // Line breaks are replaced: each line is a message of its own.
        case .status(let text): "STATUS=\(String(text.map { $0.isNewline ? " " : $0 }.prefix(256)))"
        }
    }
}
