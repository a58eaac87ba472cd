// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems
internal import RemoteSystemsTransport
internal import Synchronization
internal import ValueSets

/// The files that belong to notifications. They come over streams of their own, before the notification.
extension NotificationReceiver {
    /// A sender is about to send a notification with a file.
    ///
    /// - Returns: the ticket of the stream for the file; empty if the file is here already.
    func attach(
        _ digest: AttachmentDigest,
        _ byteCount: Int64,
        from sender: NotificationSender,
        over connection: AppServiceConnection
    ) async throws(NotificationError) -> ValueSet {
        guard sender.may(.attachments) else {
            throw NotificationError(.notAuthorized, "Only systems of the same account send attachments.")
        }
        try self.checkPermission(of: sender)
        guard let attachmentDirectory else {
            throw NotificationError(.attachmentInvalid, "This system keeps no attachments.")
        }
        try self.received.admit(sender, self.clock.now)
        self.collectAttachments()
        await self.recheck(digest, attachmentDirectory)
        // The notification would be refused after its file had been sent.
        if self.attachments.files[digest] == nil { try self.checkLimits(of: sender) }
        guard let upload = try self.beginUpload(of: digest, byteCount, for: sender) else { return [:] }
        do {
            try await attachmentDirectory.create()
            let offer = try connection.offerStream()
            _ = self.clock.task { await self.receive(upload, offer, attachmentDirectory) }
            return ["Ticket": offer.ticket]
        } catch {
            self.attachments.fail(upload)
            throw error as? NotificationError ?? NotificationError(.rateLimited, "\(error)")
        }
    }

    /// Begins to receive a file, and ends the upload that has lost its place to it.
    func beginUpload(
        of digest: AttachmentDigest,
        _ byteCount: Int64,
        for sender: NotificationSender
    ) throws(NotificationError) -> AttachmentTable.Upload? {
        let before = self.attachments.uploads.keys
        let upload = try self.attachments.begin(digest, byteCount, of: AttachmentTable.Holder(sender), self.clock.now)
        // One whose sender has not opened its stream yet learns it when it does.
        for number in before where self.attachments.uploads[number] == nil {
            self.uploadStreams[number]?.abort(Self.lostPlace)
        }
        return upload
    }

    private static let lostPlace = NotificationError(
        .rateLimited,
        "Too many attachments are received now, and this sender sends the most. Try again in a moment."
    )

    /// Forgets a file that is here already if another program of the user has changed or removed it. It is received
    /// again then, also for the notifications that have it. A file that cannot be read now stays; one of an earlier
    /// process that was not read yet is forgotten.
    private func recheck(_ digest: AttachmentDigest, _ directory: AttachmentDirectory) async {
        guard let kept = self.attachments.files[digest] else { return }
        let path = directory.path(of: digest, kept.type)
        let isUnchanged = await BlockingFileCalls.run { AttachmentFile.isUnchanged(path: path, digest) }
        // It may have been received again meanwhile.
        guard let present = self.attachments.files[digest], present == kept || !present.isChecked else { return }
        guard isUnchanged != true else { return self.attachments.setChecked(digest) }
        guard isUnchanged == false || !kept.isChecked, self.attachments.forget(digest), isUnchanged == false else {
            return
        }
        self.logger.warning("The file of an attachment was changed by another program", metadata: ["path": "\(path)"])
        let paths = [path, directory.thumbnailPath(of: digest)]
        _ = self.attachmentCalls.begin(self.clock) { await directory.remove(paths) }
    }

    private func receive(
        _ upload: AttachmentTable.Upload,
        _ offer: RemoteSystemStreamOffer,
        _ directory: AttachmentDirectory
    ) async {
        var stream: RemoteSystemStream?
        let path = directory.incomingPath(upload.number)
        defer { self.uploadStreams[upload.number] = nil }
        do {
            let opened = try await offer.opened()
            stream = opened
            self.uploadStreams[upload.number] = opened
            guard self.attachments.uploads[upload.number] != nil else { throw Self.lostPlace }
            let limit = opened.abort(
                after: AttachmentTable.waitingTime,
                self.clock,
                "The file took too long to arrive."
            )
            defer { limit.cancel() }
            try await self.receive(opened, upload, into: path)
            try await self.takeOver(path, upload, directory)
            try await opened.finish()
        } catch {
            self.attachments.fail(upload)
            let refusal = error as? NotificationError
            let reason = refusal?.message ?? "\(error)"
            if let refusal { stream?.abort(refusal) } else { stream?.abort(reason) }
            await directory.remove([path, "\(path).thumbnail"])
            self.logger.info("An attachment was not received", metadata: ["reason": "\(reason)"])
        }
    }

    /// Receives a file, and aborts the stream if it arrives too slowly: its place is for others then.
    private func receive(
        _ stream: RemoteSystemStream,
        _ upload: AttachmentTable.Upload,
        into path: String
    ) async throws {
        let arrived = Mutex(Int64(0))
        let watch = self.clock.task { [clock, start = clock.now] in
            var next = AttachmentTable.timeToBegin
            repeat {
                next += .seconds(1)
                // Its cancellation means that everything has arrived.
                guard (try? await clock.sleep(until: start + next)) != nil else { return }
            } while AttachmentTable.isInTime(arrived.withLock { $0 }, after: next)
            stream.abort("The file arrived too slowly: less than 16 KiB a second.")
        }
        defer { watch.cancel() }
        try await stream.receive(intoFile: path, maxBytes: upload.byteCount) { count in arrived.withLock { $0 = count }
        }
    }

    /// Checks a file that has arrived, and keeps it.
    private func takeOver(
        _ path: String,
        _ upload: AttachmentTable.Upload,
        _ directory: AttachmentDirectory
    ) async throws(NotificationError) {
        // What the sender states about it is not believed.
        let file = try await AttachmentFile.read(path: path)
        guard file.digest == upload.digest, file.byteCount == upload.byteCount else {
            throw NotificationError(.attachmentInvalid, "The file has changed since it was attached.")
        }
        if let damage = file.damage { throw NotificationError(.attachmentInvalid, damage.reason) }
        let thumbnail = "\(path).thumbnail"
        let thumbnailBytes = try await self.makeThumbnail(of: file, path, thumbnail, directory, for: upload.holder)
        try await self.attachmentCalls.begin(self.clock) { () -> Result<Void, NotificationError> in
            do throws(NotificationError) {
                try await directory.take(
                    path,
                    thumbnail: thumbnailBytes == nil ? nil : thumbnail,
                    file.digest,
                    file.type
                )
                return .success(())
            } catch {
                return .failure(error)
            }
        }.value.get()
        self.attachments.finish(upload, file.type, thumbnailBytes: thumbnailBytes, self.clock.now)
        self.setAlarm()
    }

    /// Keeps a copy of a file that a program of this system has for a notification of another one, which pays for it.
    func takeFile(
        _ path: String,
        as identifier: String,
        isThumbnailHidden: Bool,
        of sender: NotificationSender
    ) async throws(NotificationError) -> NotificationAttachment {
        guard let attachmentDirectory else {
            throw NotificationError(.attachmentInvalid, "This system keeps no attachments.")
        }
        let file = try await AttachmentFile.read(path: path)
        var attachment = NotificationAttachment(identifier, file, isThumbnailHidden: isThumbnailHidden)
        await self.recheck(file.digest, attachmentDirectory)
        if let upload = try self.beginUpload(of: file.digest, file.byteCount, for: sender) {
            let incoming = attachmentDirectory.incomingPath(upload.number)
            do throws(NotificationError) {
                try await attachmentDirectory.create()
                try await attachmentDirectory.copy(path, to: incoming, maxBytes: file.byteCount)
                try await self.takeOver(incoming, upload, attachmentDirectory)
            } catch {
                self.attachments.fail(upload)
                await attachmentDirectory.remove([incoming, "\(incoming).thumbnail"])
                throw error
            }
        }
        guard let kept = self.attachments.files[file.digest] else {
            throw NotificationError(.attachmentInvalid, "The file has gone while it was kept.")
        }
        attachment = attachment.located(kept, in: attachmentDirectory)
        return attachment
    }

    /// The content of a notification for the program of an extension, with copies of its files.
    ///
    /// The program runs as the same user. It could change the files themselves, also through a descriptor that is open
    /// for reading, and with them every notification that has the same file.
    func copyFiles(
        of content: NotificationContent,
        for program: any ExtensionProgram
    ) async -> NotificationContent {
        let checked = await self.checkAttachments(of: content)
        let kept = checked.attachments.filter { $0.path != nil }
        guard let attachmentDirectory, !kept.isEmpty else { return checked }
        var content = checked
        let paths = content.attachments.map(\.path)
        for index in paths.indices { content.attachments[index].path = nil }
        do throws(NotificationError) {
            let room = try await program.makeRoom(for: kept.reduce(0) { $0 + $1.byteCount })
            for (index, path) in paths.enumerated() {
                guard let path else { continue }
                let attachment = content.attachments[index]
                let copy = "\(room)/\(index + 1).\(attachment.type.fileExtension)"
                try await attachmentDirectory.copy(path, to: copy, maxBytes: attachment.byteCount)
                content.attachments[index].path = copy
            }
        } catch {
            self.logger.warning(
                "An extension runs without files of its notification",
                metadata: ["reason": "\(error)"]
            )
        }
        return content
    }

    /// The size of a small image, and the maximum number of pixels of an image that a desktop without a scaler gets as
    /// it is.
    private static let (thumbnailPixels, maxUnscaledPixels) = (256 * 256, 1_000_000)
    /// The maximum length of a small image: its pixels with 16 bits for each colour, not compressed, and some more.
    private static let maxThumbnailBytes = Int64(8 * thumbnailPixels + 65_536)

    /// A desktop decodes what it shows, and must not do that with everything that other systems send.
    ///
    /// - Returns: the space of the small image; `nil` if there is none.
    private func makeThumbnail(
        of file: AttachmentFile,
        _ path: String,
        _ thumbnail: String,
        _ directory: AttachmentDirectory,
        for holder: AttachmentTable.Holder
    ) async throws(NotificationError) -> Int64? {
        guard let imageScaler else { return nil }
        guard file.type.kind == .image else {
            let mediaType = file.type.mediaType
            let result = await self.makeImage(.poster, for: holder) {
                await imageScaler.poster(of: path, mediaType, to: thumbnail)
            }
            // A thumbnailer does not know every format that the user's player plays.
            guard result == .scaled else {
                if let result, result != .unavailable {
                    let reason = result == .failed ? "it failed, or took too long" : "it cannot read the file"
                    self.logger.info(
                        "A thumbnailer made no poster",
                        metadata: ["type": "\(mediaType)", "reason": "\(reason)"]
                    )
                }
                await directory.remove([thumbnail])
                return nil
            }
            return await Self.keptThumbnail(thumbnail, directory)
        }
        switch await self.makeImage(.image, for: holder, { await imageScaler.scale(path, to: thumbnail) }) {
        case .scaled?: return await Self.keptThumbnail(thumbnail, directory)
        case .damaged?: throw NotificationError(.attachmentInvalid, "The image cannot be decoded.")
        case .failed?, nil:
            await directory.remove([thumbnail])
            return nil
        case .unavailable?:
            guard file.type == .png, let pixels = file.pixels, pixels <= Self.maxUnscaledPixels else { return nil }
            // A second name takes no space.
            return await directory.link(path, as: thumbnail) ? 0 : nil
        }
    }

    /// Removes what a scaler has written if that is no small image.
    ///
    /// - Returns: the space of the small image; `nil` if there is none.
    private static func keptThumbnail(_ path: String, _ directory: AttachmentDirectory) async -> Int64? {
        if let file = try? await AttachmentFile.read(path: path), file.type == .png, let pixels = file.pixels,
            pixels <= Self.thumbnailPixels, file.byteCount <= Self.maxThumbnailBytes
        {
            return file.byteCount
        }
        await directory.remove([path])
        return nil
    }

    /// Gives the attachments of a notification the files that this system has.
    ///
    /// - Returns: what was left out of a notification of another system; `nil` for nothing.
    /// - Throws: ``NotificationError`` if a file is missing for a program of this system, which can send it again.
    func locateAttachments(
        of notification: inout RemoteNotification,
        isLocal: Bool,
        arePermitted: Bool = true
    ) throws(NotificationError) -> String? {
        let attachments = notification.request.content.attachments
        guard !attachments.isEmpty else { return nil }
        guard arePermitted else {
            // It does not learn what is here.
            notification.request.content.attachments = []
            return "Only systems of the same account send attachments."
        }
        let located = attachments.compactMap { attachment -> NotificationAttachment? in
            guard let directory = self.attachmentDirectory, let file = self.attachments.files[attachment.digest] else {
                return nil
            }
            return attachment.located(file, in: directory)
        }
        notification.request.content.attachments = located
        guard located.count < attachments.count else { return nil }
        let present = Set(located.map(\.identifier))
        let missing = attachments.map(\.identifier).filter { !present.contains($0) }
        let text = "The files of these attachments are not here: \(missing.joined(separator: ", "))."
        guard !isLocal else {
            throw NotificationError(.attachmentInvalid, "\(text) Send them first.", field: "content.attachments")
        }
        return text
    }

    /// A notification of an earlier process is shown without the files that are lost.
    func relocateAttachments(of notification: inout RemoteNotification) {
        guard let reason = try? self.locateAttachments(of: &notification, isLocal: false) else { return }
        self.logLostAttachments(reason)
    }

    private func logLostAttachments(_ reason: String) {
        self.logger.warning("Attachments of a notification were lost", metadata: ["reason": "\(reason)"])
    }

    /// Reads the files of an earlier process before they are used first, and leaves out what another program has
    /// changed or removed meanwhile, and what cannot be read. To read all at the start would take a minute for a full
    /// store.
    func checkAttachments(of content: NotificationContent) async -> NotificationContent {
        guard let attachmentDirectory else { return content }
        for attachment in content.attachments where self.attachments.files[attachment.digest]?.isChecked == false {
            await self.recheck(attachment.digest, attachmentDirectory)
        }
        var checked = content
        checked.attachments.removeAll { $0.path != nil && self.attachments.files[$0.digest]?.isChecked != true }
        let present = Set(checked.attachments.map(\.identifier))
        let missing = content.attachments.map(\.identifier).filter { !present.contains($0) }
        guard !missing.isEmpty else { return content }
        self.logLostAttachments("These files were changed or removed: \(missing.joined(separator: ", ")).")
        return checked
    }

    /// Leaves out the files of a notification that are lost, also in the list.
    func checkAttachments(of entry: ReceivedNotifications.Entry) async -> ReceivedNotifications.Entry {
        var checked = entry
        let content = await self.checkAttachments(of: entry.notification.request.content)
        let lost = Set(entry.notification.request.content.attachments.map(\.digest))
            .subtracting(content.attachments.map(\.digest))
        self.received.removeAttachments(lost, of: entry)
        checked.notification.request.content = content
        return checked
    }

    /// Reads the files of an earlier process that are not shown again, one after the other: until then, programs that
    /// read the list do not get their places.
    func checkRestoredAttachments() async {
        for entry in self.received.all where !self.isStopping { _ = await self.checkAttachments(of: entry) }
        for entry in self.pending.all where !self.isStopping {
            _ = await self.checkAttachments(of: entry.notification.request.content)
        }
        for entry in self.outbox.all where !self.isStopping {
            _ = await self.checkAttachments(of: entry.notification.request.content)
        }
    }

    /// A notification as programs of this system may have it: without the places of files of an earlier process that
    /// were not read yet, since another program may have changed them, and of files that are lost, which it names.
    func withCheckedFiles(_ notification: RemoteNotification) -> RemoteNotification {
        var checked = notification
        for (index, attachment) in notification.request.content.attachments.enumerated() {
            let file = self.attachments.files[attachment.digest]
            if file?.isChecked != true { checked.request.content.attachments[index].path = nil }
            checked.request.content.attachments[index].isDamaged = file == nil
        }
        return checked
    }

    /// Takes over the files of an earlier process. Called before its notifications are restored.
    func restoreAttachments() async {
        for file in await self.attachmentDirectory?.load() ?? [] {
            self.attachments.restore(file, self.clock.now)
        }
    }

    /// Removes the files that no notification needs any more.
    func collectAttachments() {
        guard let attachmentDirectory, !self.attachments.isEmpty else { return }
        var used: [AttachmentDigest: Set<AttachmentTable.Holder>] = [:]
        func use(_ notification: RemoteNotification, _ sender: NotificationSender) {
            for attachment in notification.request.content.attachments {
                used[attachment.digest, default: []].insert(AttachmentTable.Holder(sender))
            }
        }
        for entry in self.outbox.all {
            // Only programs of this system have something there.
            use(
                entry.notification,
                NotificationSender(systemID: "", application: entry.key.application, isLocal: true)
            )
        }
        for entry in self.pending.all { use(entry.notification, entry.sender) }
        for entry in self.received.all { use(entry.notification, entry.sender) }
        let alarm = self.attachments.nextExpiration
        let over = self.attachments.keep(used, self.clock.now)
        if self.attachments.nextExpiration != alarm { self.setAlarm() }
        guard !over.isEmpty else { return }
        let paths = over.flatMap { digest, file in
            [attachmentDirectory.path(of: digest, file.type), attachmentDirectory.thumbnailPath(of: digest)]
        }
        _ = self.attachmentCalls.begin(self.clock) { await attachmentDirectory.remove(paths) }
    }
}
