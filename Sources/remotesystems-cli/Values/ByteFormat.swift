// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The text form of bytes on the command line.
enum ByteFormat: String, ExpressibleByArgument, CaseIterable, Encodable {
    case hex, base64, raw

    /// The input is not in the format.
    struct Malformed: Error {
        var message: String
        /// The position in the input, in bytes from 0.
        var offset: Int?
    }

    func text(of bytes: [UInt8]) -> String {
        switch self {
        case .hex: bytes.hexadecimal
        case .base64: Data(bytes).base64EncodedString()
        case .raw: ""
        }
    }

    func bytes(of input: [UInt8]) throws(Malformed) -> [UInt8] {
        switch self {
        case .raw: return input
        case .hex: return try Self.unhex(input)
        case .base64:
            let text = String(decoding: input.filter { !$0.isSpace }, as: UTF8.self)
            guard let data = Data(base64Encoded: text) else {
                throw Malformed(message: "The input is not base64. For hex or raw bytes, use --format.")
            }
            return Array(data)
        }
    }

    /// Decodes hex digits. Ignores white space.
    private static func unhex(_ input: [UInt8]) throws(Malformed) -> [UInt8] {
        var bytes: [UInt8] = []
        var high: UInt8?
        for (offset, character) in input.enumerated() where !character.isSpace {
            guard let digit = Character(Unicode.Scalar(character)).hexDigitValue, character < 0x80 else {
                throw Malformed(
                    message:
                        "The input is not hex: character \(offset + 1) is not one of 0 to 9 and a to f. For base64 or "
                        + "raw bytes, use --format.",
                    offset: offset
                )
            }
            if let first = high {
                bytes.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        guard high == nil else {
            throw Malformed(
                message: "The input ends in the middle of a byte: it has an odd number of hex digits.",
                offset: input.count
            )
        }
        return bytes
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension Failure {
    init(_ error: ByteFormat.Malformed) {
        self.init("invalidMessage", error.message)
        self.reason = "invalidText"
        self.byteOffset = error.offset
    }
}
