// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity

extension HandshakeHandler {
    /// Writes the acceptance of a hello, and opens the connection.
    func accept(_ accepted: EstablishedChannel, context: ChannelHandlerContext) {
        guard case .host(var handshake, let admit, let place) = self.role else { return }
        guard self.decoder.pendingBytes == 0 else {
            self.observer?.report(
                .violation(.violation("something came before the response to the hello", .frameUnexpected))
            )
            return self.refusePeer(.outOfTurn, context: context)
        }
        guard let (peer, hello) = handshake.accepted() else { return }
        self.role = .host(handshake, admit, place)
        let remote = Acceptance(
            version: hello.version,
            application: hello.application,
            limits: hello.limits,
            features: hello.features
        )
        do throws(TransportError) {
            try self.write(accepted.acceptance, context: context)
        } catch {
            self.refuse(
                Refusal(.appUnavailable, code: .acceptTooLong, "The service's response to the hello is too long."),
                context: context
            )
            return
        }
        // The write may have failed the channel.
        guard !self.isDone else { return }
        self.open(peer: peer, remote: remote, accepted, context: context)
    }

    /// Hands the channel over to the connection's own handler.
    func open(
        peer: PeerIdentity,
        remote: Acceptance,
        _ accepted: EstablishedChannel,
        context: ChannelHandlerContext
    ) {
        let opened =
            switch accepted {
            case .messages(let accepted): self.connection(with: peer, remote, accepted, context.channel)
            case .stream(let accepted): self.stream(with: peer, remote, accepted, context.channel)
            }
        do {
            try context.pipeline.syncOperations.addHandler(opened.handler, position: .after(self))
        } catch {
            opened.fail(error)
            return self.fail(
                TransportError(.unreachable, "The connection failed.", side: .network, cause: error),
                context: context
            )
        }
        self.finish()
        self.observer?.report(.opened)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
        opened.begin()
    }

    /// The handler that takes over the channel from the handshake, and the actions for both outcomes of the takeover.
    private struct Opened {
        var handler: any ChannelHandler
        /// Reports the connection as open, and handles the bytes that arrived with the handshake's last frame.
        var begin: () -> Void
        var fail: (any Error) -> Void
    }

    private func connection(
        with peer: PeerIdentity,
        _ remote: Acceptance,
        _ accepted: EstablishedConnection,
        _ channel: any Channel
    ) -> Opened {
        let connection = Connection(
            channel: channel,
            peer: peer,
            remote: remote,
            limits: accepted.limits,
            decoder: self.decoder,
            logger: self.logger,
            incidents: self.incidents,
            observer: self.observer,
            memoryBudget: accepted.memoryBudget,
            handler: accepted.handler
        )
        let driver = connection.driver.value
        return Opened(handler: WireHandler(driver: driver)) {
            accepted.opened(connection)
            driver.handleFrames()
            driver.readCompleted()
        } fail: { _ in
            driver.end(.unknown, cause: nil)
        }
    }

    private func stream(
        with peer: PeerIdentity,
        _ remote: Acceptance,
        _ accepted: EstablishedStream,
        _ channel: any Channel
    ) -> Opened {
        let stream = StreamConnection(
            channel: channel,
            peer: peer,
            remote: remote.limits,
            limits: accepted.limits,
            decoder: self.decoder,
            logger: self.logger,
            incidents: self.incidents,
            observer: self.observer
        )
        let driver = stream.driver.value
        return Opened(handler: StreamHandler(driver: driver)) {
            accepted.opened(stream)
            driver.received(ByteBuffer())
            driver.flush()
        } fail: {
            driver.connectionEnded(cause: $0)
        }
    }
}
