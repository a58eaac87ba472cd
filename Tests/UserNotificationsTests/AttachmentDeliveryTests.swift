// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Synchronization
import Testing

@testable import UserNotifications

/// Files that staged systems send with notifications.
@Suite struct AttachmentDeliveryTests {
    private typealias Receiving = ReceivingSystem

    @Test func `an image travels beside the notification, is shown small, and is gone with it (N-14, N-23, N-25)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: CopyingScaler()) { receiving in
                let image = TestFile.png(more: 300_000)
                let url = try files.file("photo", image)
                let attachment = try NotificationAttachment(identifier: "photo", url: url)
                // It is far larger than a notification may be.
                #expect(image.count > NotificationLimits.remotePayloadBytes)
                let connection = try await receiving.connect()
                var notification = Receiving.notification(attachment)
                // Nothing but its end wakes the receiver then.
                notification.deliveryID = nil
                #expect(try await connection.deliver(notification) == NotificationDelivery(.shown))
                // The sender may remove its file now.
                try FileManager.default.removeItem(at: url)
                let shown = try #require(receiving.screen.shown.first)
                let path = try #require(shown.imagePaths.first)
                #expect(path.hasSuffix(".thumbnail") && shown.imagePaths.count == 1)
                let kept = try #require(shown.content.attachments.first)
                #expect(kept.identifier == "photo" && kept.type == .png && kept.byteCount == image.count)
                try kept.withAccess { descriptor in
                    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
                    let bytes = try file.readToEnd()
                    #expect(bytes == Data(image))
                }
                // Only the user reads it, and programs do not change it.
                let attributes = try FileManager.default.attributesOfItem(atPath: try #require(kept.url).path)
                #expect(attributes[.posixPermissions] as? Int == 0o400)
                _ = try await connection.withdraw(["q"])
                try await receiving.stage.clock.advance(by: AttachmentTable.waitingTime)
                try await receiving.stage.eventually("the files are removed") { (try? files.kept) == [] }
                await connection.close()
            }
        }
    }

    @Test func `a video is shown with its poster, which is gone with it (N-25)`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: CopyingScaler(image: TestFile.png())) {
                receiving in
                let film = try NotificationAttachment(url: try files.file("film", Array("\0\0\0 ftypisom".utf8)))
                let connection = try await receiving.connect()
                var notification = Receiving.notification(film)
                // Nothing but its end wakes the receiver then.
                notification.deliveryID = nil
                #expect(try await connection.deliver(notification) == NotificationDelivery(.shown))
                let shown = try #require(receiving.screen.shown.first)
                let kept = try #require(shown.content.attachments.first)
                #expect(kept.type == .mp4 && kept.url?.path != shown.imagePaths.first)
                let poster = try #require(shown.imagePaths.first)
                #expect(FileManager.default.contents(atPath: poster) == Data(TestFile.png()))
                _ = try await connection.withdraw(["q"])
                try await receiving.stage.clock.advance(by: AttachmentTable.waitingTime)
                try await receiving.stage.eventually("the files are removed") { (try? files.kept) == [] }
                await connection.close()
            }
        }
    }

    @Test(arguments: [
        CopyingScaler(), CopyingScaler(result: .failed, image: TestFile.png()),
        CopyingScaler(result: .damaged, image: TestFile.png()),
        // What a thumbnailer makes is not believed.
        CopyingScaler(image: Array("no image".utf8)), CopyingScaler(image: TestFile.png(width: 4000, height: 4000)),
    ])
    func `a video without a poster is accepted and shown, and nothing else stays (N-25)`(copier: CopyingScaler)
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: copier) { receiving in
                let film = try NotificationAttachment(url: try files.file("film", Array("\0\0\0 ftypisom".utf8)))
                let connection = try await receiving.connect()
                #expect(try await connection.deliver(Receiving.notification(film)) == NotificationDelivery(.shown))
                let shown = try #require(receiving.screen.shown.first)
                #expect(shown.content.attachments.map(\.type) == [.mp4] && shown.imagePaths == [])
                let count = try files.kept.count
                #expect(count == 1)
                await connection.close()
            }
        }
    }

    /// Scales images at once, and makes no poster until it is released.
    private final class HangingThumbnailer: ImageScaler {
        private let begun = Mutex(false)
        private let released: AsyncStream<Void>
        private let release: AsyncStream<Void>.Continuation

        init() { (self.released, self.release) = AsyncStream.makeStream() }

        var hasBegun: Bool { self.begun.withLock { $0 } }
        func end() { self.release.finish() }

        func scale(_ path: String, to result: String) async -> ImageScaling {
            await CopyingScaler().scale(path, to: result)
        }

        func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling {
            self.begun.withLock { $0 = true }
            for await _ in self.released {}
            return .failed
        }
    }

    @Test func `a thumbnailer that hangs does not delay the image of another notification (N-25)`() async throws {
        try await AttachmentFiles.with { files in
            let scaler = HangingThumbnailer()
            try await Receiving.with(attachments: files.received, scaler: scaler) { receiving in
                let film = try NotificationAttachment(url: try files.file("film", Array("\0\0\0 ftypisom".utf8)))
                let photo = try NotificationAttachment(url: try files.file("photo"))
                let connection = try await receiving.connect()
                let delivery = Task { try await connection.deliver(Receiving.notification(film)) }
                try await receiving.stage.eventually("the thumbnailer hangs") { scaler.hasBegun }
                var other = Receiving.notification(photo)
                other.request.identifier = "other"
                #expect(try await connection.deliver(other) == NotificationDelivery(.shown))
                #expect(receiving.screen.shown.map(\.imagePaths.count) == [1])
                scaler.end()
                #expect(try await delivery.value == NotificationDelivery(.shown))
                await connection.close()
            }
        }
    }

    @Test func `a file that the receiver has is not sent again`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let attachment = try NotificationAttachment(url: try files.file("photo"))
                let connection = try await receiving.connect()
                _ = try await connection.deliver(Receiving.notification(attachment))
                // It could not be sent a second time.
                try FileManager.default.removeItem(at: try #require(attachment.url))
                #expect(
                    try await connection.deliver(Receiving.notification(attachment)) == NotificationDelivery(.shown)
                )
                #expect(receiving.screen.shown.first?.content.attachments.count == 1)
                // Nothing scales it here, and a desktop does not decode what comes from other systems.
                #expect(receiving.screen.shown.first?.imagePaths.isEmpty == true)
                let count = try files.kept.count
                #expect(count == 1)
                await connection.close()
            }
        }
    }

    @Test func `an image that is cut off is left out with the reason, and the text is shown (X-50)`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: CopyingScaler()) { receiving in
                let whole = TestFile.png()
                let half = try files.file("half", Array(whole.prefix(whole.count / 2)))
                // Its sender has not noticed it.
                let file = try AttachmentFile(path: half.path(percentEncoded: false))
                var attachment = NotificationAttachment("half", file, isThumbnailHidden: false)
                attachment.path = half.path(percentEncoded: false)
                let connection = try await receiving.connect()
                let delivery = try await connection.deliver(
                    Receiving.notification(
                        attachment,
                        try NotificationAttachment(identifier: "whole", url: try files.file("whole", whole))
                    )
                )
                #expect(delivery.status == .shown)
                #expect(delivery.reason?.contains("'half' was left out. The image is cut off") == true, "\(delivery)")
                let shown = try #require(receiving.screen.shown.first)
                #expect(shown.content.title == "Deploy?")
                #expect(shown.content.attachments.map(\.identifier) == ["whole"])
                await connection.close()
            }
        }
    }

    @Test func `a bad file of another system is left out, the sender learns why, and the rest is shown (X-50)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received, scaler: CopyingScaler(result: .damaged)) {
                receiving in
                let broken = try NotificationAttachment(identifier: "broken", url: try files.file("photo"))
                let url = try files.file("sound", Array("ID3\u{3} the music".utf8))
                let changed = try NotificationAttachment(identifier: "changed", url: url)
                try Data("ID3\u{3} the noise".utf8).write(to: url)
                let longer = try NotificationAttachment(
                    identifier: "longer",
                    url: try files.file("longer", Array("ID3\u{3} more".utf8))
                )
                try Data("ID3\u{3} more and more".utf8).write(to: files.directory.appending(path: "longer"))
                let good = try NotificationAttachment(
                    identifier: "good",
                    url: try files.file("video", [0, 0, 1, 0xBA, 0x44])
                )
                let connection = try await receiving.connect()
                let delivery = try await connection.deliver(Receiving.notification(broken, changed, longer, good))
                #expect(delivery.status == .shown)
                let reason = try #require(delivery.reason)
                #expect(reason.contains("'broken' was left out. The image cannot be decoded."), "\(reason)")
                #expect(reason.contains("'changed' was left out. The file has changed since it was attached."))
                #expect(reason.contains("'longer' was left out. The receiving system takes at most 9 bytes."))
                let shown = try #require(receiving.screen.shown.first)
                #expect(shown.content.title == "Deploy?")
                #expect(shown.content.attachments.map(\.identifier) == ["good"])
                let count = try files.kept.count
                #expect(count == 1)
                await connection.close()
            }
        }
    }

    @Test func `a file that its sender cannot read any more is an error before anything is sent`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let attachment = try NotificationAttachment(url: try files.file("photo"))
                try FileManager.default.removeItem(at: try #require(attachment.url))
                let connection = try await receiving.connect()
                let error = await #expect(throws: NotificationError.self) {
                    try await connection.deliver(Receiving.notification(attachment))
                }
                #expect(error?.code == .attachmentInvalid)
                #expect(receiving.screen.shown.isEmpty)
                await connection.close()
            }
        }
    }

    @Test func `a file that stops arriving gives its place back within seconds`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let stage = receiving.stage
                let attachment = try NotificationAttachment(url: try files.file("photo", TestFile.png(more: 300_000)))
                let raw = try await stage.connect(to: receiving.host, service: NotificationMessage.service)
                let response = try await raw.send(NotificationMessage.attach(attachment)).get()
                let stream = try await raw.openStream(response["Ticket"])
                try await stream.write([1])
                try await stage.eventually("the receiver receives it") {
                    (try? files.kept.contains { $0.hasPrefix("incoming-") }) == true
                }
                #expect(await receiving.receiver.attachments.uploads.count == 1)
                try await stage.clock.advance(by: AttachmentTable.timeToBegin + .seconds(2))
                try await stage.eventually("its place is free") {
                    await receiving.receiver.attachments.uploads.isEmpty
                }
                await #expect(throws: RemoteSystemError.self) { try await stream.read() }
                await raw.close()
            }
        }
    }

    @Test func `a sender with the most files that arrive loses the newest one to another sender, and learns why`()
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let raw = try await receiving.stage.connect(to: receiving.host, service: NotificationMessage.service)
                var streams: [RemoteSystemStream] = []
                for number in 0..<AttachmentTable.maxUploadsOfHolder {
                    let url = try files.file("photo\(number)", TestFile.png(more: 300_000 + number))
                    let request = NotificationMessage.attach(try NotificationAttachment(url: url))
                    let stream = try await raw.openStream(try await raw.send(request).get()["Ticket"])
                    try await stream.write([1])
                    streams.append(stream)
                }
                for number in UInt8(0)..<13 {
                    let sender = NotificationSender(systemID: "system \(number / 3)", application: "a")
                    let digest = try #require(AttachmentDigest(Array(repeating: number, count: 32)))
                    let upload = try await receiving.receiver.beginUpload(of: digest, 1000, for: sender)
                    #expect(upload != nil)
                }
                let newest = streams.removeLast()
                let error = await #expect(throws: RemoteSystemError.self) { try await newest.read() }
                let message = error?.message ?? ""
                #expect(message.contains("this sender sends the most. Try again"), "\(message)")
                // So that the sender repeats it, and does not leave out the file.
                let code = error?.failureCode.flatMap(NotificationMessage.code(ofFailure:))
                #expect(code == .rateLimited && error?.canRetry == true)
                try await receiving.stage.eventually("nothing of it is left") {
                    (try? files.kept.count(where: { $0.hasPrefix("incoming-") })) == streams.count
                }
                await raw.close()
            }
        }
    }

    @Test func `the small images of files are counted, also by a process that starts later`() async throws {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received, scaler: CopyingScaler()) { receiving in
                let attachment = try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                let connection = try await receiving.connect()
                _ = try await connection.deliver(Receiving.notification(attachment))
                let length = Int64(TestFile.png().count)
                #expect(await receiving.receiver.attachments.files.values.map(\.thumbnailBytes) == [length])
                await connection.close()
                let (_, next) = try await receiving.restart(files, store)
                #expect(await next.attachments.files.values.map(\.thumbnailBytes) == [length])
            }
        }
    }

    @Test func `a system that keeps no attachments shows the notification without them`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with { receiving in
                let attachment = try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                let connection = try await receiving.connect()
                let delivery = try await connection.deliver(Receiving.notification(attachment))
                #expect(delivery.status == .shown)
                #expect(delivery.reason == "The attachment 'photo' was left out. This system keeps no attachments.")
                await connection.close()
            }
        }
    }

    @Test func `a process that starts later has the files, and shows without them what has lost them`() async throws {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received, scaler: CopyingScaler()) { receiving in
                let attachment = try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                let connection = try await receiving.connect()
                _ = try await connection.deliver(Receiving.notification(attachment))
                await connection.close()
                // What a process has not received completely, and what has lost its notification.
                _ = try files.file("kept/incoming-7.12.part")
                _ = try files.file("kept/\(String(repeating: "a", count: 52)).png")
                func restart() async throws -> (StagedNotificationPresenter, NotificationReceiver) {
                    let (screen, next) = try await receiving.restart(files, store)
                    await next.showRestored()
                    try await receiving.stage.eventually("it is shown") { screen.shown.count == 1 }
                    return (screen, next)
                }
                let (screen, next) = try await restart()
                let shown = screen.shown.first
                #expect(shown?.content.attachments.map(\.identifier) == ["photo"] && shown?.imagePaths.count == 1)
                try await receiving.stage.clock.advance(by: AttachmentTable.graceTime)
                try await receiving.stage.eventually("only its files are left") { (try? files.kept.count) == 2 }
                #expect(await next.attachments.files.count == 1)
                for name in try files.kept {
                    try FileManager.default.removeItem(at: files.directory.appending(path: "kept/\(name)"))
                }
                let without = try await restart().0.shown.first
                #expect(without?.content.title == "Deploy?" && without?.content.attachments.isEmpty == true)
            }
        }
    }

    @Test func `a linked account sends no files, and a sender that the user has denied none either`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let connection = AppServiceConnection(to: NotificationMessage.description)
                let digest = try NotificationAttachment(url: try files.file("photo")).digest
                func refusal(_ sender: NotificationSender) async -> NotificationError.Code? {
                    do throws(NotificationError) {
                        _ = try await receiving.receiver.attach(digest, 100, from: sender, over: connection)
                        return nil
                    } catch {
                        return error.code
                    }
                }
                let linked = NotificationSender(systemID: "s", application: "a", linkedAccountID: "l")
                #expect(await refusal(linked) == .notAuthorized)
                // It does not learn either whether a file is here.
                let attachment = try NotificationAttachment(identifier: "x", url: try files.file("other"))
                let named = try await receiving.receiver.locate(Receiving.notification(attachment), isLinked: true)
                #expect(named.0 == "Only systems of the same account send attachments.")
                #expect(named.1.request.content.attachments.isEmpty)
                try await receiving.receiver.set(.denied, for: .init(system: "s"))
                #expect(await refusal(NotificationSender(systemID: "s", application: "a")) == .notAuthorized)
                #expect(try files.kept.isEmpty)
            }
        }
    }

    @Test func `a sender that names files which are not here gets none of them shown`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let (sender, attachment) = (
                    NotificationSender(systemID: "s", application: "a"),
                    try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                )
                let (reason, located) = try await receiving.receiver.locate(Receiving.notification(attachment))
                #expect(reason?.contains("photo") == true && located.request.content.attachments.isEmpty)
                // A program of this system learns that it has to send it.
                var message = NotificationMessage.schedule(Receiving.notification(attachment))
                message["Trigger"] = ["Milliseconds": 1000]
                do throws(NotificationError) {
                    _ = try await receiving.receiver.schedule(message, by: sender)
                    Issue.record("It was scheduled without its file.")
                } catch {
                    #expect(error.code == .attachmentInvalid && error.field == "content.attachments")
                }
                #expect(await receiving.receiver.pending.all.isEmpty)
            }
        }
    }
}

extension NotificationReceiver {
    /// As for a notification of another system.
    fileprivate func locate(
        _ notification: RemoteNotification,
        isLinked: Bool = false
    ) throws -> (String?, RemoteNotification) {
        var notification = notification
        return (try self.locateAttachments(of: &notification, isLocal: false, arePermitted: !isLinked), notification)
    }
}
