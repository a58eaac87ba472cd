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

    /// Lets the extension of the application change a notification that has been stored as it was sent.
    ///
    /// - Returns: the notification to show, and why it is the original although the application has an extension.
    func extended(
        _ entry: ReceivedNotifications.Entry
    ) async -> (entry: ReceivedNotifications.Entry, failure: String?) {
        guard let extensionPrograms, self.mayBeExtended(entry) else { return (entry, nil) }
        let extended = await self.changed(entry, by: extensionPrograms)
        if self.isCurrent(entry) { self.report("delivered", extended.entry) }
        return extended
    }

    /// Whether an extension may change a notification.
    func mayBeExtended(_ entry: ReceivedNotifications.Entry) -> Bool {
        // A link permits its systems to show something to the user, not to start programs.
        self.extensionPrograms != nil && entry.notification.isMutable && !entry.sender.isLocal
            && entry.sender.linkedAccountID == nil
    }

    private func changed(
        _ entry: ReceivedNotifications.Entry,
        by programs: any ServiceExtensionPrograms
    ) async -> (entry: ReceivedNotifications.Entry, failure: String?) {
        let holder = entry.sender.quotaHolder
        let deadline = self.clock.now + Self.extensionTime
        defer { self.extensionLanes.ended(holder) }
        let outcome = await self.extensionLanes.begin(holder, self.clock) {
            await self.runExtension(programs, entry, until: deadline)
        }.value
        switch outcome {
        case .none: return (entry, nil)
        case .failed(let reason):
            let application = entry.notification.targetApplicationID ?? entry.sender.application
            self.logger.warning(
                "A notification is shown as it was sent, because its extension has failed",
                metadata: ["application": "\(application)", "reason": "\(reason)"]
            )
            return (entry, "Its content is as it was sent: \(reason)")
        case .changed(let content):
            // It may have ended, or been replaced, meanwhile.
            guard let changed = self.received.setContent(content, of: entry) else { return (entry, nil) }
            await self.commitOrLog { () throws(NotificationError) in [.put(try self.record(changed))] }
            return (changed, nil)
        }
    }

    private enum ExtensionOutcome: Sendable {
        /// The application has no extension, or the notification has ended.
        case none
        case changed(NotificationContent)
        case failed(String)
    }

    private func runExtension(
        _ programs: any ServiceExtensionPrograms,
        _ entry: ReceivedNotifications.Entry,
        until deadline: ContinuousClock.Instant
    ) async -> ExtensionOutcome {
        guard self.isCurrent(entry) else { return .none }
        let left = deadline - self.clock.now
        guard left > Self.lastChanceTime else {
            return .failed("The extension was still busy with earlier notifications of the system.")
        }
        let application = entry.notification.targetApplicationID ?? entry.sender.application
        let program: any ServiceExtensionProgram
        do throws(NotificationError) {
            guard let started = try await programs.start(application) else { return .none }
            program = started
        } catch {
            return .failed("The extension could not be started. \(error.message)")
        }
        let lastChance = self.clock.task { [clock] in
            // Its cancellation means that the extension has responded.
            guard (try? await clock.sleep(until: deadline - Self.lastChanceTime)) != nil else { return }
            program.send(ServiceExtensionMessage.timeWillExpire)
        }
        // With the time for its files, which may lie on a disk that does not respond.
        let outcome = await self.clock.first(within: left) { await self.outcome(of: program, entry, left) }
        lastChance.cancel()
        await program.end()
        return outcome ?? .failed("The extension took longer than \(Self.extensionTime.components.seconds) s.")
    }

    private func outcome(
        of program: any ServiceExtensionProgram,
        _ entry: ReceivedNotifications.Entry,
        _ left: Duration
    ) async -> ExtensionOutcome {
        do throws(NotificationError) {
            program.send(
                try ServiceExtensionMessage.request(
                    entry.notification.request,
                    of: entry.sender,
                    seconds: left.components.seconds
                )
            )
            guard let response = await program.response() else {
                return .failed("The extension did not respond: \(await program.end()).")
            }
            return try await self.content(of: response, entry)
        } catch {
            return .failed("The response of the extension cannot be used. \(error)")
        }
    }

    private func content(
        of response: String,
        _ entry: ReceivedNotifications.Entry
    ) async throws(NotificationError) -> ExtensionOutcome {
        let original = entry.notification.request.content
        var (content, attachments) = try ServiceExtensionMessage.readResponse(response)
        guard content.hasAlert else { return .failed("The extension has removed the text.") }
        content.categoryIdentifier = original.categoryIdentifier
        for attachment in attachments {
            do throws(NotificationError) {
                content.attachments.append(try await self.takeOver(attachment, original, of: entry.sender))
            } catch {
                // The rest of the change is worth more.
                self.logger.warning(
                    "An attachment of an extension was left out",
                    metadata: ["attachment": "\(attachment.identifier)", "reason": "\(error)"]
                )
            }
        }
        return .changed(content)
    }

    private func takeOver(
        _ changed: ChangedAttachment,
        _ original: NotificationContent,
        of sender: NotificationSender
    ) async throws(NotificationError) -> NotificationAttachment {
        let present = original.attachments.first { $0.identifier == changed.identifier }
        if var present, changed.path == nil || changed.path == present.path {
            present.isThumbnailHidden = changed.isThumbnailHidden
            return present
        }
        guard let path = changed.path else {
            throw NotificationError(.attachmentInvalid, "The extension has not named its file.")
        }
        return try await self.takeFile(
            path,
            as: changed.identifier,
            isThumbnailHidden: changed.isThumbnailHidden,
            of: sender
        )
    }
}
