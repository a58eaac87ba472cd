// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import ValueSets

/// A notification that waits in the host daemon of this system until another system is back.
public struct PostedNotification: Sendable, Hashable {
    /// The notification.
    public var notification: RemoteNotification
    /// The id of the system that is to receive it.
    public var systemID: String
    /// The date at which the program handed the notification to the daemon.
    public var date: Date
    /// The date at which the daemon discards it.
    public var expires: Date
    /// The application that sends it. Not verified.
    package var application: String

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.systemID = try reader.requiredString("System")
        self.application = try reader.requiredString("Application")
        (self.date, self.expires) = (set["Date"]?.date ?? .distantPast, set["Expires"]?.date ?? .distantPast)
        self.notification = try RemoteNotification(listed: set)
    }
}
