// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// The open connections of a host, up to its limits. A connection is recorded the moment it opens, so that a shutdown
/// closes all of them.
final class HostConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any AuthenticatedConnection] = [:]
        /// Whether no further connection is accepted. Never reset.
        var isShut = false
        var quota: ConnectionQuota
    }

    private let state: Mutex<State>
    private let logger: Logger

    init(_ quota: ConnectionQuota, logger: Logger) {
        self.state = Mutex(State(quota: quota))
        self.logger = logger
    }

    var all: [any AuthenticatedConnection] { self.state.withLock { Array($0.open.values) } }

    /// Returns every open connection. If there are none, shuts the host: no connection is accepted from then on, not
    /// even one that was admitted just before.
    func allOrShut() -> [any AuthenticatedConnection] {
        self.state.withLock { state in
            if state.open.isEmpty { state.isShut = true }
            return Array(state.open.values)
        }
    }

    /// The refusal of another connection of the system; `nil` if the connection is accepted. Logs a warning once when a
    /// limit is reached.
    func refusal(to system: SystemID, isOwn: Bool) -> Refusal? {
        let (response, limit, share) = self.state.withLock { state in
            (state.quota.admission(for: system, isOwn: isOwn), state.quota.limit, state.quota.share)
        }
        switch response {
        case .free:
            return nil
        case .full(let shouldReport):
            if shouldReport {
                self.logger.warning(
                    "The maximum number of connections is reached; callers are refused until one closes",
                    metadata: ["limit": "\(limit)"]
                )
            }
            return Refusal(
                .remoteSystemUnavailable,
                code: .tooManyConnections,
                "This system has the maximum number of connections. Try again later.",
                canRetry: true
            )
        case .fullForSystem(let shouldReport):
            if shouldReport {
                self.logger.warning(
                    "A system has the maximum number of connections per system; it is refused until one of them closes",
                    metadata: ["system": "\(system.short)", "limit": "\(share)"]
                )
            }
            return Refusal(
                .remoteSystemUnavailable,
                code: .tooManyConnectionsOfSystem,
                "Your system has \(share) connections here, the maximum for one system. Close one, or try again later.",
                canRetry: true
            )
        }
    }

    /// Records a connection.
    ///
    /// The limits are checked again here, because several connections may have been admitted at the same time.
    ///
    /// - Returns: `nil` when the connection was recorded; else the status with which to close it, because a limit is
    ///   reached or the host has ended.
    func enter(_ connection: any AuthenticatedConnection, isOwn: Bool) -> CloseStatus? {
        self.state.withLock { state in
            guard !state.isShut else { return .cancelled }
            guard state.quota.enter(connection.peer.systemID, isOwn: isOwn) else { return .resourceLimitsExceeded }
            state.open[ObjectIdentifier(connection)] = connection
            return nil
        }
    }

    func leave(_ id: ObjectIdentifier) {
        self.state.withLock { state in
            guard let connection = state.open.removeValue(forKey: id) else { return }
            state.quota.leave(connection.peer.systemID)
        }
    }
}

extension EstablishedConnection {
    /// Returns this connection with a further check: it is aborted when it opens, unless `enter` accepts it. Several
    /// connections may have been admitted at the same time, so the limit is checked again. `leave` is called after the
    /// close callbacks that were registered in `opened`.
    func entering(
        _ enter: @escaping @Sendable (Connection) -> CloseStatus?,
        leaving leave: @escaping @Sendable (ObjectIdentifier) -> Void
    ) -> EstablishedConnection {
        var accepted = self
        accepted.opened = { [opened = self.opened] connection in
            if let status = enter(connection) {
                return connection.abort(status, reason: status == .resourceLimitsExceeded ? .tooManyConnections : nil)
            }
            opened(connection)
            let id = ObjectIdentifier(connection)
            connection.onClose { _ in leave(id) }
        }
        return accepted
    }
}

extension EstablishedStream {
    /// Returns this stream with the further check that ``EstablishedConnection/entering(_:leaving:)`` describes.
    func entering(
        _ enter: @escaping @Sendable (any AuthenticatedConnection) -> CloseStatus?,
        leaving leave: @escaping @Sendable (ObjectIdentifier) -> Void
    ) -> EstablishedStream {
        var accepted = self
        accepted.opened = { [opened = self.opened] stream in
            if let status = enter(stream) {
                return stream.abort(status, reason: status == .resourceLimitsExceeded ? .tooManyConnections : nil)
            }
            opened(stream)
            let id = ObjectIdentifier(stream)
            stream.onClose { _ in leave(id) }
        }
        return accepted
    }
}

extension TransportError {
    /// The error of a connection that opens although the limit is reached: several connections were admitted at the
    /// same time.
    fileprivate static let tooManyConnections = TransportError(
        .localResources,
        "This system has the maximum number of connections. Try again later.",
        side: .remote,
        canRetry: true,
        failureCode: FailureCode.tooManyConnections.rawValue
    )
}
