// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import UserNotifications

@Suite struct AttachmentFormatTests {
    private static func format(_ bytes: [UInt8]) -> AttachmentFormat? {
        AttachmentFormat { offset, count in Array(bytes.dropFirst(Int(offset)).prefix(count)) }
    }

    @Test(arguments: [
        (TestFile.png(), NotificationAttachmentType.png), (TestFile.jpeg(), .jpeg), (TestFile.gif(), .gif),
        (Array("FORM....AIFF".utf8), .aiff), (Array("FORM....AIFC".utf8), .aiff),
        (Array("RIFF....WAVEfmt ".utf8), .wav),
        (Array("ID3\u{3}".utf8), .mp3), ([0xFF, 0xFB, 0x90, 0x64], .mp3), ([0xFF, 0xF3, 0x40, 0xC0], .mp3),
        (Array("\0\0\0 ftypM4A ".utf8), .m4a), (Array("\0\0\0 ftypisom".utf8), .mp4),
        ([0, 0, 1, 0xBA, 0x44], .mpeg), ([0, 0, 1, 0xB3, 0x14], .mpeg), (Array("RIFF....AVI LIST".utf8), .avi),
    ])
    func `every format that Apple documents is recognised by its content (X-50)`(
        bytes: [UInt8],
        type: NotificationAttachmentType
    ) {
        #expect(Self.format(bytes)?.type == type)
    }

    @Test(arguments: [
        [], [0x89], Array("GIF90a".utf8), Array("RIFF....WEBP".utf8), Array("#!/bin/sh\n".utf8),
        Array("<svg xmlns=".utf8), Array("\0\0\0 ftypheic".utf8), Array("\0\0\0 ftypavif".utf8),
        [0xFF, 0xFF, 0xFF, 0xFF], [0x7F, 0x45, 0x4C, 0x46],
    ])
    func `nothing else is an attachment`(bytes: [UInt8]) {
        #expect(Self.format(bytes) == nil)
    }

    @Test func `the size of an image is read from its header`() {
        #expect(Self.format(TestFile.png(width: 640, height: 480))?.pixels == 307_200)
        #expect(Self.format(TestFile.gif(width: 0x0201, height: 3))?.pixels == 1539)
        #expect(Self.format(TestFile.jpeg(width: 4000, height: 3000))?.pixels == 12_000_000)
        // The tables and the preview of a camera come before the size.
        let camera = TestFile.jpeg(width: 4000, height: 3000, segments: 40, segmentBytes: 60_000)
        #expect(Self.format(camera)?.pixels == 12_000_000)
        #expect(Self.format(TestFile.png(width: .max, height: .max))?.pixels == Int.max)
    }

    @Test func `a header that states no size, or never ends, has none`() {
        #expect(Self.format(Array(TestFile.png().prefix(20)))?.pixels == nil)
        #expect(Self.format(Array(TestFile.jpeg().prefix(6)))?.pixels == nil)
        #expect(Self.format([0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 4096))?.pixels == nil)
        #expect(Self.format([0xFF, 0xD8, 0xFF, 0xE0, 0, 0] + [UInt8](repeating: 0, count: 16))?.pixels == nil)
        #expect(Self.format(TestFile.jpeg(segments: 600, segmentBytes: 2))?.pixels == nil)
    }
}

/// Files of the formats of attachments.
enum TestFile {
    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        (0..<number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        var rest = UInt32.max
        // The checksum bit by bit (ISO 15948, annex D).
        for byte in body {
            rest ^= UInt32(byte)
            for _ in 0..<8 { rest = rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1 }
        }
        return Self.bytes(UInt32(data.count)) + body + Self.bytes(~rest)
    }

    /// An image whose chunks are right, though not the data in them: enough for every check but the decoding.
    static func png(width: UInt32 = 4, height: UInt32 = 3, more: Int = 64) -> [UInt8] {
        let header = Self.bytes(width) + Self.bytes(height) + [8, 2, 0, 0, 0]
        var png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        png += Self.chunk("IHDR", header)
        png += Self.chunk("IDAT", [UInt8](repeating: 0, count: more))
        png += Self.chunk("IEND", [])
        return png
    }

    /// An image whose blocks are right.
    static func gif(width: UInt16 = 4, height: UInt16 = 3) -> [UInt8] {
        var gif = Array("GIF89a".utf8) + Self.bytes(width.byteSwapped) + Self.bytes(height.byteSwapped) + [0, 0, 0]
        gif += [0x2C, 0, 0, 0, 0, 4, 0, 3, 0, 0, 2, 3, 0x84, 0x8F, 0x56, 0, 0x3B]
        return gif
    }

    /// An image whose segments are right.
    static func jpeg(
        width: UInt16 = 4,
        height: UInt16 = 3,
        segments: Int = 1,
        segmentBytes: UInt16 = 16
    ) -> [UInt8] {
        var jpeg: [UInt8] = [0xFF, 0xD8]
        for _ in 0..<segments {
            jpeg += [0xFF, 0xE1] + Self.bytes(segmentBytes) + [UInt8](repeating: 0, count: Int(segmentBytes) - 2)
        }
        jpeg += [0xFF, 0xC2, 0, 17, 8] + Self.bytes(height) + Self.bytes(width) + [UInt8](repeating: 0, count: 10)
        // A scan, and the end.
        return jpeg + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 0x3F, 0, 0x12, 0xFF, 0, 0x34, 0xFF, 0xD9]
    }
}
