// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// What the host daemon and a service extension send each other: lines of JSON, in the form that keeps the types
/// (`Docs/host-daemon.md`).
package enum ServiceExtensionMessage {
    /// The maximum length of a line, in bytes. The largest content is much shorter.
    package static let maxBytes = 1 << 20

    /// The request: the first line that an extension receives.
    static func request(
        _ request: NotificationRequest,
        of sender: NotificationSender,
        seconds: Int64
    ) throws(NotificationError) -> String {
        var set: ValueSet = [
            "Id": .string(request.identifier), "Content": .dictionary(request.content.valueSet),
            "SystemId": .string(sender.systemID), "Application": .string(sender.application),
            "Seconds": .integer(seconds),
        ]
        set.putFiles(of: request.content)
        return try Self.line(set)
    }

    /// The line with which an extension learns that its time is almost over.
    static let timeWillExpire = #"{"TimeWillExpire":true}"#

    static func isTimeWillExpire(_ line: String) -> Bool {
        (try? ValueSet(json: line))?["TimeWillExpire"]?.bool == true
    }

    /// Reads a request, on the side of the extension.
    static func readRequest(_ line: String) throws(NotificationError) -> NotificationRequest {
        let set = try Self.set(line)
        return NotificationRequest(
            identifier: try FieldReader(set).requiredString("Id"),
            content: try Self.content(set)
        )
    }

    /// The line with which an extension responds.
    static func response(_ content: NotificationContent) throws(NotificationError) -> String {
        try content.validate()
        var set: ValueSet = ["Content": .dictionary(content.valueSet)]
        set.putFiles(of: content)
        return try Self.line(set)
    }

    /// Reads a response. An extension in another language need not describe its files: they are attachments, too.
    ///
    /// - Returns: the content without its attachments, and these in their order.
    static func readResponse(
        _ line: String
    ) throws(NotificationError) -> (content: NotificationContent, attachments: [ChangedAttachment]) {
        try Self.readContent(try Self.set(line))
    }

    /// Reads the content and the files that an extension has written.
    ///
    /// - Returns: the content without its attachments, and these in their order.
    static func readContent(
        _ set: ValueSet
    ) throws(NotificationError) -> (content: NotificationContent, attachments: [ChangedAttachment]) {
        let files = FieldReader(try FieldReader(set).dictionary("Files") ?? [:])
        var content = try Self.content(set)
        var attachments: [ChangedAttachment] = []
        for attachment in content.attachments {
            attachments.append(
                ChangedAttachment(
                    identifier: attachment.identifier,
                    isThumbnailHidden: attachment.isThumbnailHidden,
                    path: attachment.path
                )
            )
        }
        let described = Set(attachments.map(\.identifier))
        for (identifier, _) in files.set where !described.contains(identifier) {
            try FieldCheck.identifier(identifier, "Files")
            attachments.append(
                ChangedAttachment(
                    identifier: identifier,
                    isThumbnailHidden: false,
                    path: try files.requiredString(identifier)
                )
            )
        }
        try FieldCheck.count(attachments.count, "Files", max: NotificationLimits.attachments)
        content.attachments = []
        return (content, attachments)
    }

    private static func content(_ set: ValueSet) throws(NotificationError) -> NotificationContent {
        guard let fields = try FieldReader(set).dictionary("Content") else {
            throw NotificationError(.invalidContent, "The message has no Content.", field: "Content")
        }
        var content: NotificationContent
        do throws(NotificationError) {
            content = try NotificationContent(fields)
        } catch {
            throw error.inside("Content")
        }
        try content.readFiles(set)
        return content
    }

    private static func set(_ line: String) throws(NotificationError) -> ValueSet {
        do throws(ValueSetError) {
            return try ValueSet(json: line)
        } catch {
            throw NotificationError(
                .invalidContent,
                "The first line of the standard output must be the JSON of the response, and nothing else. \(error)"
            )
        }
    }

    private static func line(_ set: ValueSet) throws(NotificationError) -> String {
        do throws(ValueSetError) {
            return try set.json()
        } catch {
            throw NotificationError(.invalidContent, "\(error)")
        }
    }
}

/// An attachment in the response of a service extension.
struct ChangedAttachment: Hashable {
    var identifier: String
    var isThumbnailHidden: Bool
    /// The file; `nil` for one that stays as it is.
    var path: String?
}
