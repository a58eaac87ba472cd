// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ValueSets

/// Frames are encoded directly into the buffer that is passed to TLS. If a frame cannot be written, the buffer is
/// unchanged.
extension ByteBuffer {
    mutating func writeRequest(
        id: UInt64,
        timeoutMilliseconds: UInt64,
        message: ValueSet,
        key: [UInt8]? = nil,
        metadata: ValueSet = ValueSet(),
        limit: Int
    ) throws(TransportError) {
        let metadata = metadata.isEmpty ? nil : metadata
        try self.writeFrame(
            FrameArray(
                Frame.Kind.request.rawValue,
                id,
                timeoutMilliseconds,
                set: message,
                last: key.map { .bytes($0) } ?? (metadata == nil ? nil : .null),
                further: metadata
            ),
            limit: limit
        )
    }

    mutating func writeResponse(id: UInt64, _ response: Response, limit: Int) throws(TransportError) {
        let failure = response.failure.map { FrameArray.Last.set($0.valueSet) }
        try self.writeFrame(
            FrameArray(
                Frame.Kind.response.rawValue,
                id,
                response.status.rawValue,
                set: response.message,
                last: failure
            ),
            limit: limit
        )
    }

    mutating func writeFrame(_ frame: Frame, limit: Int) throws(TransportError) {
        switch frame {
        case .hello(let hello):
            try self.writeFrame(FrameArray(Frame.Kind.hello.rawValue, set: hello.valueSet), limit: limit)
        case .accept(let acceptance):
            try self.writeFrame(FrameArray(Frame.Kind.accept.rawValue, set: acceptance.valueSet), limit: limit)
        case .refuse(let status, let failure):
            try self.writeFrame(
                FrameArray(Frame.Kind.refuse.rawValue, status.rawValue, set: failure.valueSet),
                limit: limit
            )
        case .request(let id, let timeout, let message, let key, let metadata):
            try self.writeRequest(
                id: id,
                timeoutMilliseconds: timeout,
                message: message,
                key: key,
                metadata: metadata,
                limit: limit
            )
        case .response(let id, let status, let message, let failure):
            try self.writeResponse(id: id, Response(status: status, message: message, failure: failure), limit: limit)
        case .cancel(let id):
            try self.writeFrame(FrameArray(Frame.Kind.cancel.rawValue, id), limit: limit)
        case .ping(let token):
            try self.writeFrame(FrameArray(Frame.Kind.ping.rawValue, token), limit: limit)
        case .pong(let token):
            try self.writeFrame(FrameArray(Frame.Kind.pong.rawValue, token), limit: limit)
        case .close(let status, let failure):
            try self.writeFrame(
                FrameArray(Frame.Kind.close.rawValue, status.rawValue, set: failure?.valueSet),
                limit: limit
            )
        case .data(let bytes):
            try self.writeFrame(
                FrameArray(Frame.Kind.data.rawValue, last: .bytes(Array(bytes.readableBytesView))),
                limit: limit
            )
        case .fin:
            try self.writeFrame(FrameArray(Frame.Kind.fin.rawValue), limit: limit)
        case .abort(let failure):
            try self.writeFrame(FrameArray(Frame.Kind.abort.rawValue, set: failure.valueSet), limit: limit)
        case .state(let message):
            try self.writeFrame(
                FrameArray(Frame.Kind.state.rawValue, message.operation.rawValue, set: message.body),
                limit: limit
            )
        case .malformed, .unknown:
            // These cases represent received frames only; neither is ever sent.
            break
        }
    }

    private mutating func writeFrame(_ frame: FrameArray, limit: Int) throws(TransportError) {
        let size: Int
        do throws(ValueSetError) {
            size = try frame.size()
        } catch {
            throw TransportError(.invalidMessage, "The message cannot be sent: \(error)", side: .local, cause: error)
        }
        guard size <= limit else {
            throw TransportError(
                .messageTooLarge,
                "The message is \(size) bytes long; the peer accepts at most \(limit). Send less, or send it in parts.",
                side: .local
            )
        }
        self.writeLengthPrefixed(frame, size: size)
    }
}

extension TimeAmount {
    /// The time left for a request. Rounded up, so that the peer does not stop before the caller does.
    var roundedUpMilliseconds: UInt64 {
        self.nanoseconds > 0 ? UInt64((self.nanoseconds - 1) / 1_000_000 + 1) : 0
    }
}
