// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import ValueSets

/// Frames are encoded straight into the buffer that goes to TLS. When one cannot be written the buffer is as it was.
extension ByteBuffer {
    mutating func writeRequest(
        id: UInt64,
        timeoutMilliseconds: UInt64,
        message: ValueSet,
        key: [UInt8]? = nil,
        limit: Int
    ) throws(TransportError) {
        try self.writeFrame(.request, elements: key == nil ? 4 : 5, limit: limit) { writer throws(ValueSetError) in
            writer.writeUnsigned(id)
            writer.writeUnsigned(timeoutMilliseconds)
            try writer.write(message)
            if let key { writer.writeBytes(key) }
        }
    }

    mutating func writeResponse(id: UInt64, _ reply: Reply, limit: Int) throws(TransportError) {
        try self.writeFrame(.response, elements: reply.failure == nil ? 4 : 5, limit: limit) {
            writer throws(ValueSetError) in
            writer.writeUnsigned(id)
            writer.writeUnsigned(reply.status.rawValue)
            try writer.write(reply.message)
            if let failure = reply.failure { try writer.write(failure.valueSet) }
        }
    }

    mutating func writeFrame(_ frame: Frame, limit: Int) throws(TransportError) {
        switch frame {
        case .hello(let hello):
            try self.writeFrame(.hello, elements: 2, limit: limit) { writer throws(ValueSetError) in
                try writer.write(hello.valueSet)
            }
        case .accept(let acceptance):
            try self.writeFrame(.accept, elements: 2, limit: limit) { writer throws(ValueSetError) in
                try writer.write(acceptance.valueSet)
            }
        case .refuse(let status, let failure):
            try self.writeFrame(.refuse, elements: 3, limit: limit) { writer throws(ValueSetError) in
                writer.writeUnsigned(status.rawValue)
                try writer.write(failure.valueSet)
            }
        case .request(let id, let timeout, let message, let key):
            try self.writeRequest(id: id, timeoutMilliseconds: timeout, message: message, key: key, limit: limit)
        case .response(let id, let status, let message, let failure):
            try self.writeResponse(id: id, Reply(status: status, message: message, failure: failure), limit: limit)
        case .cancel(let id):
            try self.writeFrame(.cancel, id)
        case .ping(let token):
            try self.writeFrame(.ping, token)
        case .pong(let token):
            try self.writeFrame(.pong, token)
        case .close(let status, let failure):
            try self.writeFrame(.close, elements: failure == nil ? 2 : 3, limit: limit) {
                writer throws(ValueSetError) in
                writer.writeUnsigned(status.rawValue)
                if let failure { try writer.write(failure.valueSet) }
            }
        case .malformed, .unknown:
            // Names for what was received; nothing is ever sent as such.
            break
        }
    }

    private mutating func writeFrame(_ kind: Frame.Kind, _ number: UInt64) throws(TransportError) {
        try self.writeFrame(kind, elements: 2, limit: .max) { writer throws(ValueSetError) in
            writer.writeUnsigned(number)
        }
    }

    @inline(__always)
    private mutating func writeFrame(
        _ kind: Frame.Kind,
        elements: Int,
        limit: Int,
        _ body: (inout CBORWriter) throws(ValueSetError) -> Void
    ) throws(TransportError) {
        let start = self.writerIndex
        self.writeInteger(0, as: UInt32.self)
        do throws(ValueSetError) {
            try self.writeCBOR { writer throws(ValueSetError) in
                writer.writeArrayHead(count: elements)
                writer.writeUnsigned(kind.rawValue)
                try body(&writer)
            }
        } catch {
            self.moveWriterIndex(to: start)
            throw TransportError(.invalidMessage, "The message cannot be sent: \(error)", side: .local, cause: error)
        }
        let length = self.writerIndex - start - FrameDecoder.lengthBytes
        guard length <= limit else {
            self.moveWriterIndex(to: start)
            throw TransportError(
                .messageTooLarge,
                "The message takes \(length) bytes; the other side takes at most \(limit). Send less, or in parts.",
                side: .local
            )
        }
        self.setInteger(UInt32(length), at: start)
    }
}
