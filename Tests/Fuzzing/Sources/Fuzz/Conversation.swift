// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOEmbedded
import NIOTLS

@testable import RemoteSystemsIdentity
@testable import RemoteSystemsTransport
@testable import ValueSets

/// One connection, driven by the bytes and events of an input from the end of TLS to the end of the connection.
///
/// Everything runs on the calling thread: the channel and its event loop are embedded, and time advances by commands.
/// The rules hold for every input: nothing is performed before the peer is authorised or after the connection has
/// ended, every call and every handler ends once, the peer receives only frames that the protocol allows, and nothing
/// remains in memory.
final class Conversation: @unchecked Sendable {
    enum Kind {
        /// A handshake of either side; the commands also decide about the authorisation.
        case handshake
        /// A host and an authorised caller.
        case host
        /// A caller and an authorised host.
        case client
        /// A host's stream.
        case stream
    }

    static func run(_ input: [UInt8], _ kind: Kind) {
        let script = Script(input)
        let conversation = Conversation(script.head, kind)
        for command in script.commands.prefix(256) {
            conversation.perform(command)
            conversation.check()
        }
        conversation.finish()
        FuzzTime.forget()
    }

    /// The settings in the first bytes of an input.
    struct Settings {
        let head: [UInt8]
        let kind: Kind

        var isHost: Bool { self.kind == .handshake ? self.head[1] & 2 == 0 : self.kind != .client }
        var isStream: Bool { self.kind == .stream || self.head[1] & 0x20 != 0 }
        /// Whether every read is followed by the end of reading and a turn of the event loop.
        var endsReads: Bool { self.head[0] & 0x04 == 0 }
        var suspendsHandlers: Bool { self.head[0] & 0x08 != 0 }
        var publishes: Bool { self.head[0] & 0x10 != 0 }
        var subscribes: Bool { self.head[0] & 0x20 != 0 }
        /// Whether the peer's hello or accept is part of the input.
        var expectsHandshake: Bool { self.kind == .handshake || self.head[0] & 0x40 != 0 }
        var isObserved: Bool { self.head[0] & 0x80 != 0 }
        var standing: Standing.Kind { self.head[1] & 1 == 0 ? .sameAccount : .anonymous }
        var refuses: Bool { self.head[1] & 0x04 != 0 }
        var suspendsAdmission: Bool { self.head[1] & 0x08 != 0 }
        var respondsImmediately: Bool { self.head[1] & 0x10 != 0 }

        /// This side's limits.
        var limits: ConnectionLimits {
            var limits = ConnectionLimits()
            switch self.head[0] & 3 {
            case 0: break
            case 1:
                limits.messageBytes = 1024
                (limits.window, limits.windowBytes, limits.concurrentRequests) = (1, 1024, 1)
            case 2:
                limits.messageBytes = 2048
                (limits.window, limits.windowBytes, limits.concurrentRequests) = (4, 4096, 2)
            default:
                limits.messageBytes = 64 << 10
                (limits.window, limits.windowBytes, limits.concurrentRequests) = (8, 64 << 10, 8)
            }
            return limits
        }

        /// The limits of the peer, if its hello or accept is not part of the input.
        var peerLimits: PeerLimits {
            switch self.head[2] & 3 {
            case 0: PeerLimits(messageBytes: 1 << 20, window: 128, windowBytes: 8 << 20)
            case 1: PeerLimits(messageBytes: 1024, window: 1, windowBytes: 1024)
            case 2: PeerLimits(messageBytes: 2048, window: 3, windowBytes: 4096)
            default: PeerLimits(messageBytes: 33 << 10, window: 16, windowBytes: 64 << 10)
            }
        }

        var streamLimits: StreamLimits {
            var limits = StreamLimits()
            if self.head[0] & 3 != 0 { limits.bufferedBytes = 4096 }
            return limits
        }
    }

    let settings: Settings
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    private(set) var handler: HandshakeHandler
    let gate = ReadGate()
    var monitor: OutboundMonitor
    var peer: InboundRecord

    /// One log for all inputs. The summary of its incidents waits on a real event loop.
    private static let incidents = IncidentLog(CheckingLogHandler.logger)

    /// Whether the peer was authorised.
    var isAuthorised = false
    private(set) var admissions = 0
    private(set) var openings = 0
    private(set) var closings = 0
    private var failures = 0
    private var departures = 0

    var connection: Connection?
    weak var weakConnection: Connection?
    var stream: ByteStream?
    weak var weakStream: StreamConnection?
    private(set) var topic: PublishedTopic?
    private let publisher = StatePublisher()

    /// The admission that waits for its decision.
    private var admission: CheckedContinuation<Void, Never>?
    /// The handlers that wait, by request.
    private var suspended: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var startedRequests: Set<UInt64> = []
    private var runningHandlers = 0

    /// The tasks that call, follow, read and write, and the number of those that have not ended.
    var tasks: [Task<Void, Never>] = []
    var openTasks = 0

    init(_ head: [UInt8], _ kind: Kind) {
        self.settings = Settings(head: head, kind: kind)
        self.channel = EmbeddedChannel(loop: self.loop)
        self.monitor = OutboundMonitor(isHost: self.settings.isHost, limit: self.settings.peerLimits)
        self.peer = InboundRecord(isHost: self.settings.isHost, settings: self.settings)
        // Replaced below, because its role refers to this object.
        let security = Self.security
        let deadline = HandshakeDeadline(self.loop.now + .seconds(1), now: self.loop.now)
        let observer = self.settings.isObserved ? Self.observer.connection() : nil
        self.handler = HandshakeHandler(
            role: .host(HostHandshake(), { _, _ in .refuse(.outOfTurn) }, AdmissionPlace(leave: {})),
            security: security,
            deadline: deadline,
            logger: CheckingLogHandler.logger,
            incidents: Self.incidents,
            observer: observer
        )
        self.handler.role = self.role()
        if kind != .handshake { self.authorise(alpn: ProtocolVersion.alpn) }
        made { try self.channel.pipeline.syncOperations.addHandlers([self.gate, self.handler]) }
        self.channel.connect(to: Self.address, promise: nil)
        if !self.settings.expectsHandshake { self.receiveHandshake() }
    }

    private static let address = made { try SocketAddress(ipAddress: "192.0.2.1", port: 47_474) }
    private static let security = made { try TransportSecurity(identity: Account.identity) }
    private static let observer = ConnectionObserver { _, event in
        if case .violation(let error) = event { require(error.failureCode != nil, "a violation has no code") }
    }

    // MARK: The handshake

    private func role() -> HandshakeHandler.Role {
        if self.settings.isHost {
            let admit: Admit = { [unowned self] hello, peer in await self.admit(hello, peer) }
            return .host(HostHandshake(), admit, AdmissionPlace(leave: { [unowned self] in self.departures += 1 }))
        }
        let hello = Hello(
            service: "com.example.notes",
            targetApplication: nil,
            application: "com.example.caller",
            limits: self.settings.limits.peerLimits
        )
        let accepted: EstablishedChannel =
            self.settings.isStream ? .stream(self.acceptedStream()) : .messages(self.accepted())
        return .caller(CallerHandshake(hello: hello, expecting: nil), accepted) { [unowned self] error in
            self.failures += 1
            require(!"\(error)".hasControlCharacters, "an error has control characters: \("\(error)".debugDescription)")
        }
    }

    /// Authorises the peer as the end of TLS does. The certificates themselves have a target of their own.
    func authorise(alpn: String) {
        guard !self.isAuthorised, !self.handler.isDone, self.channel.isActive || self.settings.kind != .handshake else {
            return
        }
        let peer = Account.peer(self.settings.standing)
        switch self.handler.role {
        case .host(var machine, let admit, let place):
            if case .awaitHello = machine.secured(alpn: alpn, peer: .success(peer)) { self.isAuthorised = true }
            self.handler.role = .host(machine, admit, place)
        case .caller(var machine, let accepted, let fail):
            if case .send = machine.secured(alpn: alpn, peer: .success(peer)) { self.isAuthorised = true }
            self.handler.role = .caller(machine, accepted, fail: fail)
        }
    }

    /// Lets the end of TLS authorise the peer, which has no certificate.
    func refuseAuthorisation() {
        guard !self.isAuthorised, self.channel.isActive else { return }
        self.channel.pipeline.fireUserInboundEventTriggered(
            TLSUserEvent.handshakeCompleted(negotiatedProtocol: ProtocolVersion.alpn)
        )
        require(!self.channel.isActive || self.handler.isDone, "a peer without a certificate is not refused")
    }

    private func receiveHandshake() {
        var buffer = ByteBuffer()
        let limits = self.settings.isStream ? StreamLimits.peerLimits : self.settings.peerLimits
        let ticket = StreamTicket(bytes: [UInt8](repeating: 9, count: StreamTicket.byteCount))
        let frame: Frame =
            if self.settings.isHost {
                .hello(
                    Hello(
                        service: self.settings.isStream ? StreamClaim.service : "com.example.notes",
                        targetApplication: nil,
                        application: "com.example.caller",
                        limits: limits,
                        stream: self.settings.isStream ? ticket.map { StreamClaim(ticket: $0, purpose: "copy") } : nil
                    )
                )
            } else {
                .accept(Acceptance(application: "com.example.app", limits: limits))
            }
        made { try buffer.writeFrame(frame, limit: ConnectionLimits.helloBytes) }
        self.receive(Array(buffer.readableBytesView))
        self.loop.run()
    }

    private func admit(_ hello: Hello, _ peer: PeerIdentity) async -> Admission {
        self.admissions += 1
        require(self.isAuthorised, "a peer was admitted before it was authorised")
        require(self.settings.isHost && self.admissions == 1 && self.openings == 0, "a peer was admitted twice")
        require(self.peer.hello == hello, "a hello was admitted that the peer did not send")
        if self.settings.suspendsAdmission {
            await withCheckedContinuation { self.admission = $0 }
        }
        if self.settings.refuses { return .refuse(Refusal(.appUnavailable, code: .applicationNotFound, "Not here.")) }
        if self.settings.isStream { return .acceptStream(self.acceptedStream()) }
        return .accept(self.accepted())
    }

    private var acceptance: Acceptance {
        Acceptance(
            application: "com.example.app",
            limits: self.settings.isStream ? StreamLimits.peerLimits : self.settings.limits.peerLimits
        )
    }

    private func accepted() -> EstablishedConnection {
        let handle: RequestHandler.Handle = { [unowned self] request, _ in await self.handle(request) }
        let immediately: RequestHandler.HandleImmediately = { [unowned self] request, _ in
            self.begin(request)
            self.runningHandlers -= 1
            return self.response(to: request)
        }
        return EstablishedConnection(
            acceptance: self.acceptance,
            limits: self.settings.limits,
            handler: RequestHandler(immediately: self.settings.respondsImmediately ? immediately : nil, handle)
        ) { [unowned self] connection in
            self.opened(connection)
        }
    }

    private func acceptedStream() -> EstablishedStream {
        EstablishedStream(acceptance: self.acceptance, limits: self.settings.streamLimits) { [unowned self] stream in
            self.noteOpening()
            self.weakStream = stream
            self.stream = ByteStream(stream)
            stream.onClose { [unowned self] _ in self.closings += 1 }
        }
    }

    private func opened(_ connection: Connection) {
        self.noteOpening()
        self.connection = connection
        self.weakConnection = connection
        connection.onClose { [unowned self] _ in
            self.closings += 1
            self.connection = nil
        }
        if self.settings.publishes {
            self.topic = made { try self.publisher.open(.notes, for: .sameAccount) }
            connection.publish(self.publisher)
        }
        if self.settings.subscribes { self.follow() }
    }

    private func noteOpening() {
        self.openings += 1
        if let limits = self.peer.statedLimits { self.monitor.limit = limits }
        require(self.isAuthorised, "a connection opened before its peer was authorised")
        require(self.openings == 1 && self.failures == 0, "a connection opened twice, or after it failed")
        require(!self.settings.isHost || self.admissions == 1, "a connection opened without a decision")
    }

    func decideAdmission() { self.admission.take()?.resume() }

    // MARK: Handlers

    private func begin(_ request: IncomingRequest) {
        require(self.openings == 1 && self.closings == 0, "a request was handled on a closed connection")
        require(self.startedRequests.insert(request.id).inserted, "a request was handled twice")
        require(self.peer.requests.contains(request.id), "a request was handled that the peer did not send")
        require(self.channel.isWritable, "a request was handled while its response cannot be sent")
        self.runningHandlers += 1
        let limits = self.settings.limits
        require(self.runningHandlers <= min(limits.window, limits.concurrentRequests), "too many handlers run")
    }

    private func handle(_ request: IncomingRequest) async -> Response {
        self.begin(request)
        if self.settings.suspendsHandlers != (request.message["wait"] != nil) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.suspended[request.id] = $0 }
            } onCancel: {
                // Some handlers end when they are cancelled.
                if request.id.isMultiple(of: 2) { self.suspended.removeValue(forKey: request.id)?.resume() }
            }
        }
        self.runningHandlers -= 1
        return self.response(to: request)
    }

    private func response(to request: IncomingRequest) -> Response {
        if let size = request.message["size"]?.int, (0...70_000).contains(size) {
            return Response(message: ["bytes": Value([UInt8](repeating: 0, count: size))])
        }
        return Response(message: request.message)
    }

    /// Lets one handler that waits continue.
    func resumeHandler(_ number: Int) {
        let waiting = self.suspended.keys.sorted()
        guard !waiting.isEmpty else { return }
        self.suspended.removeValue(forKey: waiting[number % waiting.count])?.resume()
        self.loop.run()
    }

    // MARK: Ending

    func check() {
        self.drain()
        if let inbox = self.weakStream?.inbox {
            let limit = self.settings.streamLimits.bufferedBytes + 0xFFFF
            require(inbox.bufferedBytes <= limit, "a stream holds more than its limit and one read")
        }
    }

    /// Hands everything that was sent to the monitor.
    func drain() {
        while let buffer = made({ try self.channel.readOutbound(as: ByteBuffer.self) }) {
            require(self.settings.kind == .handshake || self.isAuthorised, "something was sent too early")
            self.monitor.sent(buffer, self.peer)
        }
    }

    /// Ends the connection if it is still open, and checks that everything has ended.
    private func finish() {
        self.channel.isWritable = true
        if self.channel.isActive { self.channel.pipeline.fireChannelWritabilityChanged() }
        self.decideAdmission()
        self.loop.run()
        self.drain()
        if self.channel.isActive { self.channel.close(promise: nil) }
        self.loop.run()
        for request in self.suspended.keys.sorted() { self.suspended.removeValue(forKey: request)?.resume() }
        self.decideAdmission()
        self.stream = nil
        self.topic = nil
        self.loop.advanceTime(by: .hours(2))
        require(self.closings == self.openings, "an open connection did not end, or ended twice")
        if self.settings.isHost {
            require(self.departures == 1, "the gate was left \(self.departures) times")
        } else {
            require(self.openings + self.failures == 1, "a caller has \(self.openings + self.failures) results")
        }
        require(self.runningHandlers == 0 && self.openTasks == 0, "a handler or a caller waits forever")
        self.tasks = []
        self.connection = nil
        self.loop.run()
        require(self.weakConnection == nil && self.weakStream == nil, "a connection stays in memory")
        require(self.publisher.subscriptions == 0, "a subscription outlives its connection")
    }
}

/// Notes when the handlers allow the channel to read.
final class ReadGate: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    var mayRead = false

    func read(context: ChannelHandlerContext) { self.mayRead = true }
}
