// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystemsTesting
import Testing

@testable import UserNotifications

/// What is found out about an image without decoding it.
@Suite struct ImageStructureTests {
    private static func damage(_ bytes: [UInt8]) -> ImageDamage? {
        Self.format(bytes)?.damage { offset, count in Self.part(of: bytes, offset, count) }
    }

    private static func format(_ bytes: [UInt8]) -> AttachmentFormat? {
        AttachmentFormat { offset, count in Self.part(of: bytes, offset, count) }
    }

    private static func part(of bytes: [UInt8], _ offset: Int64, _ count: Int) -> [UInt8] {
        offset < Int64(bytes.count) ? Array(bytes.dropFirst(Int(offset)).prefix(count)) : []
    }

    /// Images of other programs: a PNG image, an animation of two images, and a JPEG image.
    private static let images = [
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "R0lGODlhBAADAPAAAP8AAAAAACH5BAAAAAAAIf8LTkVUU0NBUEUyLjADAQAAACwAAAAABAADAAACA4SPVgAh+QQAAAAAACwAAAAABAADAIAA"
            + "AP8AAAACA4SPVgA7",
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxOQERXRTc4UG1R"
            + "V19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2Nj"
            + "Y2NjY2NjY2NjY2NjY2P/wAARCAADAAQDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAA"
            + "AAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABQb/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCKALXj/9k=",
    ]

    @Test(arguments: Self.images)
    func `an image is whole, and cut off wherever it ends before (X-50)`(image: String) throws {
        let bytes = [UInt8](try #require(Data(base64Encoded: image)))
        #expect(Self.damage(bytes) == nil)
        // Some programs write more after the image.
        #expect(Self.damage(bytes + [1, 2, 3]) == nil)
        // The shorter ones may not have a header.
        for count in 26..<bytes.count { #expect(Self.damage(Array(bytes.prefix(count))) == .cut, "\(count)") }
    }

    @Test func `a large image is followed through all its blocks (X-50)`() {
        let bytes = TestFile.png(more: 9000)
        #expect(Self.damage(bytes) == nil)
        for count in stride(from: 4000, to: bytes.count, by: 96) {
            #expect(Self.damage(Array(bytes.prefix(count))) == .cut, "\(count)")
            var changed = bytes
            changed[count] ^= 1
            #expect(Self.damage(changed) != nil, "\(count)")
        }
    }

    @Test func `every changed bit of a PNG image is found (X-50)`() throws {
        let image = [UInt8](try #require(Data(base64Encoded: Self.images[0])))
        for index in 8..<image.count {
            for bit in UInt8(0)..<8 {
                var changed = image
                changed[index] ^= 1 << bit
                // Without its header it is refused before.
                let isFound = Self.damage(changed) != nil || Self.format(changed)?.pixels == nil
                #expect(isFound, "bit \(bit) of byte \(index)")
            }
        }
    }

    private static func bytes(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap(\.self) }
    private static let png = TestFile.png()
    private static let gif = Array("GIF89a".utf8)
    private static let jpeg = Array(TestFile.jpeg().dropLast(2))

    @Test(arguments: [
        // A PNG image without data, one with a chunk that has no name, and a length of 4 GB.
        (Self.bytes(Array(Self.png.prefix(33)), Array(Self.png.suffix(12))), ImageDamage.damaged),
        (Self.bytes(Array(Self.png.prefix(33)), [UInt8](repeating: 0, count: 40)), .damaged),
        (Self.bytes(Array(Self.png.prefix(8)), [0xFF, 0xFF, 0xFF, 0xFF], Array(Self.png.dropFirst(12))), .cut),
        // A GIF image without a picture, one with an unknown block, and one that ends in its table of colours.
        (Self.bytes(Self.gif, [4, 0, 3, 0, 0, 0, 0, 0x3B]), .damaged),
        (Self.bytes(Self.gif, [4, 0, 3, 0, 0, 0, 0, 0x7F]), .damaged),
        (Self.bytes(Self.gif, [4, 0, 3, 0, 0x87, 0, 0, 0x2C, 0, 0x3B]), .cut),
        // A JPEG image without a scan, and one with a segment of no length.
        ([0xFF, 0xD8, 0xFF, 0xC0, 0, 8, 8, 0, 3, 0, 4, 0, 0xFF, 0xD9], .damaged),
        (Self.bytes(Self.jpeg, [0xFF, 0xDB, 0, 1, 0xFF, 0xD9]), .damaged),
    ])
    func `an image with parts that cannot be its own is damaged (X-50)`(bytes: [UInt8], damage: ImageDamage) {
        #expect(Self.damage(bytes) == damage)
    }

    @Test func `a damaged text beside a PNG image does not concern it`() {
        let text: [UInt8] = [0, 0, 0, 4] + Array("tEXt".utf8) + Array("a\0bc".utf8) + [1, 2, 3, 4]
        var image = Self.png
        image.insert(contentsOf: text, at: 33)
        #expect(Self.damage(image) == nil)
    }

    @Test func `a marker inside of a scan is none, and a scan may be divided`() {
        let start = Self.jpeg
        #expect(Self.damage(start + [0xFF, 0xD0, 7, 0xFF, 0, 0xD9, 0xFF, 0xFF, 0xFF, 0xD9]) == nil)
        #expect(Self.damage(start + [0xFF, 0xD0, 7, 0xFF, 0, 0xD9]) == .cut)
        // A progressive image has tables between its scans.
        #expect(Self.damage(start + [0xFF, 0xC4, 0, 3, 0, 0xFF, 0xDA, 0, 2, 1, 2, 0xFF, 0xD9]) == nil)
    }

    @Test func `sounds and videos are not looked into`() {
        #expect(Self.damage(Array("ID3\u{3}".utf8)) == nil)
        #expect(Self.damage([0, 0, 1, 0xBA, 0x44]) == nil)
    }

    @Test func `without a decoder, damaged images are left out, and a program cannot attach them (X-50)`() async throws
    {
        try await AttachmentFiles.with { files in
            try await ReceivingSystem.with(attachments: files.received) { receiving in
                var changed = TestFile.png()
                changed[50] ^= 1
                var attachments: [NotificationAttachment] = []
                for (name, bytes) in [("changed", changed), ("half", Array(TestFile.gif().dropLast()))] {
                    let url = try files.file(name, bytes)
                    #expect(throws: NotificationError.self) { try NotificationAttachment(url: url) }
                    // Its sender has not noticed it.
                    let path = url.path(percentEncoded: false)
                    let file = try AttachmentFile(path: path)
                    var attachment = NotificationAttachment(name, file, isThumbnailHidden: false)
                    attachment.path = path
                    attachments.append(attachment)
                }
                attachments.append(
                    try NotificationAttachment(identifier: "whole", url: try files.file("whole", TestFile.jpeg()))
                )
                var notification = ReceivingSystem.question()
                notification.request.content.attachments = attachments
                let connection = try await receiving.connect()
                let delivery = try await connection.deliver(notification)
                #expect(delivery.status == .shown)
                let reason = try #require(delivery.reason)
                #expect(reason.contains("'changed' was left out. The image is damaged."), "\(reason)")
                #expect(reason.contains("'half' was left out. The image is cut off: its end is missing."), "\(reason)")
                let shown = try #require(receiving.screen.shown.first)
                #expect(shown.content.attachments.map(\.identifier) == ["whole"])
                await connection.close()
            }
        }
    }
}
