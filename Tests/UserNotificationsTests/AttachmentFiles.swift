// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsTesting

@testable import UserNotifications

/// Files of a sender, and the directory of the receiver.
struct AttachmentFiles {
    let directory: URL
    var received: AttachmentDirectory { AttachmentDirectory(path: self.directory.appending(path: "kept").path) }

    var kept: [String] {
        get throws {
            let path = self.directory.appending(path: "kept").path
            return FileManager.default.fileExists(atPath: path)
                ? try FileManager.default.contentsOfDirectory(atPath: path).sorted() : []
        }
    }

    func file(_ name: String, _ bytes: [UInt8] = TestFile.png()) throws -> URL {
        let url = self.directory.appending(path: name)
        try Data(bytes).write(to: url)
        return url
    }

    static func with(_ body: (AttachmentFiles) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(AttachmentFiles(directory: directory))
    }
}

/// Copies an image in place of scaling it.
struct CopyingScaler: ImageScaler {
    var result = ImageScaling.scaled
    /// What it writes as the poster of every sound and video; `nil`: it makes none.
    var image: [UInt8]?

    func scale(_ path: String, to result: String) async -> ImageScaling {
        if self.result == .scaled { try? FileManager.default.copyItem(atPath: path, toPath: result) }
        return self.result
    }

    func poster(of path: String, _ mediaType: String, to result: String) async -> ImageScaling {
        guard let image else { return .unavailable }
        _ = FileManager.default.createFile(atPath: result, contents: Data(image))
        return self.result
    }
}

extension ReceivingSystem {
    static func notification(_ attachments: NotificationAttachment...) -> RemoteNotification {
        var notification = Self.question()
        notification.request.content.attachments = attachments
        return notification
    }

    /// A process that starts later, with the files and notifications of the first one.
    func restart(
        _ files: AttachmentFiles,
        _ store: StepStore
    ) async throws -> (StagedNotificationPresenter, NotificationReceiver) {
        let screen = StagedNotificationPresenter()
        let next = NotificationReceiver(
            self.stage.configuration,
            presenter: screen,
            store: store,
            attachmentDirectory: files.received
        ) { _ in "Server" }
        await next.restore(try await store.load())
        return (screen, next)
    }
}
