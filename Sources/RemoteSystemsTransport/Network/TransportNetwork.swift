// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import Logging

/// The network of a process: its transports by kind, and the time source of their connections.
///
/// By default sockets and the machine's clock; a test may replace both. A target with a transport of its own registers
/// it here.
package struct TransportNetwork: Sendable {
    package let time: TimeSource
    /// The executor of tasks that belong to the network's connections; `nil` for the default executor.
    package let taskExecutor: (any TaskExecutor)?
    /// The transports, at most one of each kind. Endpoints that a user types use the first.
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

    /// Whether sockets are the only transport.
    package var isOfSockets: Bool { self.transports.count == 1 && self.transports.first is SocketTransport }

    /// Adds a transport. Replaces a transport of the same kind.
    package mutating func register(_ transport: any Transport) {
        if let index = self.transports.firstIndex(where: { $0.kind == transport.kind }) {
            self.transports[index] = transport
        } else {
            self.transports.append(transport)
        }
    }

    /// Returns this network, restricted to a part of the machine's network.
    package func limited(to reach: NetworkReach) -> TransportNetwork {
        TransportNetwork(
            self.transports.compactMap { $0.limited(to: reach) },
            time: self.time,
            taskExecutor: self.taskExecutor
        )
    }

    // MARK: Endpoints

    /// The endpoint for a host and a port as a user types them.
    package func endpoint(host: String, port: Int) -> Endpoint {
        Endpoint(transport: self.transports.first?.kind ?? .ip, host: host, port: port)
    }

    /// Whether only machines nearby can have the endpoint's address. `false` if the address alone does not show it.
    package func isProximal(_ endpoint: Endpoint) -> Bool {
        self.transport(endpoint.transport)?.isProximal(endpoint) ?? false
    }

    /// Returns the endpoint with the same port on this machine's loopback interface; `nil` if the endpoint's transport
    /// has none.
    package func loopback(_ endpoint: Endpoint) -> Endpoint? {
        guard let host = self.transport(endpoint.transport)?.loopbackHost else { return nil }
        var local = endpoint
        local.host = host
        return local
    }

    private func transport(_ kind: TransportKind) -> (any Transport)? {
        self.transports.first { $0.kind == kind }
    }

    /// Returns the transport for an endpoint.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/unreachable`` if this network has none of that kind.
    package func transport(for endpoint: Endpoint) throws(TransportError) -> any Transport {
        if let transport = self.transport(endpoint.transport) { return transport }
        throw TransportError.noTransport([endpoint.transport])
    }

    /// Returns the endpoints for which this network has a transport.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/unreachable`` if there are endpoints, but a transport
    ///   for none.
    func connectable(_ endpoints: [Endpoint]) throws(TransportError) -> [Endpoint] {
        let connectable = endpoints.filter { self.transport($0.transport) != nil }
        guard connectable.isEmpty, !endpoints.isEmpty else { return connectable }
        throw TransportError.noTransport(endpoints.map(\.transport))
    }

    // MARK: Listening

    /// Accepts connections on every transport, at one port, because a redirect names a port and no transport.
    ///
    /// - Parameters:
    ///   - host: the address to listen on, for the first transport; `nil` for all within the network's reach.
    ///   - port: the port; 0 for any that is free on the first transport.
    ///   - logger: logs when the machine lacks resources for further connections.
    /// - Throws: the error of the first transport that fails; then none of them listens.
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
            "The other system can be reached only by \(names), which this program does not support. Update this "
                + "program, or connect both machines to one network.",
            side: .local
        )
    }
}
