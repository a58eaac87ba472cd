// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import NIOCore

@testable import RemoteSystemsTransport

/// What the targets of joining and pairing have in common: reading a message, and changing a genuine one.
extension IntroductionMessage where Self: Equatable {
    /// Reads a message. What is read can be written, and gives the same message again.
    static func read(_ bytes: [UInt8]) -> Self? {
        guard let message = try? Self(ByteBuffer(bytes: bytes)) else { return nil }
        require((try? Self(ByteBuffer(bytes: message.frame))) == message, "a message changed")
        return message
    }

    /// Returns the message with its frame changed by a payload of positions (two bytes) and masks (one byte); `nil` if
    /// it cannot be read then.
    func changed(by payload: [UInt8]) -> Self? {
        var bytes = self.frame
        var rest = payload[...]
        while let high = rest.popFirst(), let low = rest.popFirst(), let mask = rest.popFirst() {
            bytes[(Int(high) << 8 | Int(low)) % bytes.count] ^= mask
        }
        return Self.read(bytes)
    }

    /// The message's frame, without its length field.
    private var frame: [UInt8] {
        var frame = ByteBuffer()
        made { try self.write(to: &frame) }
        frame.moveReaderIndex(forwardBy: FrameDecoder.lengthBytes)
        return Array(frame.readableBytesView)
    }
}
