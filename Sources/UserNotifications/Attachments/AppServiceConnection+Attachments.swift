// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// Why a file was not sent, while the connection is well.
struct AttachmentRefusal: Sendable {
    var identifier: String
    /// The reason of the other side, or of this one for a file that it cannot read.
    var error: NotificationError
    /// Whether this side cannot read the file.
    var isLocal = false

    /// Whether a later attempt may succeed.
    var canRetry: Bool {
        !self.isLocal && [.rateLimited, .limitExceeded, .storeFailed].contains(self.error.code)
    }
}

/// Sending the files of attachments to a system that receives notifications.
extension AppServiceConnection {
    /// The time for a file to arrive and to be checked.
    private static let fileTime = AttachmentTable.waitingTime + .seconds(60)

    /// Sends the files that the other side does not have.
    ///
    /// - Returns: what was not sent, and why.
    /// - Throws: `RemoteSystemError` if the connection fails; `CancellationError`.
    func send(_ attachments: [NotificationAttachment]) async throws -> [AttachmentRefusal] {
        var refusals: [AttachmentRefusal] = []
        for attachment in attachments {
            do {
                try await self.send(attachment)
            } catch let error as RemoteSystemError {
                guard let refusal = Self.refusal(of: attachment, error) else { throw error }
                refusals.append(refusal)
            } catch let error as NotificationError {
                refusals.append(AttachmentRefusal(identifier: attachment.identifier, error: error, isLocal: true))
            }
        }
        return refusals
    }

    /// Sends files to the host daemon of this system, which has to accept all of them.
    ///
    /// - Throws: ``NotificationError`` if it does not; otherwise as ``send(_:)``.
    func sendToDaemon(_ attachments: [NotificationAttachment]) async throws {
        guard let refusal = try await self.send(attachments).first else { return }
        throw refusal.error(of: "The host daemon of this system did not take over the attachment")
    }

    private func send(_ attachment: NotificationAttachment) async throws {
        guard let path = attachment.path else {
            throw NotificationError(.attachmentInvalid, "The file is on another system.")
        }
        let response = try await self.send(NotificationMessage.attach(attachment)).get()
        guard let ticket = response["Ticket"] else { return }
        let stream = try await self.openStream(ticket)
        let limit = stream.abort(after: Self.fileTime, .system, "The file was not taken over in time.")
        defer { limit.cancel() }
        try await stream.send(contentsOfFile: path)
        try await stream.finish()
        // The other side finishes when it has checked and stored the file.
        guard try await stream.read() == nil else {
            stream.abort("Nothing is expected but the end.")
            throw RemoteSystemError(.protocolViolation, "The system responded to a file with data.", side: .remote)
        }
    }

    /// - Returns: `nil` if the connection has failed, and not the file.
    private static func refusal(of attachment: NotificationAttachment, _ error: RemoteSystemError) -> AttachmentRefusal?
    {
        if error.code == .fileFailed, error.side == .local {
            let reason = NotificationError(.attachmentInvalid, error.message)
            return AttachmentRefusal(identifier: attachment.identifier, error: reason, isLocal: true)
        }
        let code = error.failureCode.flatMap(NotificationMessage.code(ofFailure:))
        // A system of an earlier version does not know the request.
        guard code != nil || [.streamAborted, .refused, .serviceFailed].contains(error.code) else { return nil }
        return AttachmentRefusal(
            identifier: attachment.identifier,
            error: NotificationError(code ?? .attachmentInvalid, error.message)
        )
    }
}

extension RemoteSystemStream {
    /// Aborts the stream of a file with the code of a refusal.
    func abort(_ error: NotificationError) {
        self.abort(error.message, code: NotificationMessage.failureCode(error.code), canRetry: error.canRetry)
    }

    /// Aborts the stream when the time is over, unless the task is cancelled before.
    func abort(after limit: Duration, _ clock: FeatureClock, _ reason: String) -> Task<Void, Never> {
        clock.task(at: clock.now + limit) { self.abort(reason) }
    }
}

extension AttachmentRefusal {
    /// The refusal as the error of the whole request.
    func error(of what: String) -> NotificationError {
        NotificationError(
            self.error.code,
            self.isLocal ? self.error.message : "\(what) '\(self.identifier)'. \(self.error.message)",
            field: "content.attachments"
        )
    }
}
