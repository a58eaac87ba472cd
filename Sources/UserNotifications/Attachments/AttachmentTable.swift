// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// Which attachments this system keeps, and how much space senders may use.
///
/// A value type: the receiver moves and removes the files that it names.
struct AttachmentTable {
    typealias Instant = ContinuousClock.Instant

    /// Who pays for the space of a file.
    struct Holder: Hashable {
        /// ``NotificationSender/quotaHolder``.
        var name: String
        /// Whether it is a program of this system. Other systems take no space from those.
        var isLocal: Bool

        init(_ sender: NotificationSender) { (self.name, self.isLocal) = (sender.quotaHolder, sender.isLocal) }
    }

    struct File: Hashable {
        var type: NotificationAttachmentType
        var byteCount: Int64
        /// Whether a small image for the desktop lies beside it.
        var hasThumbnail: Bool
        /// `nil` until it is known again after a start.
        var holder: Holder?
        /// Until when it is kept without a notification.
        var expires: Instant
        /// Whether this process has read its content: not yet that of a file of an earlier process.
        var isChecked: Bool
    }

    /// A file that is being received.
    struct Upload: Hashable {
        var number: UInt64
        var digest: AttachmentDigest
        var byteCount: Int64
        var holder: Holder
    }

    /// The space of the attachments of all other systems, and of those of one, in bytes. As much more is for all
    /// programs of this system, and for each of them.
    static let (maxBytes, maxBytesOfHolder): (Int64, Int64) = (512_000_000, 128_000_000)
    /// The maximum number of files, counted in the same way.
    static let (maxFiles, maxFilesOfHolder) = (8192, 1024)
    /// The maximum number of files that are received at a time, counted in the same way.
    static let (maxUploads, maxUploadsOfHolder) = (16, 4)
    /// The time for which a file waits for its notification.
    static let waitingTime = Duration.seconds(600)
    /// The time for which a file stays whose notification has gone: one that cannot be removed from the store comes
    /// back.
    static let graceTime = Duration.seconds(60)

    private(set) var files: [AttachmentDigest: File] = [:]
    private var uploads: [UInt64: Upload] = [:]
    private var lastNumber: UInt64 = 0
    /// The files that no notification had at the last look.
    private var unused: Set<AttachmentDigest> = []

    var isEmpty: Bool { self.files.isEmpty }

    /// Begins to receive a file.
    ///
    /// - Returns: `nil` if it is here already.
    mutating func begin(
        _ digest: AttachmentDigest,
        _ byteCount: Int64,
        of holder: Holder,
        _ now: Instant
    ) throws(NotificationError) -> Upload? {
        if let file = self.files[digest] {
            // Who wants a file to stay that no notification has pays for it.
            if self.unused.contains(digest), file.holder != holder {
                try self.checkRoom(for: file.byteCount, of: holder)
                self.files[digest]?.holder = holder
            }
            self.files[digest]?.expires = max(file.expires, now + Self.waitingTime)
            return nil
        }
        let uploads = self.uploads.values.filter { $0.holder.isLocal == holder.isLocal }
        guard uploads.count < Self.maxUploads,
            uploads.count(where: { $0.holder == holder }) < Self.maxUploadsOfHolder
        else {
            throw NotificationError(.rateLimited, "Too many attachments are received now. Try again in a moment.")
        }
        try self.checkRoom(for: byteCount, of: holder)
        self.lastNumber += 1
        let upload = Upload(number: self.lastNumber, digest: digest, byteCount: byteCount, holder: holder)
        self.uploads[upload.number] = upload
        return upload
    }

    private func checkRoom(for byteCount: Int64, of holder: Holder) throws(NotificationError) {
        let own = self.sizes { $0 == holder }
        // What no notification has claimed since the start counts for both.
        let all = self.sizes { $0.map { $0.isLocal == holder.isLocal } ?? true }
        guard own.count < Self.maxFilesOfHolder, own.reduce(byteCount, +) <= Self.maxBytesOfHolder,
            all.count < Self.maxFiles, all.reduce(byteCount, +) <= Self.maxBytes
        else {
            throw NotificationError(
                .limitExceeded,
                "The attachments of this sender, or of all together, use all the space that they may "
                    + "(\(Self.maxBytesOfHolder / 1_000_000) and \(Self.maxBytes / 1_000_000) MB). Withdraw "
                    + "notifications with attachments, or try again in ten minutes."
            )
        }
    }

    /// A file was received and checked.
    mutating func finish(
        _ upload: Upload,
        _ type: NotificationAttachmentType,
        hasThumbnail: Bool = false,
        _ now: Instant
    ) {
        self.uploads[upload.number] = nil
        // Another sender may have sent it meanwhile.
        let present = self.files[upload.digest]
        self.files[upload.digest] = File(
            type: type,
            byteCount: upload.byteCount,
            hasThumbnail: hasThumbnail || present?.hasThumbnail == true,
            holder: present?.holder ?? upload.holder,
            expires: now + Self.waitingTime,
            isChecked: true
        )
        self.unused.insert(upload.digest)
    }

    mutating func fail(_ upload: Upload) { self.uploads[upload.number] = nil }

    /// A file of an earlier process has its content still.
    mutating func setChecked(_ digest: AttachmentDigest) { self.files[digest]?.isChecked = true }

    /// Forgets a file that has another content now, or cannot be read.
    ///
    /// - Returns: whether it was known.
    mutating func forget(_ digest: AttachmentDigest) -> Bool {
        self.unused.remove(digest)
        return self.files.removeValue(forKey: digest) != nil
    }

    /// Takes over a file of an earlier process.
    mutating func restore(_ file: AttachmentDirectory.File, _ now: Instant) {
        self.files[file.digest] = File(
            type: file.type,
            byteCount: file.byteCount,
            hasThumbnail: file.hasThumbnail,
            holder: nil,
            expires: now,
            isChecked: false
        )
    }

    /// Forgets the files that no notification needs any more.
    ///
    /// - Parameter used: the attachments of all notifications, with who pays for them.
    /// - Returns: the files to remove.
    mutating func keep(_ used: [AttachmentDigest: Set<Holder>], _ now: Instant) -> [AttachmentDigest: File] {
        let unused = Set(self.files.keys.filter { used[$0] == nil })
        for digest in unused.subtracting(self.unused) {
            guard let expires = self.files[digest]?.expires else { continue }
            self.files[digest]?.expires = max(expires, now + Self.graceTime)
        }
        self.unused = unused
        for (digest, holders) in used {
            let holder = self.files[digest]?.holder
            // The one who has sent it does not need it any more.
            guard holder.map({ !holders.contains($0) }) ?? true else { continue }
            self.files[digest]?.holder = holders.min { $0.name < $1.name }
        }
        let over = self.files.filter { self.unused.contains($0.key) && $0.value.expires <= now }
        for digest in over.keys {
            self.files[digest] = nil
            self.unused.remove(digest)
        }
        return over
    }

    /// When the next file that no notification has is removed.
    var nextExpiration: Instant? { self.unused.compactMap { self.files[$0]?.expires }.min() }

    /// The sizes of the files of some holders, also of those that arrive.
    private func sizes(_ isCounted: (Holder?) -> Bool) -> [Int64] {
        self.files.values.filter { isCounted($0.holder) }.map(\.byteCount)
            + self.uploads.values.filter { isCounted($0.holder) }.map(\.byteCount)
    }
}
