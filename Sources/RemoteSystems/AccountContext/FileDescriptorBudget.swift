// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import RemoteSystemsDiscovery
internal import Synchronization

/// Whether this process may open the files that it needs.
enum FileDescriptorBudget {
    /// What the event loops take: each a poll, a timer and something to be woken by.
    private static let eventLoops = 3 * System.coreCount
    /// What else is open, or comes and goes, beside connections.
    private static let rest = 32

    private static let isKnown = Mutex(false)

    /// Looks once whether event loops can be made; they end the process when they cannot.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/localResources``.
    static func check() throws(RemoteSystemError) {
        let isEnough = Self.isKnown.withLock { isKnown in
            isKnown = isKnown || FileDescriptorLimit.hasCapacity(for: Self.eventLoops + 8)
            return isKnown
        }
        guard !isEnough else { return }
        throw RemoteSystemError(
            .localResources,
            "This process may open only \(FileDescriptorLimit.limit) files, and hardly any is left. Raise the limit (ulimit "
                + "-n, LimitNOFILE=).",
            side: .local
        )
    }

    /// How many connections a host may have, when so many are wanted: some files are left for those who have not said yet
    /// who they are, and for everything else.
    static func connections(wanted: Int, files: Int = FileDescriptorLimit.limit) -> Int {
        max(1, min(wanted, files - Self.rest - Self.eventLoops - min(files / 8, 256)))
    }
}
