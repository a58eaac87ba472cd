// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import ValueSets

/// A notification with which a program asks an application to update its content. The user does not see it
/// (``RemoteNotification/isContentAvailable``).
public struct ContentUpdate: Sendable, Hashable {
    /// The identifier and the content of the sender. Its data is in the user info.
    public var request: NotificationRequest
    /// The id of the sender's system, proved by its certificate.
    public var systemID: String
    /// The application that the sender claims to be. Any program of the account's systems can claim it.
    public var claimedApplicationID: String

    /// Creates an update.
    public init(request: NotificationRequest, systemID: String, claimedApplicationID: String) {
        self.request = request
        self.systemID = systemID
        self.claimedApplicationID = claimedApplicationID
    }

    var valueSet: ValueSet {
        [
            "Id": .string(self.request.identifier), "Content": .dictionary(self.request.content.valueSet),
            "SystemId": .string(self.systemID), "Application": .string(self.claimedApplicationID),
        ]
    }

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.request = NotificationRequest(
            identifier: try reader.requiredString("Id"),
            content: try NotificationContent(try reader.dictionary("Content") ?? [:])
        )
        self.systemID = try reader.requiredString("SystemId")
        self.claimedApplicationID = try reader.requiredString("Application")
    }
}
