// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

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
        /// The space of the small image; 0 for none, and for a second name of the file.
        var thumbnailBytes: Int64
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

    /// The space of the attachments of all other systems, and of those of one, in bytes, with small images. As much
    /// more is for all programs of this system, and for each of them. One has at most half of what is free, so
    /// that several cannot take everything together; so it is for the other limits.
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

    /// The minimum rate at which a file arrives, in bytes a second, after the time to begin. One that arrives more
    /// slowly loses its place.
    static let (minBytesEachSecond, timeToBegin) = (Int64(16 << 10), Duration.seconds(10))

    private(set) var files: [AttachmentDigest: File] = [:]
    private(set) var uploads: [UInt64: Upload] = [:]
    private var lastNumber: UInt64 = 0
    /// The files that no notification had at the last look.
    private var unused: Set<AttachmentDigest> = []

    var isEmpty: Bool { self.files.isEmpty }

    /// Begins to receive a file.
    ///
    /// If all places are taken, the sender with the most loses its newest one to a sender with at least two fewer.
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
        try self.checkRoom(for: byteCount, of: holder)
        try self.makePlace(for: holder)
        self.lastNumber += 1
        let upload = Upload(number: self.lastNumber, digest: digest, byteCount: byteCount, holder: holder)
        self.uploads[upload.number] = upload
        return upload
    }

    private mutating func makePlace(for holder: Holder) throws(NotificationError) {
        let uploads = Dictionary(
            grouping: self.uploads.values.filter { $0.holder.isLocal == holder.isLocal },
            by: \.holder
        )
        let own = uploads[holder]?.count ?? 0
        let all = uploads.values.reduce(0) { $0 + $1.count }
        guard own < Self.maxUploadsOfHolder else {
            throw NotificationError(
                .rateLimited,
                "\(own) attachments of this sender are received now, the maximum. Try again in a moment."
            )
        }
        guard all >= Self.maxUploads else { return }
        guard let most = uploads.values.max(by: { $0.count < $1.count }), most.count > own + 1,
            let newest = most.max(by: { $0.number < $1.number })
        else {
            throw NotificationError(
                .rateLimited,
                "\(all) attachments are received now, the maximum, \(own) of them of this sender. Try again in a "
                    + "moment."
            )
        }
        self.uploads[newest.number] = nil
    }

    private func checkRoom(for byteCount: Int64, of holder: Holder) throws(NotificationError) {
        // What no notification has claimed since the start counts for both.
        var bytes = KeyedLimiter<Holder?>(
            total: Int(Self.maxBytes),
            perKey: Int(Self.maxBytesOfHolder),
            sharesOfFree: 2
        )
        var files = KeyedLimiter<Holder?>(total: Self.maxFiles, perKey: Self.maxFilesOfHolder, sharesOfFree: 2)
        for (owner, size) in self.sizes where owner.map({ $0.isLocal == holder.isLocal }) ?? true {
            bytes.add(Int(size), for: owner)
            files.add(1, for: owner)
        }
        guard bytes.capacity(for: holder, adding: Int(byteCount)) != .free || files.capacity(for: holder) != .free
        else { return }
        let (own, all) = (bytes.count(of: holder) / 1_000_000, bytes.count / 1_000_000)
        throw NotificationError(
            .limitExceeded,
            "The attachments of this sender use \(own) of at most \(Self.maxBytesOfHolder / 1_000_000) MB, and those "
                + "of all together \(all) of \(Self.maxBytes / 1_000_000) MB; one sender has at most half of what "
                + "is free. Withdraw notifications with attachments, or try again in ten minutes."
        )
    }

    /// Whether a file that is being received arrives fast enough.
    ///
    /// - Parameters:
    ///   - arrived: the bytes that have arrived.
    ///   - time: the time since it began.
    static func isInTime(_ arrived: Int64, after time: Duration) -> Bool {
        let seconds = (time - Self.timeToBegin).components.seconds
        return time < Self.waitingTime && arrived >= seconds * Self.minBytesEachSecond
    }

    /// A file was received and checked.
    ///
    /// - Parameter thumbnailBytes: the space of its small image; `nil` if it has none.
    mutating func finish(
        _ upload: Upload,
        _ type: NotificationAttachmentType,
        thumbnailBytes: Int64? = nil,
        _ now: Instant
    ) {
        self.uploads[upload.number] = nil
        // Another sender may have sent it meanwhile.
        let present = self.files[upload.digest]
        self.files[upload.digest] = File(
            type: type,
            byteCount: upload.byteCount,
            hasThumbnail: thumbnailBytes != nil || present?.hasThumbnail == true,
            thumbnailBytes: thumbnailBytes ?? present?.thumbnailBytes ?? 0,
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
            thumbnailBytes: file.thumbnailBytes,
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

    /// The holders and sizes of the files, also of those that arrive.
    private var sizes: [(Holder?, Int64)] {
        self.files.values.map { ($0.holder, $0.byteCount + $0.thumbnailBytes) }
            + self.uploads.values.map { ($0.holder, $0.byteCount) }
    }
}
