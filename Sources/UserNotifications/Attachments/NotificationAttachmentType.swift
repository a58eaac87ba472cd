// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The format of an attachment, found in the content of the file and not in its name.
///
/// Later versions may add formats: write a default case.
public struct NotificationAttachmentType: Sendable, Hashable, CustomStringConvertible {
    /// The kind of content of an attachment.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An image.
        case image
        /// A sound.
        case audio
        /// A video.
        case video

        /// The kind with its article, for messages.
        package var noun: String {
            switch self {
            case .image: "an image"
            case .audio: "a sound"
            case .video: "a video"
            }
        }
    }

    private enum Format: String, CaseIterable {
        case png, jpeg, gif
        case aiff, wav, mp3, m4a
        case mpeg, mp4, avi
    }

    private let format: Format

    /// PNG, an image.
    public static let png = NotificationAttachmentType(format: .png)
    /// JPEG, an image.
    public static let jpeg = NotificationAttachmentType(format: .jpeg)
    /// GIF, an image.
    public static let gif = NotificationAttachmentType(format: .gif)
    /// AIFF, a sound.
    public static let aiff = NotificationAttachmentType(format: .aiff)
    /// WAV, a sound.
    public static let wav = NotificationAttachmentType(format: .wav)
    /// MP3, a sound.
    public static let mp3 = NotificationAttachmentType(format: .mp3)
    /// MPEG-4 with sound only, a sound.
    public static let m4a = NotificationAttachmentType(format: .m4a)
    /// MPEG-1 or MPEG-2, a video.
    public static let mpeg = NotificationAttachmentType(format: .mpeg)
    /// MPEG-4, a video.
    public static let mp4 = NotificationAttachmentType(format: .mp4)
    /// AVI, a video.
    public static let avi = NotificationAttachmentType(format: .avi)

    /// The kind of content of this format.
    public var kind: Kind {
        switch self.format {
        case .png, .jpeg, .gif: .image
        case .aiff, .wav, .mp3, .m4a: .audio
        case .mpeg, .mp4, .avi: .video
        }
    }

    /// The maximum size of a file, in bytes: 10 MB for images, 5 MB for sounds, 50 MB for videos.
    public var maxBytes: Int64 {
        switch self.kind {
        case .image: 10_000_000
        case .audio: 5_000_000
        case .video: 50_000_000
        }
    }

    /// The media type (RFC 6838), such as `image/png`.
    public var mediaType: String {
        switch self.format {
        case .m4a: "audio/mp4"
        case .mp3: "audio/mpeg"
        case .avi: "video/x-msvideo"
        default: "\(self.kind)/\(self.format)"
        }
    }

    /// The usual ending of a file's name, without the dot.
    public var fileExtension: String {
        switch self.format {
        case .jpeg: "jpg"
        case .mpeg: "mpg"
        default: self.format.rawValue
        }
    }

    /// The media type.
    public var description: String { self.mediaType }

    static let all = Format.allCases.map { NotificationAttachmentType(format: $0) }
    /// The maximum size of any attachment.
    static let maxBytes: Int64 = 50_000_000

    init?(mediaType: String) {
        guard let type = Self.all.first(where: { $0.mediaType == mediaType }) else { return nil }
        self = type
    }

    init?(fileExtension: String) {
        guard let type = Self.all.first(where: { $0.fileExtension == fileExtension }) else { return nil }
        self = type
    }

    private init(format: Format) { self.format = format }
}
