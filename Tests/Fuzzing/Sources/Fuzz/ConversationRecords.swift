// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore

@testable import RemoteSystemsTransport

/// What the peer sent, read independently of the connection.
struct InboundRecord {
    /// The reads that were not delivered yet.
    var pending: [[UInt8]] = []
    private(set) var hello: Hello?
    /// The limits in the peer's hello or accept.
    private(set) var statedLimits: PeerLimits?
    /// The ids of the requests, including malformed ones.
    private(set) var requests: Set<UInt64> = []
    private(set) var pings: Set<UInt64> = []
    private let isHost: Bool
    private let limits: ConnectionLimits
    private let isStream: Bool

    private var frames: FrameDecoder
    private var hasHandshake = false
    private var isBroken = false
    /// The bytes of a stream, and how many of them were delivered.
    private var stream: [UInt8] = []
    private var streamDecoder: StreamFrameDecoder?
    private var streamHasEnded = false
    private var deliveredBytes = 0

    init(isHost: Bool, settings: Conversation.Settings) {
        self.isHost = isHost
        self.limits = settings.limits
        self.isStream = settings.isStream
        self.frames = FrameDecoder(limit: ConnectionLimits.helloBytes)
    }

    mutating func sent(_ bytes: [UInt8]) {
        guard !self.isBroken else { return }
        do {
            if self.streamDecoder != nil {
                self.streamDecoder?.append(ByteBuffer(bytes: bytes))
                return try self.readStream()
            }
            self.frames.append(ByteBuffer(bytes: bytes))
            while let frame = try self.frames.next() {
                let frame = try Frame(frame)
                guard self.hasHandshake else {
                    self.hasHandshake = true
                    if case .hello(let hello) = frame { (self.hello, self.statedLimits) = (hello, hello.limits) }
                    if case .accept(let acceptance) = frame { self.statedLimits = acceptance.limits }
                    if self.isStream {
                        self.streamDecoder = StreamFrameDecoder(self.frames)
                        return try self.readStream()
                    }
                    self.frames.limit = self.limits.messageBytes
                    continue
                }
                switch frame {
                case .request(let id, _, _, _, _), .malformed(.request, let id, _): self.requests.insert(id)
                case .ping(let token): self.pings.insert(token)
                default: break
                }
            }
        } catch {
            self.isBroken = true
        }
    }

    private mutating func readStream() throws {
        while let item = try self.streamDecoder?.next() {
            switch item {
            case .data(let data): self.stream += data.readableBytesView
            case .frame(.fin): self.streamHasEnded = true
            case .frame(.ping(let token)): self.pings.insert(token)
            case .frame: break
            }
        }
    }

    /// Checks bytes that a stream's reader received.
    mutating func delivered(_ chunk: ByteBuffer) {
        let expected = self.stream.dropFirst(self.deliveredBytes).prefix(chunk.readableBytes)
        let isExpected = chunk.readableBytes > 0 && chunk.readableBytesView.elementsEqual(expected)
        require(isExpected, "a stream delivers other bytes")
        self.deliveredBytes += chunk.readableBytes
    }

    func deliveredEnd() {
        require(self.streamHasEnded && self.deliveredBytes == self.stream.count, "a stream ends too early")
    }
}

/// Checks what this side sends: frames that the protocol allows, in an order that it allows.
struct OutboundMonitor {
    private enum Phase {
        case handshake, open, ended
    }

    private let isHost: Bool
    /// The limits of the peer.
    var limit: PeerLimits
    /// The number of bytes that were passed to a stream's writers.
    var writtenBytes = 0
    /// Whether the bytes that a stream sends are known.
    var knowsBytes = true

    private var phase = Phase.handshake
    private var decoder = FrameDecoder(limit: ConnectionLimits.maxMessageBytes)
    private var responses: Set<UInt64> = []
    private var lastRequest: UInt64 = 0
    private var hasClosed = false
    private var sentBytes = 0
    private var hasFinished = false

    init(isHost: Bool, limit: PeerLimits) {
        self.isHost = isHost
        self.limit = limit
        // A caller's hello is sent at the end of TLS, which is not part of a conversation.
        if !isHost { self.phase = .open }
    }

    mutating func sent(_ buffer: ByteBuffer, _ peer: InboundRecord) {
        self.decoder.append(buffer)
        do {
            while let bytes = try self.decoder.next() {
                let frame = try Frame(bytes)
                require(self.phase != .ended, "something was sent after the end: \(frame)")
                if self.phase == .open {
                    require(bytes.readableBytes <= self.limit.messageBytes, "a frame is too long: \(frame)")
                }
                self.sent(frame, peer)
            }
        } catch {
            broken("a frame was sent that cannot be read: \(error)")
        }
        require(self.decoder.pendingBytes == 0 || self.sentBytes > 0 || self.writtenBytes > 0, "half a frame was sent")
    }

    private mutating func sent(_ frame: Frame, _ peer: InboundRecord) {
        switch (self.phase, frame) {
        case (.handshake, .accept): self.phase = .open
        case (_, .refuse): self.phase = .ended
        case (.open, .response(let id, _, _, _)):
            require(peer.requests.contains(id), "a response to request \(id), which the peer did not send")
            require(self.responses.insert(id).inserted, "a second response to request \(id)")
        case (.open, .request(let id, _, _, _, _)):
            require(id > self.lastRequest, "request \(id) follows \(self.lastRequest)")
            require(!self.hasClosed, "a request was sent after the close")
            self.lastRequest = id
        case (.open, .cancel(let id)): require(id <= self.lastRequest, "a request was cancelled that was not sent")
        case (.open, .pong(let token)): require(peer.pings.contains(token), "a pong without a ping")
        case (.open, .ping), (.open, .state): break
        case (.open, .close(let status, _)):
            if status != .completed { self.phase = .ended }
            self.hasClosed = true
        case (.open, .data(let data)):
            require(!self.hasFinished, "bytes were sent after the end of the stream")
            for byte in data.readableBytesView {
                require(
                    !self.knowsBytes || byte == UInt8(truncatingIfNeeded: self.sentBytes),
                    "a stream sends other bytes"
                )
                self.sentBytes += 1
            }
            require(self.sentBytes <= self.writtenBytes, "a stream sends more than was written")
        case (.open, .fin):
            require(!self.hasFinished, "a stream's end was sent twice")
            self.hasFinished = true
        case (.open, .abort): self.phase = .ended
        default: broken("a frame was sent that is not allowed here: \(frame)")
        }
    }
}
