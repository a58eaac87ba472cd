// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsTransport
internal import Synchronization

/// Every open connection of a host, noted the moment it opens so that a shutdown misses none, and no more than a host takes.
final class HostConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: Connection] = [:]
        /// Whether it was said that there is no room. Said again only after there was plenty.
        var isFullTold = false
    }

    private let state = Mutex(State())
    private let limit: Int
    private let logger: Logger

    init(limit: Int, logger: Logger) {
        self.limit = limit
        self.logger = logger
    }

    static let full = Refusal(
        .remoteSystemUnavailable,
        "This system has as many connections as it takes. Try again later.",
        canRetry: true
    )

    var all: [Connection] { self.state.withLock { Array($0.open.values) } }

    /// Whether another one may be let in. Says once in the log when not.
    func hasRoom() -> Bool {
        let (hasRoom, isNews) = self.state.withLock { state in
            let count = state.open.count
            if count < self.limit * 3 / 4 { state.isFullTold = false }
            guard count >= self.limit else { return (true, false) }
            defer { state.isFullTold = true }
            return (false, !state.isFullTold)
        }
        if isNews {
            self.logger.warning(
                "There is no room for another connection; callers are refused until one ends",
                metadata: ["limit": "\(self.limit)"]
            )
        }
        return hasRoom
    }

    /// Notes a connection until it ends; ends it at once if there is no room: several may have been admitted at the same time.
    func enter(_ connection: Connection) -> Bool {
        let id = ObjectIdentifier(connection)
        let isIn = self.state.withLock { state in
            guard state.open.count < self.limit else { return false }
            state.open[id] = connection
            return true
        }
        guard isIn else {
            connection.abort(.resourceLimitsExceeded)
            return false
        }
        connection.onClose { _ in self.state.withLock { $0.open[id] = nil } }
        return true
    }
}
