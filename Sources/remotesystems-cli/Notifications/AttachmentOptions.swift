// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import UserNotifications

/// The files of a notification.
struct AttachmentOptions: ParsableArguments {
    @Option(
        name: .customLong("attach"),
        help: ArgumentHelp(
            "An image (PNG, JPEG, GIF; at most 10 MB), sound (AIFF, WAV, MP3, MPEG-4; 5 MB) or video (MPEG, MPEG-4, "
                + "AVI; 50 MB) that belongs to it. Repeatable, at most \(NotificationAttachment.max).",
            valueName: "file"
        ),
        completion: .file()
    )
    var files: [String] = []

    func validate() throws {
        guard self.files.count <= NotificationAttachment.max else {
            throw ValidationError("--attach can be given \(NotificationAttachment.max) times.")
        }
        guard !self.files.contains("") else { throw ValidationError("--attach takes the name of a file.") }
    }

    /// The attachments, named by their files.
    func attachments() throws(NotificationError) -> [NotificationAttachment] {
        var attachments: [NotificationAttachment] = []
        for file in self.files {
            let url = URL(filePath: file, directoryHint: .notDirectory)
            let name = String(url.lastPathComponent.prefix(NotificationLimits.identifierBytes / 4))
            // Two files may have one name.
            let isTaken = attachments.contains { $0.identifier == name }
            let identifier = isTaken ? "\(attachments.count + 1) \(name)" : name
            do throws(NotificationError) {
                attachments.append(try NotificationAttachment(identifier: identifier, url: url))
            } catch {
                throw NotificationError(error.code, error.message, field: "--attach \(file)")
            }
        }
        return attachments
    }
}
