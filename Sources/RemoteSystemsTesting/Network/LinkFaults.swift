// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// What a test does to the bytes that pass a link in one direction. Each happens once.
struct LinkFaults {
    enum OnPass: Equatable {
        case pass
        /// So many bytes get through, then the connection breaks.
        case cut(after: Int)
    }

    /// Bytes to pass until then.
    var cut: Int?
    var corruption: Int?

    /// What becomes of these bytes; they are changed when it is their turn.
    mutating func pass(_ bytes: inout ByteBuffer) -> OnPass {
        let count = bytes.readableBytes
        if let offset = self.corruption {
            if offset < count {
                let place = bytes.readerIndex + offset
                bytes.setInteger((bytes.getInteger(at: place) ?? 0) ^ UInt8(1), at: place)
                self.corruption = nil
            } else {
                self.corruption = offset - count
            }
        }
        guard let offset = self.cut else { return .pass }
        guard offset <= count else {
            self.cut = offset - count
            return .pass
        }
        self.cut = nil
        return .cut(after: offset)
    }
}
