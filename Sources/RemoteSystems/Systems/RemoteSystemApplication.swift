// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// An application on a remote system that can be connected to.
public struct RemoteSystemApplication: Sendable, Hashable, Identifiable {
    /// An app service that an application offers.
    public struct Service: Sendable, Hashable {
        /// The service's name, in reverse-DNS form.
        public var name: String
        /// The schema of requests; `nil` when the service publishes none, or its host left it out because the host's
        /// description would be too long. A schema that cannot be read is replaced by one that allows every message.
        public var requestSchema: AllowedValueSchema?
        /// The schema of responses; `nil` when the service publishes none, or its host left it out because the host's
        /// description would be too long. A schema that cannot be read is replaced by one that allows every message.
        public var responseSchema: AllowedValueSchema?
        /// The schema of the requests that the service sends to its callers; `nil` in the cases of ``requestSchema``.
        public var pushRequestSchema: AllowedValueSchema?
        /// The schema of the callers' responses to the service's requests; `nil` in the cases of ``requestSchema``.
        public var pushResponseSchema: AllowedValueSchema?
        /// The service's version, in a format of the service's choice; `nil` when the service publishes none.
        public var version: String?
        /// The purpose of the service, in a sentence; `nil` when the service publishes none.
        public var summary: String?
        /// Whether other systems than the application's own may call the service. Defaults to `true`.
        public var supportsRemote = true
    }

    /// The application's id, in reverse-DNS form (`com.example.player`).
    public let id: String
    /// The application's name as users see it. It is the id if the application has no other name.
    public var displayName: String
    /// Attributes that the application publishes, with keys of its own choice.
    public var attributes: [String: String]
    /// The app services that the application offers, by name in ascending order.
    public var services: [Service]
    /// The schemes of the URIs that the application opens, in lower case and ascending order.
    public var uriSchemes: [String]
    /// The names of the topics that the application's process publishes. The host daemon's topics contain the records
    /// of its machine's programs.
    package var topics: [String]
    /// Whether the application is running.
    ///
    /// An application that is not running is installed; a connection or a launch starts it.
    public var isRunning: Bool
    /// The publisher of the application, as the host daemon of its system vouches for it.
    /// ``ApplicationPublisher/unproven(_:)`` on a system without a host daemon.
    public package(set) var publisher = ApplicationPublisher.unproven(nil)
    /// The id of the system on which the application runs or is installed.
    public let systemID: SystemID

    /// The endpoints of the running processes, or of the host daemon that can start the application. Unordered.
    var endpoints: [Endpoint]
    /// The endpoint at which the process was authenticated last. Any device can announce other ``endpoints``.
    var authenticated: Endpoint?
    let origin: ApplicationContext
    /// The relation between the system's account and this one.
    let standing: Standing.Kind

    init(
        _ application: SystemDescription.Application,
        isRunning: Bool,
        on system: SystemID,
        endpoints: [Endpoint],
        authenticated: Endpoint? = nil,
        origin: ApplicationContext,
        standing: Standing.Kind = .sameAccount
    ) {
        self.standing = standing
        self.id = application.id
        self.displayName = application.displayName
        self.attributes = application.attributes
        self.services = application.services
        self.uriSchemes = application.uriSchemes
        self.topics = application.topics
        self.isRunning = isRunning
        self.systemID = system
        self.endpoints = endpoints
        self.authenticated = authenticated
        self.origin = origin
    }

    /// The endpoints to connect to, the authenticated one first.
    var candidates: [Endpoint] {
        guard let authenticated, !self.endpoints.contains(authenticated) else { return self.endpoints }
        return [authenticated] + self.endpoints
    }

    /// Returns whether the two values are equal in every property and name the same addresses.
    public static func == (lhs: RemoteSystemApplication, rhs: RemoteSystemApplication) -> Bool {
        lhs.id == rhs.id && lhs.displayName == rhs.displayName && lhs.attributes == rhs.attributes
            && lhs.services == rhs.services && lhs.uriSchemes == rhs.uriSchemes && lhs.topics == rhs.topics
            && lhs.isRunning == rhs.isRunning && lhs.publisher == rhs.publisher
            && lhs.systemID == rhs.systemID && Set(lhs.endpoints) == Set(rhs.endpoints)
            && lhs.standing == rhs.standing
    }

    /// Feeds the ids of the application and of its system into the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.id)
        hasher.combine(self.systemID)
    }
}
