// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Every open connection of a host, noted the moment it opens so that a shutdown misses none, and no more than a host takes.
final class HostConnections: Sendable {
    private struct State {
        var open: [ObjectIdentifier: any AuthenticatedConnection] = [:]
        /// For good.
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

    /// Every open connection. Where there are none, none is let in from then on: what was admitted just before may open yet.
    func allOrShut() -> [any AuthenticatedConnection] {
        self.state.withLock { state in
            if state.open.isEmpty { state.isShut = true }
            return Array(state.open.values)
        }
    }

    /// Why no other connection of the system is let in; `nil` if it is. Says once in the log when not.
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
                    "There is no room for another connection; callers are refused until one ends",
                    metadata: ["limit": "\(limit)"]
                )
            }
            return Refusal(
                .remoteSystemUnavailable,
                code: .tooManyConnections,
                "This system has as many connections as it takes. Try again later.",
                canRetry: true
            )
        case .fullForSystem(let shouldReport):
            if shouldReport {
                self.logger.warning(
                    "A system has as many connections as one may have; it is refused until one of them ends",
                    metadata: ["system": "\(system.short)", "limit": "\(share)"]
                )
            }
            return Refusal(
                .remoteSystemUnavailable,
                code: .tooManyConnectionsOfSystem,
                "Your system has \(share) connections here, as many as one system may have. Close one, or try again later.",
                canRetry: true
            )
        }
    }

    /// Notes a connection, and returns `nil`; or notes nothing and returns how it is to be closed, if there is no room (several may
    /// have been admitted at the same time) or the host has ended.
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
    /// The same, ended the moment it opens unless it is let in then: several may have been admitted at the same time. It has
    /// left once all who wanted to hear of its end from the start have heard.
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
    /// The same for a stream.
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
    /// Several connections were accepted at the same time, and there is room for fewer.
    fileprivate static let tooManyConnections = TransportError(
        .localResources,
        "This system has as many connections as it takes. Try again later.",
        side: .remote,
        canRetry: true,
        failureCode: FailureCode.tooManyConnections.rawValue
    )
}
