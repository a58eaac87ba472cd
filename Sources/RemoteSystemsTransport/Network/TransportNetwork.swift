// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging

/// The network of a process: its transports by kind, and the time that their connections go by.
///
/// Sockets and the machine's clock, unless a test puts others in their place. A target that has a transport of its own
/// registers it here.
package struct TransportNetwork: Sendable {
    package let time: TimeSource
    /// Where tasks run that belong to the network's connections; `nil` for where all tasks do.
    package let taskExecutor: (any TaskExecutor)?
    /// One of each kind. What people type leads by the first.
    private var transports: [any Transport]

    package init(
        _ transports: [any Transport],
        time: TimeSource = .system,
        taskExecutor: (any TaskExecutor)? = nil
    ) {
        self.time = time
        self.taskExecutor = taskExecutor
        self.transports = []
        for transport in transports { self.register(transport) }
    }

    /// The machine's own network: TCP.
    package static var sockets: TransportNetwork { TransportNetwork([SocketTransport()]) }

    /// Whether sockets are all there is.
    package var isOfSockets: Bool { self.transports.count == 1 && self.transports.first is SocketTransport }

    /// Adds a transport, in the place of one of the same kind.
    package mutating func register(_ transport: any Transport) {
        if let index = self.transports.firstIndex(where: { $0.kind == transport.kind }) {
            self.transports[index] = transport
        } else {
            self.transports.append(transport)
        }
    }

    /// The same network, of which no more is used than that.
    package func limited(to reach: NetworkReach) -> TransportNetwork {
        TransportNetwork(
            self.transports.compactMap { $0.limited(to: reach) },
            time: self.time,
            taskExecutor: self.taskExecutor
        )
    }

    // MARK: Endpoints

    /// The endpoint that is meant by a host and a port as people type them.
    package func endpoint(host: String, port: Int) -> Endpoint {
        Endpoint(transport: self.transports.first?.kind ?? .ip, host: host, port: port)
    }

    /// Whether only neighbours have the endpoint's address. False where that is not known from the address alone.
    package func isProximal(_ endpoint: Endpoint) -> Bool {
        self.transport(endpoint.transport)?.isProximal(endpoint) ?? false
    }

    private func transport(_ kind: TransportKind) -> (any Transport)? {
        self.transports.first { $0.kind == kind }
    }

    /// The transport that leads to an endpoint.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/unreachable`` when this network has none of that kind.
    package func transport(for endpoint: Endpoint) throws(TransportError) -> any Transport {
        if let transport = self.transport(endpoint.transport) { return transport }
        throw TransportError.noTransport([endpoint.transport])
    }

    /// The endpoints to which a transport of this network leads.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/unreachable`` when there are endpoints and none is left.
    func connectable(_ endpoints: [Endpoint]) throws(TransportError) -> [Endpoint] {
        let connectable = endpoints.filter { self.transport($0.transport) != nil }
        guard connectable.isEmpty, !endpoints.isEmpty else { return connectable }
        throw TransportError.noTransport(endpoints.map(\.transport))
    }

    // MARK: Listening

    /// Takes connections by every transport, at one port: a redirect names a port and no transport.
    ///
    /// - Parameters:
    ///   - host: the address to listen on, for the first transport; `nil` for all within the network's reach.
    ///   - port: 0 lets the first transport choose.
    ///   - logger: is told when the machine has no room for further connections.
    /// - Throws: what any of the transports throws; then none of them listens.
    package func listen(
        host: String?,
        port: Int,
        logger: Logger,
        initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        guard let first = self.transports.first else {
            throw TransportError(.cannotListen, "This program has no transport to listen on.", side: .local)
        }
        let bound = try await first.listen(host: host, port: port, logger: logger, initializer: initializer)
        let others = self.transports.dropFirst()
        guard !others.isEmpty else { return bound }
        return try await Self.listen(others, beside: bound, logger: logger, initializer)
    }

    private static func listen(
        _ transports: ArraySlice<any Transport>,
        beside first: BoundPort,
        logger: Logger,
        _ initializer: @escaping ChannelInitializer
    ) async throws -> BoundPort {
        var bound = [first]
        for transport in transports {
            do {
                let port = first.port
                bound.append(
                    try await transport.listen(host: nil, port: port, logger: logger, initializer: initializer)
                )
            } catch {
                for bound in bound { await bound.close() }
                throw error
            }
        }
        return BoundPort(port: first.port) { [bound] in
            for bound in bound { await bound.close() }
        }
    }
}

extension TransportError {
    fileprivate static func noTransport(_ kinds: [TransportKind]) -> TransportError {
        let names = Set(kinds).map { "'\($0)'" }.sorted().joined(separator: " or ")
        return TransportError(
            .unreachable,
            "The other system can be reached only by \(names), which this program does not support. Update this program, "
                + "or bring both machines to one network.",
            side: .local
        )
    }
}
