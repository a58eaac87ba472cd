// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import NIOSSL
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// Applies the links' faults to the messages that one end of a connection sends, before they are encrypted.
///
/// It splits the written bytes into frames. Anything that is not a frame of the protocol, such as the messages of
/// joining, passes unchanged.
final class MessageFaultHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// State shared by both ends of a connection.
    private final class Conversation: Sendable {
        /// The service of the connection, known from the caller's hello.
        let service = Mutex("")
    }

    /// A length above the maximum size of a frame of the protocol, in bytes.
    private static let maxFrameBytes = 32 << 20

    private let conversation: Conversation
    private let wire: Wire
    private let channel: MemoryChannel
    /// The sending and the receiving site.
    private let sites: (from: MemorySite, to: MemorySite)
    private var buffer = ByteBuffer()
    private var isTransparent = false
    /// A delayed frame and the frames after it, with the faults to apply when they are sent. Frames that are written
    /// meanwhile wait, too.
    private var delayed: [(bytes: ByteBuffer, fault: MessageFaults.Fault?)]?

    private init(_ conversation: Conversation, _ wire: Wire, _ channel: MemoryChannel, from: MemorySite, to: MemorySite)
    {
        self.conversation = conversation
        self.wire = wire
        self.channel = channel
        self.sites = (from, to)
    }

    /// Adds a handler after the TLS handler of each end.
    static func install(
        on caller: MemoryChannel,
        host: MemoryChannel,
        wire: Wire,
        sites: (caller: MemorySite, host: MemorySite)
    ) {
        let conversation = Conversation()
        let callerPipeline = caller.pipeline.syncOperations
        let hostPipeline = host.pipeline.syncOperations
        guard let callersTLS = try? callerPipeline.handler(type: NIOSSLClientHandler.self),
            let hostsTLS = try? hostPipeline.handler(type: NIOSSLServerHandler.self)
        else { return }
        let callers = MessageFaultHandler(conversation, wire, caller, from: sites.caller, to: sites.host)
        let hosts = MessageFaultHandler(conversation, wire, host, from: sites.host, to: sites.caller)
        try? callerPipeline.addHandler(callers, position: .after(callersTLS))
        try? hostPipeline.addHandler(hosts, position: .after(hostsTLS))
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var bytes = self.unwrapOutboundIn(data)
        guard !self.isTransparent else { return context.write(data, promise: promise) }
        self.buffer.writeBuffer(&bytes)
        while !self.isTransparent, let frame = self.nextFrame() { self.pass(frame, context) }
        if self.isTransparent, self.buffer.readableBytes > 0 {
            self.send(self.buffer, nil, context)
            self.buffer = ByteBuffer()
        }
        promise?.succeed(())
    }

    /// Returns the next complete frame, including its length field.
    private func nextFrame() -> ByteBuffer? {
        guard let length = self.buffer.getInteger(at: self.buffer.readerIndex, as: UInt32.self) else { return nil }
        guard length > 0, length <= Self.maxFrameBytes else {
            self.isTransparent = true
            return nil
        }
        return self.buffer.readSlice(length: 4 + Int(length))
    }

    private func pass(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        var content = bytes
        content.moveReaderIndex(forwardBy: 4)
        guard let frame = try? Frame(content) else {
            self.isTransparent = true
            return self.send(bytes, nil, context)
        }
        self.send(bytes, self.message(frame).flatMap { self.fault(of: $0) }, context)
    }

    private func message(_ frame: Frame) -> StagedMessage? {
        switch frame {
        case .hello(let hello):
            self.conversation.service.withLock { $0 = hello.service }
            return nil
        case .request(_, _, let content, _, _): return self.message(.request, content)
        case .response(_, _, let content, _): return self.message(.response, content)
        default: return nil
        }
    }

    private func message(_ kind: StagedMessage.Kind, _ content: ValueSet) -> StagedMessage {
        StagedMessage(
            kind: kind,
            service: self.conversation.service.withLock { $0 },
            content: content,
            direction: .fromSystem
        )
    }

    /// Returns the fault of a message. A message passes the sender's link, then the receiver's.
    private func fault(of message: StagedMessage) -> MessageFaults.Fault? {
        if let fault = self.sites.from.fault(of: message) { return fault }
        var arriving = message
        arriving.direction = .toSystem
        return self.sites.to.fault(of: arriving)
    }

    /// Sends bytes with a fault, or queues them behind a delayed frame.
    private func send(_ bytes: ByteBuffer, _ fault: MessageFaults.Fault?, _ context: ChannelHandlerContext) {
        guard self.delayed == nil else {
            // The frame waits in any case, so its own delay is not added.
            if case .delay = fault { self.delayed?.append((bytes, nil)) } else { self.delayed?.append((bytes, fault)) }
            return
        }
        switch fault {
        case nil:
            context.write(self.wrapOutboundOut(bytes), promise: nil)
        case .drop:
            break
        case .delay(let time):
            self.delay(bytes, by: time, context)
        case .corrupt:
            context.flush()
            self.channel.corruptNextWrite()
            context.write(self.wrapOutboundOut(bytes), promise: nil)
            context.flush()
        case .cut:
            context.flush()
            self.wire.cut()
        }
    }

    private func delay(_ bytes: ByteBuffer, by time: Duration, _ context: ChannelHandlerContext) {
        self.delayed = [(bytes, nil)]
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        self.sites.from.loop.scheduleTask(in: TimeAmount(time), what: "a delayed message") {
            let (handler, context) = bound.value
            let delayed = handler.delayed ?? []
            handler.delayed = nil
            guard context.channel.isActive else { return }
            for (bytes, fault) in delayed { handler.send(bytes, fault, context) }
            context.flush()
        }
    }
}
