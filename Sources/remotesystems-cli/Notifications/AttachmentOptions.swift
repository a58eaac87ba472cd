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
                + "AVI; 50 MB) that belongs to it. Repeatable, at most \(NotificationLimits.attachments).",
            valueName: "file"
        ),
        completion: .file()
    )
    var files: [String] = []

    func validate() throws {
        guard self.files.count <= NotificationLimits.attachments else {
            throw ValidationError("--attach can be given at most \(NotificationLimits.attachments) times.")
        }
        guard !self.files.contains("") else { throw ValidationError("--attach takes the name of a file.") }
        guard !self.files.contains("-") else {
            throw ValidationError(
                "--attach does not read the standard input. Write it to a file first. A file named '-' is './-'."
            )
        }
    }

    /// The attachments, named by their files.
    func attachments() throws(NotificationError) -> [NotificationAttachment] {
        var attachments: [NotificationAttachment] = []
        for file in self.files {
            let url = URL(filePath: file, directoryHint: .notDirectory)
            var name = url.lastPathComponent.inOneLine
            while name.utf8.count > NotificationLimits.identifierBytes - 8 { name.removeLast() }
            // Two files may have one name.
            var (identifier, number) = (name, 1)
            while attachments.contains(where: { $0.identifier == identifier }) {
                number += 1
                identifier = "\(name) (\(number))"
            }
            do throws(NotificationError) {
                attachments.append(try NotificationAttachment(identifier: identifier, url: url))
            } catch {
                throw NotificationError(error.code, error.message, field: "--attach \(file.inOneLine)")
            }
        }
        return attachments
    }
}

/// An attachment in the output with `--json`.
struct AttachmentOutput: Encodable {
    var id: String
    var type: String
    var bytes: Int64
    /// The file, if it is on this system.
    var path: String?
    /// `true` if the file on this system cannot be used; otherwise `nil`.
    var isDamaged: Bool?

    init(_ attachment: NotificationAttachment) {
        self.id = attachment.identifier
        self.type = "\(attachment.type)"
        self.bytes = attachment.byteCount
        self.path = attachment.url?.path(percentEncoded: false)
        self.isDamaged = attachment.isDamaged ? true : nil
    }
}
