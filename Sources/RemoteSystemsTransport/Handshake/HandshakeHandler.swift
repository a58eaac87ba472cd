// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
internal import NIOCore
internal import NIOSSL
internal import NIOTLS
package import RemoteSystemsIdentity

/// A host's decision about a hello.
///
/// Indirect, because several `async` functions pass it on, and each would hold the whole connection's parameters.
package indirect enum Admission: Sendable {
    case accept(EstablishedConnection)
    case acceptStream(EstablishedStream)
    case refuse(Refusal)
}

/// The parameters of an accepted connection.
package struct EstablishedConnection: Sendable {
    package var acceptance: Acceptance
    package var limits: ConnectionLimits
    package var handler: RequestHandler
    /// The memory for unfinished frames, requests and responses, which all connections of a host share. Defaults to
    /// `nil`: only the limits of a single connection apply.
    package var memoryBudget: MemoryBudget?
    /// Called once, when the connection opens.
    package var opened: @Sendable (Connection) -> Void

    package init(
        acceptance: Acceptance,
        limits: ConnectionLimits,
        handler: RequestHandler,
        opened: @escaping @Sendable (Connection) -> Void
    ) {
        self.acceptance = acceptance
        self.limits = limits
        self.handler = handler
        self.opened = opened
    }

    package init(
        acceptance: Acceptance,
        limits: ConnectionLimits,
        handler: @escaping RequestHandler.Handle,
        opened: @escaping @Sendable (Connection) -> Void
    ) {
        self.init(acceptance: acceptance, limits: limits, handler: RequestHandler(handler), opened: opened)
    }
}

package typealias Admit = @Sendable (Hello, PeerIdentity) async -> Admission

/// Brings a channel from TLS to an open connection, for either side, and is then replaced by ``WireHandler`` or
/// ``StreamHandler``.
///
/// Peers are authenticated here only: after every TLS handshake, including a resumed one, and before any of the peer's
/// bytes are read. (TLS's own verification callback does not run on resumption.) A caller also verifies the host before
/// it shows its own certificate, see ``clientHandler(on:)``.
final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The side of the handshake, with its state.
    enum Role {
        case caller(CallerHandshake, EstablishedChannel, fail: (any Error) -> Void)
        case host(HostHandshake, Admit, AdmissionPlace)
    }

    var role: Role
    let security: TransportSecurity
    let accepted: Set<Standing.Kind>
    /// The reason why the host's certificates were refused, if they were.
    var objection: TransportError?
    /// The certificate that this system shows the host, in DER; `nil` on the host's side.
    var ownCertificate: [UInt8]?
    private var deadline: HandshakeDeadline
    private let responseTimeout: TimeAmount
    let logger: Logger
    let incidents: IncidentLog
    let observer: ConnectionObserver.One?
    var decoder = FrameDecoder(limit: ConnectionLimits.helloBytes)
    private var timeout: Scheduled<Void>?
    var isDone = false
    private var hasLeft = false
    /// The peer of a host's connection, which is unknown once the channel is closed.
    private var hostsPeer = TransportPeer(nil as SocketAddress?)
    private var isSecured = false
    /// The timeout for a peer that does not close the connection after a refusal. Set only if there is an observer.
    private var lingering: Scheduled<Void>?

    /// Creates a handler for one side of a handshake.
    ///
    /// - Parameters:
    ///   - accepted: the standings of the peers to accept. Defaults to this system's own account.
    ///   - incidents: limits what is logged about the peers of a listener or connector. Defaults to a log of this
    ///     connection's own.
    init(
        role: Role,
        security: TransportSecurity,
        accepting accepted: Set<Standing.Kind> = [.sameAccount],
        deadline: HandshakeDeadline,
        responseTimeout: TimeAmount = .zero,
        logger: Logger,
        incidents: IncidentLog? = nil,
        observer: ConnectionObserver.One? = nil
    ) {
        self.incidents = incidents ?? IncidentLog(logger)
        self.observer = observer
        self.role = role
        self.security = security
        self.accepted = accepted
        self.deadline = deadline
        self.responseTimeout = responseTimeout
        self.logger = logger
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if case .host = self.role { self.hostsPeer = context.channel.transportPeer }
        context.channel.outlivesPeersHalf(true)
        if context.channel.isActive { self.startTimer(context: context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        self.startTimer(context: context)
        context.fireChannelActive()
    }

    private func startTimer(context: ChannelHandlerContext) {
        guard self.timeout == nil else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.timeout = context.eventLoop.scheduleTask(deadline: self.deadline.time) {
            let (handler, context) = bound.value
            handler.timerWentOff(context: context)
        }
    }

    private func timerWentOff(context: ChannelHandlerContext) {
        guard self.deadline.timerWentOff(now: context.eventLoop.now) == .giveUp else {
            return self.restartTimer(context: context)
        }
        if !self.isDone { self.observer?.report(.helloTimedOut) }
        self.fail(
            TransportError(
                .unreachable,
                "The other side did not complete the handshake in time. Check that a RemoteSystems host runs there, "
                    + "and try again. Restart it if that does not help.",
                side: .network,
                canRetry: true,
                cause: ChannelError.connectTimeout(.zero)
            ),
            context: context
        )
    }

    private func restartTimer(context: ChannelHandlerContext) {
        self.timeout?.cancel()
        self.timeout = nil
        self.startTimer(context: context)
    }

    /// Gives the host, which is authenticated now, the time for its response.
    private func extendTimer(context: ChannelHandlerContext) {
        guard self.responseTimeout > .zero else { return }
        self.deadline.extend(by: self.responseTimeout)
        self.restartTimer(context: context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let alpn) = event as? TLSUserEvent {
            self.isSecured = true
            self.secured(alpn: alpn, context: context)
        }
        if case .inputClosed? = event as? ChannelEvent { self.fail(.closedDuringHandshake(), context: context) }
        context.fireUserInboundEventTriggered(event)
    }

    private func secured(alpn: String?, context: ChannelHandlerContext) {
        let peer = self.authenticatePeer(context: context)
        if let observer {
            var objection: TransportError?
            if case .failure(let error) = peer { objection = error }
            observer.report(.secured(alpn: alpn, error: objection))
        }
        switch self.role {
        case .caller(var handshake, let accepted, let fail):
            let action = handshake.secured(alpn: alpn, peer: peer)
            self.role = .caller(handshake, accepted, fail: fail)
            do throws(TransportError) {
                switch action {
                case .send(let hello):
                    try self.write(.hello(hello), context: context)
                    self.extendTimer(context: context)
                case .refuse(let refusal, let error):
                    // The host receives the reason.
                    try self.write(.refuse(refusal.status, refusal.failure), context: context)
                    throw error
                }
            } catch {
                self.fail(error, context: context)
            }
        case .host(var handshake, let admit, let place):
            let action = handshake.secured(alpn: alpn, peer: peer)
            self.role = .host(handshake, admit, place)
            var found: TransportError?
            if case .failure(let error) = peer { found = error }
            if case .refuse(let refusal) = action { self.refusePeer(refusal, found: found, context: context) }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDone else {
            if self.lingering != nil { self.observer?.report(.refusalIgnored("Something came after the refuse.")) }
            return
        }
        self.decoder.append(self.unwrapInboundIn(data))
        do throws(TransportError) {
            // One frame in each direction. Later bytes belong to the open connection.
            if let bytes = try self.decoder.next() {
                let frame = try Frame(bytes)
                self.observer?.report(.received(frame, bytes: bytes.readableBytes))
                try self.received(frame, context: context)
            }
        } catch {
            self.observer?.report(.violation(error))
            switch self.role {
            case .caller: self.fail(error, context: context)
            case .host: self.refusePeer(Refusal(.unknown, error.message, codeOf: error), context: context)
            }
        }
    }

    private func received(_ frame: Frame, context: ChannelHandlerContext) throws(TransportError) {
        switch self.role {
        case .caller(let handshake, let accepted, _):
            switch handshake.received(frame) {
            case .open(let peer, let remote):
                self.open(peer: peer, remote: remote, accepted, context: context)
            case .fail(var error):
                // The certificate may have been replaced since.
                error.ownCertificate = self.ownCertificate
                self.fail(error, context: context)
            }
        case .host(var handshake, let admit, let place):
            let action = handshake.received(frame)
            self.role = .host(handshake, admit, place)
            switch action {
            case .decide(let peer, let hello):
                // The peer has completed its hello in time. The application's decision does not count towards the
                // timeout.
                self.timeout?.cancel()
                self.leave()
                self.decide(hello, peer, admit, context: context)
            case .refuse(let refusal):
                self.refusePeer(refusal, context: context)
            case .fail(let error):
                self.fail(error, context: context)
                if self.lingering != nil, self.decoder.pendingBytes > 0 {
                    self.observer?.report(.refusalIgnored("Something came with the client's own refuse."))
                }
            }
        }
    }

    private func decide(_ hello: Hello, _ peer: PeerIdentity, _ admit: @escaping Admit, context: ChannelHandlerContext)
    {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        // On the event loop, because a change of thread and back would cost more than most decisions.
        let executor = EventLoopEnvironment(of: eventLoop).taskExecutor ?? EventLoopTaskExecutor(eventLoop)
        Task.immediate(executorPreference: executor) {
            let admission = await admit(hello, peer)
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.decided(admission, for: peer, context: context)
            }
        }
    }

    private func decided(_ admission: Admission, for peer: PeerIdentity, context: ChannelHandlerContext) {
        guard !self.isDone, case .host = self.role else { return }
        switch admission {
        case .refuse(let refusal):
            // A system of the account may ask for what is not there, for example while a program starts.
            guard case .sameAccount = peer.standing else { return self.refusePeer(refusal, context: context) }
            self.refuse(refusal, context: context)
        case .accept(let accepted): self.accept(.messages(accepted), context: context)
        case .acceptStream(let accepted): self.accept(.stream(accepted), context: context)
        }
    }

    /// Refuses a peer because of its certificate or because it broke the protocol, which counts as its failure.
    ///
    /// - Parameter found: What this side found, for its log. Defaults to `nil`: the refusal's text.
    func refusePeer(_ refusal: Refusal, found: TransportError? = nil, context: ChannelHandlerContext) {
        if !self.isDone, case .host(_, _, let place) = self.role { place.fail() }
        self.refuse(refusal, found: found, context: context)
    }

    /// Refuses a connection.
    ///
    /// - Parameter found: As in ``refusePeer(_:found:context:)``. The refusal's text is worded for the peer.
    func refuse(_ refusal: Refusal, found: TransportError? = nil, context: ChannelHandlerContext) {
        guard !self.isDone else { return }
        let reason = found?.message ?? refusal.failure.text
        if let incident = Incident(failureCode: refusal.failure.code) {
            self.incidents.report(
                incident,
                by: self.hostsPeer,
                system: (found?.cause as? TrustError)?.system,
                code: refusal.failure.code,
                reason: reason
            )
        } else {
            // At debug level: an unknown service, for example, is the caller's concern.
            self.logger.debug("Refused a connection", metadata: ["reason": "\(reason)"])
        }
        self.finish()
        self.observer?.report(.refused(refusal))
        // The frame always fits, because the failure's text is limited.
        try? self.write(.refuse(refusal.status, refusal.failure), context: context)
        self.end(closing: .all, isRefused: true, context: context)
    }

    /// Closes the connection. If there is an observer, a refused connection stays open until the peer closes it, so
    /// that the observer can report whether the peer does.
    private func end(closing mode: CloseMode, isRefused: Bool, context: ChannelHandlerContext) {
        context.channel.outlivesPeersHalf(false)
        guard isRefused, let observer = self.observer else {
            self.observer?.report(.ended(nil))
            return context.close(mode: mode, promise: nil)
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.lingering = context.eventLoop.scheduleTask(in: Self.lingerTime) {
            let (handler, context) = bound.value
            guard handler.lingering != nil else { return }
            observer.report(.refusalIgnored("It did not close the connection within 5 s after the refuse."))
            context.close(promise: nil)
        }
        context.close(mode: .output, promise: nil)
    }

    /// The time for which a refused connection stays open, equal to the time for which TLS waits for a peer's
    /// `close_notify`.
    private static let lingerTime = TimeAmount.seconds(5)

    func fail(_ error: TransportError, closing mode: CloseMode = .all, context: ChannelHandlerContext) {
        guard !self.isDone else { return }
        self.finish()
        // Done before the caller is notified: a program may exit then, and `close_notify` must be sent before.
        self.end(closing: mode, isRefused: error.code == .refused, context: context)
        switch self.role {
        case .caller(_, _, let fail): fail(error)
        case .host(_, _, let place):
            place.fail()
            let incident: Incident =
                switch error.code {
                case .refused: .closedByPeer
                case .localResources: .unauthenticatedLimit
                default: .handshakeFailed
                }
            self.incidents.report(incident, by: self.hostsPeer, reason: "\(error)")
        }
    }

    func finish() {
        self.isDone = true
        self.timeout?.cancel()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.leave()
    }

    /// Closes a connection because another one has got its place at the admission gate. Does nothing if its hello has
    /// arrived in the meantime.
    static func replace(_ channel: any Channel) {
        channel.eventLoop.execute {
            guard let context = try? channel.pipeline.syncOperations.context(handlerType: HandshakeHandler.self),
                let handler = context.handler as? HandshakeHandler, !handler.hasLeft
            else { return }
            handler.fail(
                TransportError(
                    .localResources,
                    "Too many at the same time, and another one has got its place.",
                    side: .local
                ),
                context: context
            )
            channel.closeBeneathTLS()
        }
    }

    /// Leaves the admission gate: the caller's hello has arrived, or the channel has closed.
    private func leave() {
        guard case .host(_, _, let place) = self.role, !self.hasLeft else { return }
        self.hasLeft = true
        place.leave()
    }

    /// Writes the acceptance. Schemas that are too large for the frame are replaced: they are advisory, and the host's
    /// description contains them, too.
    func write(_ acceptance: Acceptance, context: ChannelHandlerContext) throws(TransportError) {
        do throws(TransportError) {
            try self.write(.accept(acceptance), context: context)
        } catch {
            var acceptance = acceptance
            guard error.code == .messageTooLarge, acceptance.schemas.replaceLargest() else { throw error }
            try self.write(acceptance, context: context)
        }
    }

    func write(_ frame: Frame, context: ChannelHandlerContext) throws(TransportError) {
        var buffer = context.channel.allocator.buffer(capacity: 512)
        try buffer.writeFrame(frame, limit: ConnectionLimits.helloBytes)
        context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fail(.closedDuringHandshake(), context: context)
        if let lingering = self.lingering.take() {
            lingering.cancel()
            self.observer?.report(.ended(nil))
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // When the process of an authenticated host ends, TLS receives no `close_notify`. That counts as a closed
        // connection.
        if !self.isDone { self.observer?.report(.failed(error)) }
        var isUnclean = false
        if case .uncleanShutdown? = error as? NIOSSLError { isUnclean = true }
        let isEnd = isUnclean || error is IOError
        self.fail(
            self.objection ?? (self.isSecured && isEnd ? .closedDuringHandshake(error) : .tlsHandshakeFailed(error)),
            closing: isUnclean ? .output : .all,
            context: context
        )
    }
}

extension TransportError {
    fileprivate static func closedDuringHandshake(_ error: (any Error)? = nil) -> TransportError {
        TransportError(
            .unreachable,
            "The other side closed the connection, or its process ended, before the connection was open.",
            side: .network,
            canRetry: true,
            cause: error
        )
    }

    static func tlsHandshakeFailed(_ error: any Error) -> TransportError {
        // BoringSSL names the alert in its error's text alone.
        guard !"\(error)".contains("ALERT_CERTIFICATE") else {
            return TransportError(
                .unreachable,
                "The other side rejected this system's certificate. Run 'remotesystems doctor' on both systems.",
                side: .remote,
                cause: error
            )
        }
        return TransportError(
            .unreachable,
            "The TLS handshake failed. Either the program at that address is not a RemoteSystems host, or the network "
                + "interfered.",
            side: .network,
            canRetry: true,
            cause: error
        )
    }
}
