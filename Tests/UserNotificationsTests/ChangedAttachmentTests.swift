// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting
import Testing

@testable import UserNotifications

/// Files of notifications that another program has changed, removed or made unreadable since they arrived.
@Suite struct ChangedAttachmentTests {
    private typealias Receiving = ReceivingSystem

    @Test func `a file that another program has changed is received again, also for those that have it (N-42)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let song = Array("ID3\u{3} the music".utf8)
                let attachment = try NotificationAttachment(url: try files.file("song", song))
                let connection = try await receiving.connect()
                _ = try await connection.deliver(Receiving.notification(attachment))
                let kept = try #require(receiving.screen.shown.first?.content.attachments.first?.url)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: kept.path)
                try Data("ID3\u{3} the noise".utf8).write(to: kept)
                var other = Receiving.notification(attachment)
                other.request.identifier = "other"
                #expect(try await connection.deliver(other) == NotificationDelivery(.shown))
                let shown = try #require(receiving.screen.shown.last?.content.attachments.first?.url)
                let bytes = try Data(contentsOf: shown)
                #expect(bytes == Data(song) && shown == kept)
                await connection.close()
            }
        }
    }

    @Test func `a process that starts later reads no file before it is used, and then shows no changed one (N-42)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received) { receiving in
                let connection = try await receiving.connect()
                let whole = try NotificationAttachment(identifier: "whole", url: try files.file("whole"))
                let changed = try NotificationAttachment(
                    identifier: "changed",
                    url: try files.file("changed", TestFile.png(more: 65))
                )
                _ = try await connection.deliver(Receiving.notification(whole, changed))
                await connection.close()
                try FileManager.default.removeItem(
                    at: files.directory.appending(path: "kept/\(changed.digest).png")
                )
                _ = try files.file("kept/\(changed.digest).png", TestFile.png(more: 66))
                let (screen, next) = try await receiving.restart(files, store)
                // The service is offered at once, however many files there are.
                let unread = await next.attachments.files.values.map(\.isChecked)
                #expect(unread == [false, false])
                // Another program would open it without a check.
                let early = await next.list().first?.notification.request.content.attachments
                #expect(
                    early?.map(\.identifier) == ["whole", "changed"] && early?.allSatisfy { $0.path == nil } == true
                )
                await next.showRestored()
                try await receiving.stage.eventually("it is shown") { screen.shown.count == 1 }
                #expect(screen.shown.first?.content.attachments.map(\.identifier) == ["whole"])
                let listed = await next.list().first?.notification.request.content.attachments.map(\.identifier)
                #expect(listed == ["whole"])
                let path = await next.list().first?.notification.request.content.attachments.first?.path
                #expect(path?.hasSuffix("\(whole.digest).png") == true)
                let read = await next.attachments.files
                #expect(read.count == 1 && read[whole.digest]?.isChecked == true)
                try await receiving.stage.eventually("the changed file is removed") {
                    (try? files.kept) == ["\(whole.digest).png"]
                }
            }
        }
    }

    @Test func `what is not shown again, and what an extension gets, is checked as well (N-42)`() async throws {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received) { receiving in
                let connection = try await receiving.connect()
                let attachment = try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                _ = try await connection.deliver(Receiving.notification(attachment))
                await connection.close()
                let kept = files.directory.appending(path: "kept/\(attachment.digest).png")
                try FileManager.default.removeItem(at: kept)
                _ = try files.file("kept/\(attachment.digest).png", TestFile.png(more: 66))
                let (_, next) = try await receiving.restart(files, store)
                let content = try #require(await next.received.all.first?.notification.request.content)
                #expect(content.attachments.count == 1)
                let used = await next.checkAttachments(of: content)
                #expect(used.attachments.isEmpty)
                await next.checkRestoredAttachments()
                let listed = await next.list().first?.notification.request.content.attachments
                #expect(listed?.isEmpty == true)
            }
        }
    }

    @Test func `lists of what waits name a damaged file as damaged, and not where it is (N-42)`() async throws {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received) { receiving in
                let connection = try await receiving.connect()
                let whole = try NotificationAttachment(identifier: "whole", url: try files.file("whole"))
                let damaged = try NotificationAttachment(
                    identifier: "damaged",
                    url: try files.file("damaged", TestFile.png(more: 65))
                )
                _ = try await connection.deliver(Receiving.notification(whole, damaged))
                await connection.close()
                let program = NotificationSender(systemID: "s", application: "a", isLocal: true)
                var later = Receiving.notification(whole, damaged)
                later.request.trigger = .timeInterval(.seconds(86_400), repeats: false)
                _ = try await receiving.receiver.schedule(later, by: program)
                let message = NotificationMessage.post(
                    Receiving.notification(whole, damaged),
                    to: [String(repeating: "a", count: 52)]
                )
                try await receiving.receiver.post(message, by: program)
                let kept = files.directory.appending(path: "kept/\(damaged.digest).png")
                try FileManager.default.removeItem(at: kept)
                _ = try files.file("kept/\(damaged.digest).png", TestFile.png(more: 66))

                let (_, next) = try await receiving.restart(files, store)
                func listed() async throws -> [[NotificationAttachment]] {
                    let pending = try #require(await next.pending.all.first?.notification)
                    let posted = try #require(await next.posted().first)
                    let page = try NotificationPage([posted], own: nil, after: nil)
                    // As a program reads it.
                    let read = try PostedNotification(try #require(page.sets.first))
                    return [await next.withCheckedFiles(pending), read.notification]
                        .map { $0.request.content.attachments }
                }
                // Nothing is known about files that were not read yet.
                for attachments in try await listed() {
                    #expect(attachments.map(\.path) == [nil, nil] && attachments.map(\.isDamaged) == [false, false])
                }
                await next.checkRestoredAttachments()
                for attachments in try await listed() {
                    #expect(attachments.map(\.identifier) == ["whole", "damaged"])
                    #expect(attachments.map(\.isDamaged) == [false, true])
                    #expect(attachments[0].path?.hasSuffix("\(whole.digest).png") == true)
                    #expect(attachments[1].path == nil)
                }
            }
        }
    }

    @Test func `a process that starts later leaves out a file that it cannot read, and does not remove it (N-42)`()
        async throws
    {
        try await AttachmentFiles.with { files in
            let store = StepStore()
            try await Receiving.with(store: store, attachments: files.received) { receiving in
                let connection = try await receiving.connect()
                let attachment = try NotificationAttachment(identifier: "photo", url: try files.file("photo"))
                _ = try await connection.deliver(Receiving.notification(attachment))
                await connection.close()
                let (screen, next) = try await receiving.restart(files, store)
                // A link to itself is an error for every user, root too.
                let kept = files.directory.appending(path: "kept/\(attachment.digest).png")
                let aside = files.directory.appending(path: "aside")
                try FileManager.default.moveItem(at: kept, to: aside)
                try FileManager.default.createSymbolicLink(atPath: kept.path, withDestinationPath: kept.path)
                await next.showRestored()
                try await receiving.stage.eventually("it is shown") { screen.shown.count == 1 }
                #expect(screen.shown.first?.content.attachments.isEmpty == true)
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: kept.path)
                #expect(target == kept.path)
                // The next process may be able to read it.
                try FileManager.default.removeItem(at: kept)
                try FileManager.default.moveItem(at: aside, to: kept)
                let (later, last) = try await receiving.restart(files, store)
                await last.showRestored()
                try await receiving.stage.eventually("it is shown with its file") { later.shown.count == 1 }
                #expect(later.shown.first?.content.attachments.map(\.identifier) == ["photo"])
            }
        }
    }

    @Test func `a file that cannot be read at the moment is not removed when it is sent again (N-42)`() async throws {
        try await AttachmentFiles.with { files in
            try await Receiving.with(attachments: files.received) { receiving in
                let attachment = try NotificationAttachment(url: try files.file("photo"))
                let connection = try await receiving.connect()
                _ = try await connection.deliver(Receiving.notification(attachment))
                let kept = try #require(receiving.screen.shown.first?.content.attachments.first?.url)
                // A link to itself is an error for every user, root too.
                let aside = files.directory.appending(path: "aside")
                try FileManager.default.moveItem(at: kept, to: aside)
                try FileManager.default.createSymbolicLink(atPath: kept.path, withDestinationPath: kept.path)
                var other = Receiving.notification(attachment)
                other.request.identifier = "other"
                #expect(try await connection.deliver(other) == NotificationDelivery(.shown))
                let target = try FileManager.default.destinationOfSymbolicLink(atPath: kept.path)
                #expect(target == kept.path)
                await connection.close()
            }
        }
    }
}
