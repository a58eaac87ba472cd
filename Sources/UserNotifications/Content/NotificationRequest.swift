// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// A notification with its identifier.
public struct NotificationRequest: Sendable, Hashable, Identifiable {
    /// The identifier, unique in the application: a request replaces an earlier one with the same identifier. Valid
    /// range: 1–128 bytes.
    public var identifier: String
    /// The texts, and how they are shown.
    public var content: NotificationContent
    /// The condition on which the notification is delivered; `nil` for at once.
    public var trigger: NotificationTrigger?

    /// The identifier.
    public var id: String { self.identifier }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - identifier: The identifier, unique in the application.
    ///   - content: The texts, and how they are shown.
    ///   - trigger: The condition on which the notification is delivered. Defaults to `nil`: at once.
    public init(identifier: String, content: NotificationContent, trigger: NotificationTrigger? = nil) {
        self.identifier = identifier
        self.content = content
        self.trigger = trigger
    }

    /// Checks every field against its limit.
    ///
    /// - Throws: ``NotificationError`` that names the field.
    public func validate() throws(NotificationError) {
        try FieldCheck.identifier(self.identifier, "identifier")
        do throws(NotificationError) {
            try self.content.validate()
        } catch {
            throw error.inside("content")
        }
        do throws(NotificationError) {
            try self.trigger?.validate()
        } catch {
            throw error.inside("trigger")
        }
    }
}
