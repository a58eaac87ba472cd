// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import ValueSets

/// Sending the files of attachments to a system that receives notifications.
extension AppServiceConnection {
    /// Sends the files that the other side does not have.
    ///
    /// - Returns: why it does not accept some of them, by their identifiers.
    /// - Throws: ``NotificationError`` if a file cannot be read; `RemoteSystemError` if the connection fails;
    ///   `CancellationError`.
    func send(_ attachments: [NotificationAttachment]) async throws -> [String: String] {
        var refusals: [String: String] = [:]
        for attachment in attachments {
            do {
                try await self.send(attachment)
            } catch let error as RemoteSystemError where error.code == .fileFailed && error.side == .local {
                throw NotificationError(.attachmentInvalid, error.message, field: attachment.identifier)
            } catch let error as RemoteSystemError where Self.isRefusal(error) {
                refusals[attachment.identifier] = error.message
            }
        }
        return refusals
    }

    /// Sends files to the host daemon of this system, which has to accept all of them.
    ///
    /// - Throws: ``NotificationError`` if it does not; otherwise as ``send(_:)``.
    func sendToDaemon(_ attachments: [NotificationAttachment]) async throws {
        guard let (identifier, reason) = try await self.send(attachments).min(by: { $0.key < $1.key }) else { return }
        throw NotificationError(.attachmentInvalid, "The attachment '\(identifier)': \(reason)", field: "attachments")
    }

    private func send(_ attachment: NotificationAttachment) async throws {
        guard let path = attachment.path else {
            throw NotificationError(.attachmentInvalid, "The file is on another system.", field: attachment.identifier)
        }
        let response = try await self.send(NotificationMessage.attach(attachment)).get()
        guard let ticket = response["Ticket"] else { return }
        let stream = try await self.openStream(ticket)
        try await stream.send(contentsOfFile: path)
        try await stream.finish()
        // The other side finishes when it has checked and stored the file.
        while try await stream.read() != nil {}
    }

    /// Whether the other side has responded, and does not want the file.
    private static func isRefusal(_ error: RemoteSystemError) -> Bool {
        error.code == .streamAborted || error.code == .refused || error.failureCode != nil
            || error.code == .serviceFailed
    }
}
