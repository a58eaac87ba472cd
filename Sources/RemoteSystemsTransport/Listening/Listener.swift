// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Logging
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
package import RemoteSystemsIdentity

/// Accepts connections on a port.
package final class Listener: Sendable {
    /// The number of connections in the handshake for which a listener keeps places, beside those of all peers: for
    /// peers from whose addresses a system of the account, or of a linked one, has connected before.
    package static let placesForKnownPeers = UnauthenticatedSlots.maxKnownConnections

    private let bound: BoundPort

    private init(_ bound: BoundPort) {
        self.bound = bound
    }

    /// The port that the listener is bound to.
    package var port: Int { self.bound.port }

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - host: the address to listen on; `nil` for all addresses within the network's reach, IPv6 and IPv4.
    ///   - port: the port; 0 for any free one.
    ///   - accepted: the standings of the callers whose hello is read; `admit` decides about each. Anonymous callers
    ///     are accepted from proximal addresses only.
    ///   - incidents: limits what is logged about peers. Defaults to a log of this listener's own.
    ///   - observer: receives the events on the listener's connections.
    ///   - admit: decides on each authenticated caller's hello.
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen``.
    package static func start(
        host: String?,
        port: Int,
        security: TransportSecurity,
        limits: ConnectionLimits,
        logger: Logger,
        network: TransportNetwork = .sockets,
        accepting accepted: Set<Standing.Kind> = [.sameAccount],
        incidents: IncidentLog? = nil,
        observer: ConnectionObserver? = nil,
        admit: @escaping Admit
    ) async throws(TransportError) -> Listener {
        try Self.check(port)
        let gate = AdmissionGate(time: network.time)
        let incidents = incidents ?? IncidentLog(logger)
        do {
            let bound = try await network.listen(host: host, port: port, logger: logger) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let peer = channel.transportPeer
                    let key = peer.key
                    let entry = gate.enter(key) { HandshakeHandler.replace(channel) }
                    guard case .enters(let place) = entry else {
                        let reason = entry == .isFull ? "Too many at the same time." : "Too many of them have failed."
                        incidents.report(.unauthenticatedLimit, by: peer, reason: reason)
                        throw TransportError(.localResources, "Too many unauthenticated connections.", side: .local)
                    }
                    let accepted = peer.standings(of: accepted)
                    let limited = gate.limiting(admit, from: key, own: security.systemID)
                    let now = network.time.deadline
                    // A connection without a byte has cost no handshake. If it counted as failed, a stranger behind
                    // the address of others could exclude them with few packets.
                    let hasSpoken = NIOLoopBoundBox(false, eventLoop: channel.eventLoop)
                    let handler = HandshakeHandler(
                        role: .host(
                            HostHandshake(),
                            { await limited($0, $1).watched(by: security, { gate.counting(key) }) },
                            AdmissionPlace(
                                leave: { gate.leave(place) },
                                fail: { if hasSpoken.value { gate.fail(key) } }
                            )
                        ),
                        security: security,
                        accepting: accepted,
                        deadline: HandshakeDeadline(now + limits.helloTimeout, now: now),
                        logger: logger,
                        incidents: incidents,
                        observer: observer?.connection()
                    )
                    do {
                        try channel.pipeline.syncOperations.addHandlers(
                            FirstByteHandler {
                                hasSpoken.value = true
                                gate.speak(place)
                            },
                            security.serverHandler(),
                            handler
                        )
                    } catch {
                        gate.leave(place)
                        throw error
                    }
                }
            }
            return Listener(bound)
        } catch {
            throw Self.cannotListen(host: host, port: port, error)
        }
    }

    /// Binds to `host`. `nil` binds to every address: IPv6 and IPv4, or IPv4 only on a machine without IPv6.
    static func bind<Bound>(to host: String?, _ bind: (String) async throws -> Bound) async throws -> Bound {
        if let host { return try await bind(host) }
        do {
            return try await bind("::")
        } catch {
            guard Self.meansNoIPv6(error) else { throw error }
            return try await bind("0.0.0.0")
        }
    }

    /// Whether the error shows that IPv6 is disabled. In that case the C library may fail to parse the address at all.
    private static func meansNoIPv6(_ error: any Error) -> Bool {
        switch error {
        case let error as IOError: error.errnoCode == EAFNOSUPPORT || error.errnoCode == EADDRNOTAVAIL
        case is SocketAddressError.UnknownHost: true
        default: false
        }
    }

    static func cannotListen(host: String?, port: Int, _ error: any Error) -> TransportError {
        if let error = error as? TransportError { return error }
        let place = "\(host.map { "\($0) " } ?? "")port \(port)"
        let advice =
            switch (error as? IOError)?.errnoCode {
            case EADDRINUSE: "another program uses it. Choose another port, or 0 for any free one."
            case EACCES, EPERM: "this user may not use it. Choose a port above 1023, or 0 for any free one."
            case EADDRNOTAVAIL: "this machine has no such address."
            case EMFILE, ENFILE: "too many files are open. Raise the limit (ulimit -n)."
            default: "\(error)"
            }
        return TransportError(.cannotListen, "Cannot listen on \(place): \(advice)", side: .local, cause: error)
    }

    /// The socket API would use the lower 16 bits of any number.
    private static func check(_ port: Int) throws(TransportError) {
        guard !(0...65_535).contains(port) else { return }
        let text = "There is no port \(port). Ports are 1 to 65535, 0 is any free one."
        throw TransportError(.cannotListen, text, side: .local)
    }

    /// Checks whether the port can be listened on now, for diagnosis.
    ///
    /// - Throws: ``TransportError`` with ``TransportError/Code/cannotListen``.
    package static func check(
        port: Int,
        network: TransportNetwork,
        logger: Logger
    ) async throws(TransportError) {
        try Self.check(port)
        do {
            let bound = try await network.listen(host: nil, port: port, logger: logger) {
                $0.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
            }
            await bound.close()
        } catch {
            throw Self.cannotListen(host: nil, port: port, error)
        }
    }

    /// Stops accepting connections. Open connections stay open.
    package func stop() async {
        await self.bound.close()
    }
}

extension Admission {
    /// Returns this admission, with monitoring of the peer's trust from the moment when the connection opens, and of
    /// its end: a peer that breaks or loses connections must not open others without a limit.
    fileprivate func watched(
        by security: TransportSecurity,
        _ closeListener: @escaping @Sendable () -> @Sendable (CloseStatus) -> Void
    ) -> Admission {
        switch self {
        case .accept(var accepted):
            accepted.opened = { [opened = accepted.opened] connection in
                security.watch(connection)
                connection.onClose(closeListener())
                opened(connection)
            }
            return .accept(accepted)
        case .acceptStream(var accepted):
            // Its end does not count. A service has offered the stream, and aborting it properly costs as much as
            // breaking it.
            accepted.opened = { [opened = accepted.opened] stream in
                security.watch(stream)
                opened(stream)
            }
            return .acceptStream(accepted)
        case .refuse:
            return self
        }
    }
}
