// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import RemoteSystemsTesting
import Testing
import ValueSets

@testable import UserNotifications

/// Files that a program attaches, good and bad.
@Suite final class AttachmentFileTests {
    private let directory: URL

    init() throws {
        self.directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: self.directory) }

    private func file(_ bytes: [UInt8], named name: String = "file", size: UInt64? = nil) throws -> URL {
        let url = self.directory.appending(path: name)
        try Data(bytes).write(to: url)
        if let size {
            let handle = try FileHandle(forWritingTo: url)
            try handle.truncate(atOffset: size)
            try handle.close()
        }
        return url
    }

    private func error(_ url: URL) -> NotificationError? {
        do throws(NotificationError) {
            _ = try NotificationAttachment(url: url)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an attachment has the format of its content, its size, and an identifier of its own (N-21)`() throws {
        let url = try self.file(TestFile.jpeg(), named: "picture.png")
        let (one, other) = (try NotificationAttachment(url: url), try NotificationAttachment(url: url))
        #expect(one.type == .jpeg && one.type.kind == .image && one.byteCount == TestFile.jpeg().count)
        #expect(one.url == url && !one.identifier.isEmpty && one.identifier != other.identifier)
        #expect(try NotificationAttachment(identifier: "photo", url: url).id == "photo")
    }

    @Test func `a kept file is changed if it is missing or has another content, and not if it cannot be read`() throws {
        let url = try self.file(TestFile.png())
        let digest = try NotificationAttachment(url: url).digest
        #expect(AttachmentFile.isUnchanged(path: url.path, digest) == true)
        let missing = self.directory.appending(path: "missing")
        #expect(AttachmentFile.isUnchanged(path: missing.path, digest) == false)
        #expect(AttachmentFile.isUnchanged(path: self.directory.path, digest) == false)
        let link = self.directory.appending(path: "link")
        try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: link.path)
        #expect(AttachmentFile.isUnchanged(path: link.path, digest) == nil)
        for bytes in [[], Array("another".utf8)] as [[UInt8]] {
            let other = try self.file(bytes, named: "other")
            #expect(AttachmentFile.isUnchanged(path: other.path, digest) == false)
        }
    }

    @Test func `a program learns at once that an image is cut off (X-50)`() async throws {
        let whole = TestFile.png()
        let half = try self.file(Array(whole.prefix(whole.count / 2)), named: "half")
        #expect(self.error(half)?.code == .attachmentInvalid)
        #expect(self.error(half)?.message.contains("its end is missing") == true)
        let error = await #expect(throws: NotificationError.self) { try await NotificationAttachment(contentsOf: half) }
        #expect(error?.code == .attachmentInvalid)
        #expect(self.error(try self.file(whole, named: "whole")) == nil)
    }

    @Test func `an attachment whose file is read on another thread is the same, and so are its errors (N-21)`()
        async throws
    {
        let url = try self.file(TestFile.png(more: 300_000))
        let one = try NotificationAttachment(identifier: "photo", url: url, isThumbnailHidden: true)
        let other = try await NotificationAttachment(identifier: "photo", contentsOf: url, isThumbnailHidden: true)
        #expect(one == other && other.url == url)
        let web = try #require(URL(string: "https://example.com/a.png"))
        for bad in [web, self.directory, self.directory.appending(path: "none"), try self.file([])] {
            let expected = try #require(self.error(bad))
            let error = await #expect(throws: NotificationError.self) {
                try await NotificationAttachment(contentsOf: bad)
            }
            #expect(error == expected)
        }
    }

    @Test(arguments: ["https://example.com/a.png", "data:image/png;base64,iVBORw0KGgo="])
    func `only a local file can be attached (N-21)`(text: String) throws {
        let url = try #require(URL(string: text))
        let error = try #require(self.error(url))
        #expect(error.code == .attachmentInvalid && error.message.contains("Download it first"))
    }

    @Test func `a missing file, a directory and a pipe are refused at once, with the reason`() throws {
        #expect(self.error(self.directory.appending(path: "none"))?.message.contains("No such file") == true)
        #expect(self.error(self.directory)?.message.contains("not a regular file") == true)
        let pipe = self.directory.appending(path: "pipe")
        let isMade = unsafe mkfifo(pipe.path, 0o600) == 0
        #expect(isMade)
        #expect(self.error(pipe)?.message.contains("not a regular file") == true)
        #expect(self.error(try self.file([]))?.message.contains("it is empty") == true)
        #expect(self.error(try self.file(Array("#!/bin/sh".utf8), named: "a.png"))?.code == .attachmentInvalid)
    }

    @Test(arguments: [NotificationAttachmentType.Kind.image, .audio, .video])
    func `images have at most 10 MB, sounds 5 MB, videos 50 MB (X-50)`(kind: NotificationAttachmentType.Kind) throws {
        let (head, max): ([UInt8], UInt64) =
            switch kind {
            case .image: (TestFile.png(), 10_000_000)
            case .audio: (Array("ID3\u{3}".utf8), 5_000_000)
            case .video: ([0, 0, 1, 0xBA], 50_000_000)
            }
        #expect(self.error(try self.file(head, size: max)) == nil)
        let error = try #require(self.error(try self.file(head, size: max + 1)))
        #expect(error.code == .attachmentInvalid && error.message.contains("\(max + 1) bytes"))
        #expect(error.message.contains("at most \(max)"))
    }

    @Test func `an image that would take all memory when it is shown is refused`() throws {
        let bomb = self.error(try self.file(TestFile.png(width: 100_000, height: 100_000)))
        #expect(bomb?.message.contains("more than 50 million pixels") == true)
        #expect(self.error(try self.file(TestFile.gif(width: 60_000, height: 60_000)))?.code == .attachmentInvalid)
        #expect(self.error(try self.file(TestFile.png(width: 0, height: 3)))?.message.contains("damaged") == true)
        #expect(self.error(try self.file(TestFile.png(width: 8000, height: 6000))) == nil)
    }

    @Test func `two attachments of a notification have different identifiers, and there are at most eight (N-21)`()
        throws
    {
        let url = try self.file(TestFile.png())
        var content = NotificationContent(title: "Photos")
        content.attachments = [
            try NotificationAttachment(identifier: "a", url: url),
            try NotificationAttachment(identifier: "a", url: url),
        ]
        #expect(throws: NotificationError.self) { try content.validate() }
        content.attachments = try (0..<8).map { try NotificationAttachment(identifier: "\($0)", url: url) }
        try content.validate()
        content.attachments.append(try NotificationAttachment(identifier: "8", url: url))
        #expect(throws: NotificationError.self) { try content.validate() }
        #expect(throws: NotificationError.self) { try NotificationAttachment(identifier: "", url: url) }
    }

    @Test func `the content survives its value set, which says nothing about the place of a file`() throws {
        let attachment = try NotificationAttachment(
            identifier: "photo",
            url: try self.file(TestFile.png()),
            isThumbnailHidden: true
        )
        var content = NotificationContent(title: "Photo")
        content.attachments = [attachment]
        #expect("\(content.valueSet)".contains(self.directory.path) == false)
        let read = try #require(try NotificationContent(content.valueSet).attachments.first)
        #expect(read.identifier == "photo" && read.type == .png && read.byteCount == attachment.byteCount)
        #expect(read.isThumbnailHidden && read.digest == attachment.digest && read.url == nil)
        #expect(throws: NotificationError.self) { try read.withAccess { _ in } }
    }

    @Test func `a format of a later version is left out, and a value that cannot be one is an error`() throws {
        let attachment = try NotificationAttachment(url: try self.file(TestFile.png()))
        var set = NotificationContent(title: "Photo").valueSet
        var later = attachment.valueSet
        later["Type"] = "image/jxl"
        set["Attachments"] = [.dictionary(later)]
        #expect(try NotificationContent(set).attachments.isEmpty)
        for (key, value): (String, Value) in [("Digest", "x"), ("Digest", .data(Data([1]))), ("Size", 0), ("Size", -1)]
        {
            var bad = attachment.valueSet
            bad[key] = value
            set["Attachments"] = [.dictionary(bad)]
            do throws(NotificationError) {
                _ = try NotificationContent(set)
                Issue.record("It was read: \(key)")
            } catch {
                #expect(error.field == "Attachments[0].\(key)")
            }
        }
    }

    @Test func `an application without a daemon shows the image of its own file (N-24)`() async throws {
        let desktop = StagedNotificationPresenter()
        let center = UserNotificationCenter(presenter: desktop, applicationName: "Photos")
        let url = try self.file(TestFile.png())
        var content = NotificationContent(title: "Photo")
        content.attachments = [try NotificationAttachment(url: url)]
        try await center.add(NotificationRequest(identifier: "1", content: content))
        #expect(desktop.shown.first?.imagePaths == [url.path])
        content.attachments[0].isThumbnailHidden = true
        try await center.add(NotificationRequest(identifier: "1", content: content))
        #expect(desktop.shown.first?.imagePaths == [])
    }
}
