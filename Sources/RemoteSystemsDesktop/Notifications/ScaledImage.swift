// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Glibc
public import UserNotifications

/// Makes small copies of images, so that a notification with one arrives soon.
///
/// ```swift
/// let small = directory.appending(path: "small.png")
/// try await ScaledImage.write(photo, to: small, maxSide: 512)
/// content.attachments = [try NotificationAttachment(url: small)]
/// ```
public enum ScaledImage {
    /// Writes a small copy of an image, as PNG.
    ///
    /// The thumbnailer of gdk-pixbuf (Debian: `libgdk-pixbuf2.0-bin`) decodes the image, in a process of its own with
    /// 1 GiB of memory and 5 s of processor time.
    ///
    /// - Parameters:
    ///   - image: The image file, of any format that gdk-pixbuf reads.
    ///   - result: The file that is written, or replaced. It stays as it is if an error is thrown.
    ///   - maxSide: The width or height of the copy in pixels, whichever is larger. A smaller image keeps its size.
    ///     Defaults to 512. Valid range: 16–2048.
    /// - Throws: `NotificationError` with `attachmentInvalid` if the image cannot be decoded or scaled, the result
    ///   cannot be written, or the thumbnailer is not installed.
    public static func write(
        _ image: URL,
        to result: URL,
        maxSide: Int = 512
    ) async throws(NotificationError) {
        guard image.isFileURL, result.isFileURL else { throw Self.invalid("The image and its copy must be files.") }
        guard (16...2048).contains(maxSide) else {
            throw NotificationError(.limitExceeded, "The maximum side is from 16 to 2048 pixels.", field: "maxSide")
        }
        let scaler = DesktopImageScaler(environment: ProcessInfo.processInfo.environment, pixels: maxSide)
        try await Self.write(image, to: result, with: scaler)
    }

    static func write(
        _ image: URL,
        to result: URL,
        with scaler: DesktopImageScaler
    ) async throws(NotificationError) {
        let path = result.path(percentEncoded: false)
        // A program that is ended leaves half a file.
        let unfinished = result.deletingLastPathComponent().appending(path: ".\(UUID().uuidString)")
            .path(percentEncoded: false)
        let scaling = await scaler.scale(image.path(percentEncoded: false), to: unfinished)
        let isWritten = await BlockingCalls.run {
            if scaling == .scaled, unsafe rename(unfinished, path) == 0 { return true }
            _ = unsafe unlink(unfinished)
            return false
        }
        switch scaling {
        case .scaled: guard isWritten else { throw Self.invalid("The copy cannot be written.") }
        case .damaged: throw Self.invalid("The image cannot be read or decoded, or its copy cannot be written.")
        case .failed: throw Self.invalid("The image takes too much memory or time.")
        case .unavailable:
            throw Self.invalid("gdk-pixbuf-thumbnailer is not installed (Debian: libgdk-pixbuf2.0-bin).")
        }
    }

    private static func invalid(_ message: String) -> NotificationError {
        NotificationError(.attachmentInvalid, message, field: "image")
    }
}
