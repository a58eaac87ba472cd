// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import RemoteSystemsTransport

/// The files of attachments that this system keeps, named by their content. Only the user can read them.
package struct AttachmentDirectory: Sendable {
    struct File: Sendable {
        var digest: AttachmentDigest
        var type: NotificationAttachmentType
        var byteCount: Int64
        var hasThumbnail: Bool
        /// The space of the small image; 0 for none, and for a second name of the file.
        var thumbnailBytes: Int64 = 0
    }

    private let path: String

    /// - Parameter path: the directory, which is created when it is needed.
    package init(path: String) { self.path = path }

    func path(of digest: AttachmentDigest, _ type: NotificationAttachmentType) -> String {
        "\(self.path)/\(digest).\(type.fileExtension)"
    }

    func thumbnailPath(of digest: AttachmentDigest) -> String { "\(self.path)/\(digest).thumbnail" }

    func incomingPath(_ number: UInt64) -> String { "\(self.path)/incoming-\(number)" }

    /// Creates the directory.
    func create() async throws(NotificationError) {
        try await Self.run { () throws(NotificationError) in
            guard unsafe mkdir(self.path, 0o700) != 0, errno != EEXIST else { return }
            throw Self.failure("The directory \(self.path) for attachments cannot be created")
        }
    }

    /// The files of an earlier process, which are not read. What it had not received completely is removed.
    func load() async -> [File] {
        await BlockingFileCalls.run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []
            let thumbnails = Set(names.filter { $0.hasSuffix(".thumbnail") })
            var files: [File] = []
            for name in names {
                let parts = name.split(separator: ".").map(String.init)
                let path = "\(self.path)/\(name)"
                var status = stat()
                guard parts.count == 2, let digest = AttachmentDigest(parts[0]),
                    let type = NotificationAttachmentType(fileExtension: parts[1]),
                    unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0
                else {
                    if name.hasPrefix("incoming-") { _ = unsafe unlink(path) }
                    continue
                }
                files.append(
                    File(
                        digest: digest,
                        type: type,
                        byteCount: Int64(status.st_size),
                        hasThumbnail: thumbnails.contains("\(digest).thumbnail"),
                        thumbnailBytes: Self.ownSpace(of: "\(self.path)/\(digest).thumbnail")
                    )
                )
            }
            for name in thumbnails.subtracting(files.map { "\($0.digest).thumbnail" }) {
                _ = unsafe unlink("\(self.path)/\(name)")
            }
            return files
        }
    }

    /// The space of a small image of its own; 0 for a second name of the file, and for none.
    private static func ownSpace(of path: String) -> Int64 {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_nlink == 1 else { return 0 }
        return Int64(status.st_size)
    }

    /// Gives a received file its name, and its small image. It is on the disk then.
    func take(
        _ incoming: String,
        thumbnail: String?,
        _ digest: AttachmentDigest,
        _ type: NotificationAttachmentType
    ) async throws(NotificationError) {
        try await Self.run { () throws(NotificationError) in
            let descriptor = unsafe open(incoming, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Self.failure("The attachment cannot be stored") }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0, fchmod(descriptor, 0o400) == 0,
                thumbnail.map({ unsafe rename($0, self.thumbnailPath(of: digest)) == 0 }) ?? true,
                unsafe rename(incoming, self.path(of: digest, type)) == 0
            else { throw Self.failure("The attachment cannot be stored") }
        }
    }

    /// Copies a file of a program of this system, which may change or grow meanwhile.
    func copy(_ path: String, to incoming: String, maxBytes: Int64) async throws(NotificationError) {
        try await Self.run { () throws(NotificationError) in
            let source = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard source >= 0 else { throw Self.failure("The attachment cannot be read") }
            defer { close(source) }
            let target = unsafe open(incoming, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard target >= 0 else { throw Self.failure("The attachment cannot be stored") }
            defer { close(target) }
            var left = maxBytes
            while left > 0 {
                let count = sendfile(target, source, nil, Int(min(left, 1 << 20)))
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw Self.failure("The attachment cannot be stored") }
                // It has become shorter; its digest shows that.
                guard count > 0 else { return }
                left -= Int64(count)
            }
        }
    }

    /// Removes files, if they exist.
    func remove(_ paths: [String]) async {
        await BlockingFileCalls.run { for path in paths { _ = unsafe unlink(path) } }
    }

    /// Gives a file a second name.
    ///
    /// - Returns: whether it has it.
    func link(_ path: String, as other: String) async -> Bool {
        await BlockingFileCalls.run { unsafe Glibc.link(path, other) == 0 }
    }

    private static func run(
        _ body: @escaping @Sendable () throws(NotificationError) -> Void
    ) async throws(NotificationError) {
        try await BlockingFileCalls.run { Result(catching: body) }.get()
    }

    private static func failure(_ text: String) -> NotificationError {
        NotificationError(.storeFailed, "\(text): \(unsafe String(cString: strerror(errno))).")
    }
}
