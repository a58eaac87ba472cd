// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystems

/// Notifications that an extension of their application changes before they are shown.
extension NotificationReceiver {
    /// The time from the arrival of a notification until it is shown, whether the extension has ended or not.
    static let extensionTime = Duration.seconds(30)
    /// The time before that at which the extension learns that it is almost over.
    static let lastChanceTime = Duration.seconds(5)
    /// The time for an extension to end after it has responded. The next one does not wait any longer.
    private static let endTime = Duration.seconds(2)

    /// Whether an extension changes a notification before it is shown.
    func isExtended(_ notification: RemoteNotification, _ sender: NotificationSender) -> Bool {
        self.mayBeExtended(notification, sender)
            && self.extensionPrograms?.hasExtension(notification.application(of: sender)) == true
    }

    private func mayBeExtended(_ notification: RemoteNotification, _ sender: NotificationSender) -> Bool {
        notification.isMutable && sender.may(.serviceExtension)
    }

    /// Why a mutable notification is shown as it was sent, for a sender that may have mistaken the application.
    func extensionIsMissing(_ notification: RemoteNotification, _ sender: NotificationSender) -> String? {
        guard self.mayBeExtended(notification, sender) else { return nil }
        let application = notification.application(of: sender)
        return "Its content is as it was sent: the system has no service extension of \(application)."
    }

    /// Lets the extension of the application change a notification that has been stored as it was sent, and shows it.
    func showExtended(_ entry: ReceivedNotifications.Entry) async -> NotificationDelivery {
        // Also if the sender leaves meanwhile.
        await self.clock.task { await self.showExtendedToTheEnd(entry) }.value
    }

    private func showExtendedToTheEnd(_ entry: ReceivedNotifications.Entry) async -> NotificationDelivery {
        let outcome = await self.outcome(of: entry)
        let content: NotificationContent?
        let note: String?
        switch outcome {
        case .unwanted: (content, note) = (nil, nil)
        case .changed(let changed, let leftOut):
            content = changed
            note = leftOut
        case .failed(let reason, let detail):
            self.logger.warning(
                "A notification is shown as it was sent, because its extension has failed",
                metadata: [
                    "application": "\(entry.notification.application(of: entry.sender))",
                    "reason": "\([reason, detail].filter { !$0.isEmpty }.joined(separator: " "))",
                ]
            )
            (content, note) = (nil, "Its content is as it was sent: \(reason)")
        }
        // It may have ended, or been replaced, meanwhile.
        guard let ready = self.received.setReady(entry, content) else { return .superseded }
        if content != nil {
            await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(ready))] }
        }
        if self.isCurrent(ready) { self.reportDelivery(ready) }
        var delivery = await self.show(ready)
        if let note { delivery.add(note) }
        return delivery
    }

    private enum ExtensionOutcome: Sendable {
        /// The application has no extension any more, or the notification has ended.
        case unwanted
        /// What it has become, and for the sender what was left out.
        case changed(NotificationContent, leftOut: String?)
        /// For the sender and, with paths of this system, for the log.
        case failed(String, detail: String = "")
    }

    private func outcome(of entry: ReceivedNotifications.Entry) async -> ExtensionOutcome {
        guard let extensionPrograms, let readyBy = entry.readyBy else { return .unwanted }
        let deadline = min(readyBy, entry.expires.map { $0 - .seconds(1) } ?? readyBy)
        let turn = self.extensionTurns.enter(entry.sender.quotaHolder)
        let (outcomes, feed) = AsyncStream.makeStream(of: ExtensionOutcome.self)
        let running = self.clock.task {
            await self.run(extensionPrograms, entry, turn, until: deadline) { feed.yield($0) }
        }
        let (ends, observation) = self.superseded.add()
        let observing = self.clock.task {
            for await number in ends where number == entry.number { feed.yield(.unwanted) }
        }
        let outcome = await self.clock.first(within: deadline - self.clock.now) {
            for await outcome in outcomes { return outcome }
            return .unwanted
        }
        self.superseded.finish(observation)
        observing.cancel()
        // It ends the program, if there is one.
        running.cancel()
        return outcome
            ?? (self.extensionTurns.isRunning(turn)
                ? .failed("The extension did not respond in time.")
                : .failed("The extension was not started in time, because others were still running."))
    }

    /// Runs an extension when its turn has come. Its cancellation means that the notification waits no longer.
    private func run(
        _ programs: any ServiceExtensionPrograms,
        _ entry: ReceivedNotifications.Entry,
        _ turn: Turns<String, Never>.Turn,
        until deadline: ContinuousClock.Instant,
        report: @escaping @Sendable (ExtensionOutcome) -> Void
    ) async {
        defer { self.extensionTurns.leave(turn) }
        for await _ in turn.start {}
        // The user may have restricted its sender meanwhile.
        guard !Task.isCancelled, self.isCurrent(entry), self.permissions.permission(of: entry.sender) != .denied else {
            return report(.unwanted)
        }
        let application = entry.notification.application(of: entry.sender)
        let starting = self.clock.task { () -> Result<(any ExtensionProgram)?, NotificationError> in
            do throws(NotificationError) {
                return .success(try await programs.start(application))
            } catch {
                return .failure(error)
            }
        }
        let started = await self.clock.first(within: deadline - self.clock.now) { await starting.value }
        guard let started else {
            // Its program may lie on a disk that does not respond now.
            _ = self.clock.task { if let program = try? await starting.value.get() { await program.end() } }
            return
        }
        let program: any ExtensionProgram
        do throws(NotificationError) {
            guard let started = try started.get() else { return report(.unwanted) }
            program = started
        } catch {
            return report(.failed("The extension could not be started.", detail: error.message))
        }
        let outcome = await self.clock.first(within: deadline - self.clock.now) {
            await self.outcome(of: program, entry, until: deadline)
        }
        let ending = self.clock.task { await program.end() }
        if case .failed(let reason, let detail)? = outcome, !Task.isCancelled {
            let end = await self.clock.first(within: Self.endTime) { await ending.value }
            report(.failed(reason, detail: Self.detail(detail, end: end)))
        } else if let outcome {
            report(outcome)
        }
        await self.clock.task { [clock] in _ = await clock.first(within: Self.endTime) { await ending.value } }.value
    }

    /// What the log has besides the reason.
    ///
    /// - Parameter end: how the program has ended, as a clause; `nil` if it has not.
    static func detail(_ detail: String, end: String?) -> String {
        let sentence = end.map { "\($0.prefix(1).uppercased())\($0.dropFirst())." } ?? "It has not ended."
        return detail.isEmpty ? sentence : "\(detail) \(sentence)"
    }

    private func outcome(
        of program: any ExtensionProgram,
        _ entry: ReceivedNotifications.Entry,
        until deadline: ContinuousClock.Instant
    ) async -> ExtensionOutcome {
        var request = entry.notification.request
        request.content = await self.copyFiles(of: request.content, for: program)
        do throws(NotificationError) {
            program.send(
                try ServiceExtensionMessage.request(
                    request,
                    of: entry.sender,
                    seconds: (deadline - self.clock.now).components.seconds
                )
            )
        } catch {
            return .failed("The extension could not be started.", detail: "\(error)")
        }
        let lastChance = self.clock.task(at: deadline - Self.lastChanceTime) {
            program.send(ServiceExtensionMessage.timeWillExpire)
        }
        var outputs = program.outputs.makeAsyncIterator()
        var output = await outputs.next(isolation: #isolation)
        let application = entry.notification.application(of: entry.sender)
        while case .line(let line) = output, await self.schedule(line, of: program, application) {
            output = await outputs.next(isolation: #isolation)
        }
        lastChance.cancel()
        switch output {
        case nil: return .failed("The extension has ended without a response.")
        case .tooLong: return .failed("The response of the extension is longer than 1 MiB.")
        case .line(let line):
            do throws(NotificationError) {
                return try await self.content(of: line, entry)
            } catch {
                return .failed("The response of the extension cannot be used. \(error)")
            }
        }
    }

    private func content(
        of response: String,
        _ entry: ReceivedNotifications.Entry
    ) async throws(NotificationError) -> ExtensionOutcome {
        let original = entry.notification.request.content
        var (content, attachments) = try ServiceExtensionMessage.readResponse(response)
        guard content.hasAlert else {
            return .failed("The extension has removed the text: its content has neither Title nor Body.")
        }
        content.categoryIdentifier = original.categoryIdentifier
        var leftOut: [String] = []
        for attachment in attachments {
            // The time is over: the result is not awaited any longer.
            guard !Task.isCancelled else { return .unwanted }
            do throws(NotificationError) {
                content.attachments.append(try await self.takeOver(attachment, original, of: entry.sender))
            } catch {
                // The rest of the change is worth more.
                leftOut.append(attachment.identifier)
                self.logger.warning(
                    "An attachment of an extension was left out",
                    metadata: [
                        "application": "\(entry.notification.application(of: entry.sender))",
                        "attachment": "\(attachment.identifier)", "path": "\(attachment.path ?? "")",
                        "reason": "\(error)",
                    ]
                )
            }
        }
        return .changed(
            content,
            leftOut: leftOut.isEmpty
                ? nil : "Attachments of its extension were left out: \(leftOut.joined(separator: ", "))."
        )
    }

    /// Keeps the file of an attachment that an extension has written, or its changed copy of one that it was given.
    /// An attachment of the original content without a file stays as it is.
    func takeOver(
        _ changed: ChangedAttachment,
        _ original: NotificationContent,
        of sender: NotificationSender
    ) async throws(NotificationError) -> NotificationAttachment {
        let present = original.attachments.first { $0.identifier == changed.identifier }
        if var present, changed.path == nil {
            present.isThumbnailHidden = changed.isThumbnailHidden
            return present
        }
        guard let path = changed.path else {
            throw NotificationError(.attachmentInvalid, "The extension has not named its file.")
        }
        guard path.hasPrefix("/") else {
            throw NotificationError(.attachmentInvalid, "The extension has not named its file by its absolute path.")
        }
        return try await self.takeFile(
            path,
            as: changed.identifier,
            isThumbnailHidden: changed.isThumbnailHidden,
            of: sender
        )
    }
}
