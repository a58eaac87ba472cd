// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Foundation
import NIOCore
import UserNotifications

/// Downloads the photo that a message names, since no photo fits into a message.
@main
struct PhotoExtension: NotificationServiceExtension {
    func didReceive(_ request: NotificationRequest) async throws -> NotificationContent {
        var content = request.content
        guard let address = content.userInfo["photo"]?.string else { return content }
        do {
            let photo = try await download(address)
            content.attachments = [try await NotificationAttachment(identifier: "photo", contentsOf: photo)]
        } catch {
            // The message is worth more than its photo.
            content.body += " (The photo could not be downloaded: \(error))"
        }
        return content
    }

    /// Downloads a file of at most 10 MB, the size of the largest image that a notification may have.
    private func download(_ address: String) async throws -> URL {
        let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: address), timeout: .seconds(20))
        guard response.status == .ok else { throw DownloadFailure("the server responds \(response.status)") }
        let bytes = try await response.body.collect(upTo: 10_000_000)
        // TMPDIR is this extension's own, and removed when it has ended.
        let file = FileManager.default.temporaryDirectory.appending(path: "photo")
        try Data(bytes.readableBytesView).write(to: file)
        return file
    }
}

struct DownloadFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
