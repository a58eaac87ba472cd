// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

/// The faults that a test sets for the bytes of a link in one direction. Each happens once.
struct LinkFaults {
    /// What happens to bytes on the link.
    enum OnPass: Equatable {
        case pass
        /// This many bytes pass, then the connection breaks.
        case cut(after: Int)
    }

    /// The number of bytes that pass before the fault happens.
    var cut: Int?
    var corruption: Int?

    /// Applies the faults to bytes that pass the link, and changes the bytes if they are to be corrupted.
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
