// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Glibc
internal import ValueSets

/// An image, a sound or a video that belongs to a notification.
///
/// ```swift
/// content.attachments = [try await NotificationAttachment(contentsOf: URL(filePath: "invitation.png"))]
/// ```
///
/// The file is copied when the notification is scheduled or delivered, over the network beside it and not inside it.
/// It may be removed then. The system that shows the notification checks the file itself, keeps its copy as long as
/// the notification, and removes it.
public struct NotificationAttachment: Sendable, Hashable, Identifiable {
    /// Identifies the attachment in its notification.
    public let identifier: String
    /// The format, found in the content of the file.
    public private(set) var type: NotificationAttachmentType
    /// The size of the file.
    public private(set) var byteCount: Int64
    /// Whether the notification shows no image of the file. Defaults to `false`.
    public var isThumbnailHidden: Bool
    /// Whether the host daemon cannot use the file that it keeps, because another program has changed or removed it.
    /// The notification is shown, or sent, without it. In lists of pending and posted notifications.
    public internal(set) var isDamaged = false
    let digest: AttachmentDigest
    /// Where the file is on this system; `nil` if it is not here.
    var path: String?
    /// Where a small image of the file is; `nil` if there is none.
    private(set) var thumbnailPath: String?

    /// The identifier.
    public var id: String { self.identifier }

    /// The URL of the file; `nil` if the file is on another system.
    ///
    /// For a delivered notification, the file is the host daemon's copy. It is read-only, and is removed with the
    /// notification. For an extension, the file is a copy of its own, which is removed when the extension ends.
    public var url: URL? { self.path.map { URL(filePath: $0) } }

    /// Creates an attachment, and reads the file on the caller's thread: about 0.1 s for the largest. In asynchronous
    /// code, ``init(identifier:contentsOf:isThumbnailHidden:)`` does not occupy the thread.
    ///
    /// - Parameters:
    ///   - identifier: Identifies the attachment in its notification. Defaults to `nil`: a new identifier. Valid range:
    ///     1–128 bytes.
    ///   - url: The file. A URL of another kind is refused: download the file first.
    ///   - isThumbnailHidden: Whether the notification shows no image of the file. Defaults to `false`.
    /// - Throws: ``NotificationError`` with `attachmentInvalid` if the file cannot be read, has another format, is
    ///   larger than ``NotificationAttachmentType/maxBytes``, an image of more than 50 million pixels, or an image that
    ///   is damaged or whose end is missing.
    public init(identifier: String? = nil, url: URL, isThumbnailHidden: Bool = false) throws(NotificationError) {
        let (identifier, path) = try Self.checked(identifier, url)
        try self.init(identifier, try AttachmentFile(path: path), at: path, isThumbnailHidden: isThumbnailHidden)
    }

    /// Creates an attachment, and reads the file on another thread.
    ///
    /// - Parameters:
    ///   - identifier: Identifies the attachment in its notification. Defaults to `nil`: a new identifier. Valid range:
    ///     1–128 bytes.
    ///   - url: The file. A URL of another kind is refused: download the file first.
    ///   - isThumbnailHidden: Whether the notification shows no image of the file. Defaults to `false`.
    /// - Throws: ``NotificationError``, as ``init(identifier:url:isThumbnailHidden:)`` does.
    public init(
        identifier: String? = nil,
        contentsOf url: URL,
        isThumbnailHidden: Bool = false
    ) async throws(NotificationError) {
        let (identifier, path) = try Self.checked(identifier, url)
        try self.init(
            identifier,
            try await AttachmentFile.read(path: path),
            at: path,
            isThumbnailHidden: isThumbnailHidden
        )
    }

    private static func checked(
        _ identifier: String?,
        _ url: URL
    ) throws(NotificationError) -> (identifier: String, path: String) {
        guard url.isFileURL else {
            throw NotificationError(
                .attachmentInvalid,
                "An attachment is a local file. Download it first.",
                field: "url"
            )
        }
        let identifier = identifier ?? UUID().uuidString.lowercased()
        try FieldCheck.identifier(identifier, "identifier")
        return (identifier, url.path(percentEncoded: false))
    }

    /// An attachment with a file of this program.
    private init(
        _ identifier: String,
        _ file: AttachmentFile,
        at path: String,
        isThumbnailHidden: Bool
    ) throws(NotificationError) {
        if let damage = file.damage { throw NotificationError(.attachmentInvalid, damage.reason, field: "url") }
        self.init(identifier, file, isThumbnailHidden: isThumbnailHidden)
        self.path = path
        // It is shown as it is.
        self.thumbnailPath = file.type.kind == .image ? path : nil
    }

    /// An attachment whose file has no place yet.
    init(_ identifier: String, _ file: AttachmentFile, isThumbnailHidden: Bool) {
        self.identifier = identifier
        self.type = file.type
        self.byteCount = file.byteCount
        self.digest = file.digest
        self.isThumbnailHidden = isThumbnailHidden
        (self.path, self.thumbnailPath) = (nil, nil)
    }

    /// Gives access to the file while the closure runs.
    ///
    /// - Parameter body: Receives a file descriptor, open for reading, at the beginning of the file. It is closed
    ///   afterwards.
    /// - Returns: What the closure returns.
    /// - Throws: ``NotificationError`` with `attachmentInvalid` if the file is not on this system any more; what the
    ///   closure throws.
    public func withAccess<Result>(_ body: (_ descriptor: CInt) throws -> Result) throws -> Result {
        guard let path else { throw NotificationError(.attachmentInvalid, "The file is on another system.") }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw NotificationError(
                .attachmentInvalid,
                "The file of the attachment cannot be read: \(unsafe String(cString: strerror(errno)))."
            )
        }
        defer { close(descriptor) }
        return try body(descriptor)
    }

    /// Where the file is shown as an image.
    var imagePath: String? { self.isThumbnailHidden ? nil : self.thumbnailPath }
}

extension NotificationAttachment {
    /// The attachment without the place of its file, which concerns no other system.
    var valueSet: ValueSet {
        var set: ValueSet = [
            "Id": .string(self.identifier), "Digest": .data(Data(self.digest.bytes)),
            "Size": .integer(self.byteCount), "Type": .string(self.type.mediaType),
        ]
        if self.isThumbnailHidden { set["Hidden"] = true }
        return set
    }

    /// - Returns: `nil` for a format of a later version.
    init?(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.identifier = try reader.requiredString("Id")
        try FieldCheck.identifier(self.identifier, "Id")
        (self.digest, self.byteCount) = try reader.attachmentFile()
        guard let type = NotificationAttachmentType(mediaType: try reader.requiredString("Type")) else { return nil }
        self.type = type
        self.isThumbnailHidden = try reader.bool("Hidden") ?? false
        (self.path, self.thumbnailPath) = (nil, nil)
    }

    /// The same attachment with the file that this system has, whatever the sender states about it.
    func located(_ file: AttachmentTable.File, in directory: AttachmentDirectory) -> NotificationAttachment {
        var located = self
        (located.type, located.byteCount, located.isDamaged) = (file.type, file.byteCount, false)
        located.path = directory.path(of: self.digest, file.type)
        located.thumbnailPath = file.hasThumbnail ? directory.thumbnailPath(of: self.digest) : nil
        return located
    }

    /// The places of the files, by the identifiers of the attachments: for programs of this system, which may open
    /// them.
    static func files(of attachments: [NotificationAttachment]) -> ValueSet {
        var files: ValueSet = [:]
        for attachment in attachments { files.put(attachment.path, attachment.identifier) }
        return files
    }
}

extension FieldReader {
    /// The digest and the size of a file that another program sends or names.
    func attachmentFile() throws(NotificationError) -> (AttachmentDigest, byteCount: Int64) {
        guard let digest = self.set["Digest"]?.data.flatMap({ AttachmentDigest($0) }) else {
            throw NotificationError(.invalidContent, "The value must be the 32 bytes of a SHA-256.", field: "Digest")
        }
        let size = Int64(try self.int("Size") ?? 0)
        guard (1...NotificationAttachmentType.maxBytes).contains(size) else {
            throw NotificationError(
                .attachmentInvalid,
                "An attachment has from 1 to \(NotificationAttachmentType.maxBytes) bytes.",
                field: "Size"
            )
        }
        return (digest, size)
    }
}
