// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What a file contains, read from the file itself.
struct AttachmentFile: Hashable {
    /// The maximum number of pixels of an image. A small file may otherwise take all memory when it is shown.
    static let maxPixels = 50_000_000
    private static let chunkBytes = 262_144

    let type: NotificationAttachmentType
    let byteCount: Int64
    let digest: AttachmentDigest
    /// The width times the height of an image.
    let pixels: Int?
    /// What is wrong with an image; `nil` for nothing, and for other files.
    let damage: ImageDamage?

    /// Reads a whole file: about 0.1 s for the largest.
    ///
    /// - Throws: ``NotificationError`` with `attachmentInvalid`, which says what is wrong with the file.
    init(path: String) throws(NotificationError) {
        // A pipe without a writer would wait for one.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure("it cannot be read", errno) }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure("it cannot be read", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Self.failure("it is not a regular file") }
        guard status.st_size > 0 else { throw Self.failure("it is empty") }
        guard
            let format = try AttachmentFormat({ offset, count throws(NotificationError) in
                try Self.read(descriptor, at: offset, count)
            })
        else {
            throw Self.failure(
                "it is neither an image (PNG, JPEG, GIF), nor a sound (AIFF, WAV, MP3, MPEG-4), nor a video (MPEG, "
                    + "MPEG-4, AVI)"
            )
        }
        let size = Int64(status.st_size)
        try Self.check(format, size)
        self.type = format.type
        self.byteCount = size
        self.digest = try Self.digest(descriptor, size)
        self.pixels = format.pixels
        self.damage = try format.damage { offset, count throws(NotificationError) in
            try Self.read(descriptor, at: offset, count)
        }
    }

    /// Reads a file on a thread that may wait for the disk.
    static func read(path: String) async throws(NotificationError) -> AttachmentFile {
        try await BlockingFileCalls.run { Result { () throws(NotificationError) in try AttachmentFile(path: path) } }
            .get()
    }

    /// Whether a kept file is still there with its content; `nil` if it cannot be read now, as without a free
    /// descriptor.
    static func isUnchanged(path: String, _ digest: AttachmentDigest) -> Bool? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return errno == ENOENT ? false : nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        let size = Int64(status.st_size)
        guard status.st_mode & S_IFMT == S_IFREG, size <= NotificationAttachmentType.maxBytes else { return false }
        guard let present = try? Self.digest(descriptor, size) else { return nil }
        return present == digest
    }

    private static func check(_ format: AttachmentFormat, _ size: Int64) throws(NotificationError) {
        guard size <= format.type.maxBytes else {
            throw Self.failure(
                "it has \(size) bytes; a file with \(format.type.kind.noun) has at most \(format.type.maxBytes)"
            )
        }
        guard format.type.kind == .image else { return }
        guard let pixels = format.pixels, pixels > 0 else { throw Self.failure("its header is damaged") }
        guard pixels <= Self.maxPixels else {
            throw Self.failure("the image has more than \(Self.maxPixels / 1_000_000) million pixels")
        }
    }

    private static func digest(_ descriptor: CInt, _ size: Int64) throws(NotificationError) -> AttachmentDigest {
        var hash = SHA256()
        var offset: Int64 = 0
        while case let bytes = try Self.read(descriptor, at: offset, Self.chunkBytes), !bytes.isEmpty {
            hash.update(data: bytes)
            offset += Int64(bytes.count)
            guard offset <= size else { break }
        }
        guard offset == size else { throw Self.failure("it has changed while it was read") }
        return AttachmentDigest(hash.finalize())
    }

    private static func read(_ descriptor: CInt, at offset: Int64, _ count: Int) throws(NotificationError) -> [UInt8] {
        var failure: CInt = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { memory, filled in
            while filled < count {
                let rest = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(memory)[filled...]
                )
                let read = unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                if read < 0, errno == EINTR { continue }
                if read < 0 { failure = errno }
                guard read > 0 else { return }
                filled += read
            }
        }
        guard failure == 0 else { throw Self.failure("it cannot be read", failure) }
        return bytes
    }

    private static func failure(_ reason: String, _ code: CInt? = nil) -> NotificationError {
        let text = code.map { unsafe ": " + String(cString: strerror($0)) } ?? ""
        return NotificationError(.attachmentInvalid, "The file cannot be an attachment: \(reason)\(text).")
    }
}

/// The SHA-256 of a file, which identifies it on every system.
struct AttachmentDigest: Hashable, Sendable, CustomStringConvertible {
    let bytes: [UInt8]

    init(_ digest: SHA256Digest) { self.bytes = Array(digest) }

    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads the form of ``description``.
    init?(_ text: String) {
        guard let bytes = Base32.decode(text, count: SHA256.byteCount) else { return nil }
        self.bytes = bytes
    }

    /// The digest in base32 (RFC 4648 §6), as in the names of files.
    var description: String { Base32.encode(self.bytes) }
}
