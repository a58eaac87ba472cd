// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import ValueSets

/// A notification that the host daemon of this system keeps until another system is back.
///
/// One that has ended with a ``problem`` stays in the list for a day, or until the daemon ends.
public struct PostedNotification: Sendable, Hashable {
    /// The notification.
    public var notification: RemoteNotification
    /// The id of the system that is to receive it.
    public var systemID: String
    /// The date at which the program handed the notification to the daemon.
    public var date: Date
    /// The date at which the daemon discards it.
    public var expires: Date
    /// Whether the daemon will send it. If not, ``problem`` has the reason.
    public var isWaiting: Bool
    /// Why the last attempt to deliver it has failed; or, if it does not wait any more, why the system has refused or
    /// withheld it, what the system has left out, or that its time was over. For people: do not compare it.
    public var problem: String?
    /// The application that sends it. Not verified.
    package var application: String

    init(_ set: ValueSet) throws(NotificationError) {
        let reader = FieldReader(set)
        self.systemID = try reader.requiredString("System")
        self.application = try reader.requiredString("Application")
        (self.date, self.expires) = (set["Date"]?.date ?? .distantPast, set["Expires"]?.date ?? .distantPast)
        self.isWaiting = try reader.bool("Waiting") ?? true
        self.problem = try reader.string("Problem")
        self.notification = try RemoteNotification(listed: set)
    }
}
