// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import RemoteSystems
public import RemoteSystemsIdentity

/// An activity that an application on another system offers for continuation.
///
/// The content of the activity stays on the other system until it is continued.
public struct UserActivityOffer: Sendable, Identifiable {
    /// The id of the activity. It stays the same while the activity is current.
    ///
    /// Ids are random. But a system that has listed an activity can offer one of its own with the same id, so compare
    /// ``system`` and ``applicationID``, too, before continuing an offer that was found by its id.
    public let id: UUID
    /// The kind of activity, in reverse-DNS form.
    public let activityType: String
    /// The title, without control characters and of at most 512 bytes of UTF-8; `nil` if the activity has none.
    public let title: String?
    /// The system that offers the activity.
    public let system: RemoteSystem
    /// The id of the application that offers the activity.
    public let applicationID: String
    /// The publisher of the application that offers the activity, as the host daemon of its system vouches for it.
    public let publisher: ApplicationPublisher
    /// Whether the application that continues the activity may open streams to the one that offers it.
    public let supportsContinuationStreams: Bool
    /// Whether a browser can continue the activity: it has a web address, and its system is of the same account.
    public let hasWebpage: Bool
    /// The version of the content, as the offering application counts it; `nil` if it states none.
    public let payloadVersion: Int?
    /// Identifies the window or document that the activity belongs to; `nil` if the application states none.
    public let targetContentIdentifier: String?
    /// The time at which the offer ends, by the clock of the offering system. This system does not rely on that clock:
    /// it drops the offer when the stated lifetime has passed.
    public let expirationDate: Date

    /// The name under which the offering application is listed: its display name, or its id.
    public var applicationDisplayName: String {
        self.system.application(self.applicationID)?.displayName ?? self.applicationID
    }

    init(_ descriptor: ActivityDescriptor, application: String, on system: RemoteSystem) {
        self.id = descriptor.id
        self.activityType = descriptor.type
        self.title = descriptor.title
        self.system = system
        self.applicationID = application
        self.publisher = system.application(application)?.publisher ?? .unproven(nil)
        self.supportsContinuationStreams = descriptor.supportsContinuationStreams
        self.hasWebpage = descriptor.hasWebpage && system.authorizationKind == .sameUser
        self.payloadVersion = descriptor.payloadVersion
        self.targetContentIdentifier = descriptor.targetContentIdentifier
        self.expirationDate = descriptor.expirationDate
    }
}
