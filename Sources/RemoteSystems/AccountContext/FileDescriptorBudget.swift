// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOPosix
internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport
internal import Synchronization

/// The file-descriptor budget: how many connections the process may open.
enum FileDescriptorBudget {
    /// The file descriptors of the event loops: an epoll, a timer and an event descriptor each.
    private static let eventLoops = 3 * System.coreCount
    /// The file descriptors reserved for everything else but connections, such as the session bus: a sixteenth of all,
    /// within these bounds.
    private static let rest = 32...256

    private static let isKnown = Mutex(false)

    /// Checks once whether event loops can be created. NIO ends the process when it cannot create one.
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
            "This process may open only \(FileDescriptorLimit.limit) files, and almost none are left. Raise the limit "
                + "(ulimit -n, LimitNOFILE=).",
            side: .local
        )
    }

    /// Returns how many connections a host may have when it wants this many. Some file descriptors are reserved for
    /// connections in the handshake and for everything else.
    static func connections(wanted: Int, files: Int = FileDescriptorLimit.limit) -> Int {
        let known = files >= 1_024 ? Listener.placesForKnownPeers : 0
        let rest = min(max(files / 16, Self.rest.lowerBound), Self.rest.upperBound)
        return max(1, min(wanted, files - rest - Self.eventLoops - min(files / 8, 256) - known))
    }
}
