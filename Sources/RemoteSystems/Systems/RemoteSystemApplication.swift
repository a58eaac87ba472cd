// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
public import ValueSets

/// An application on a remote system that can be talked to.
public struct RemoteSystemApplication: Sendable, Hashable, Identifiable {
    /// An app service that an application offers.
    public struct Service: Sendable, Hashable {
        /// The service's name.
        public var name: String
        /// What requests must look like; `nil` when the service does not say, or it could not be read.
        public var requestSchema: AllowedValueSchema?
        /// What responses look like; `nil` when the service does not say, or it could not be read.
        public var responseSchema: AllowedValueSchema?
        /// What the service's requests to its callers look like; `nil` when the service does not say.
        public var pushRequestSchema: AllowedValueSchema?
        /// What responses to those must look like; `nil` when the service does not say.
        public var pushResponseSchema: AllowedValueSchema?
        /// Its version, in whatever form the service's makers count, if it says.
        public var version: String?
        /// What it is for, in a sentence, if it says.
        public var summary: String?
        /// Whether it takes callers from other systems than its own.
        public var supportsRemote = true
    }

    /// The application's id, in reverse-DNS form (`com.example.player`).
    public let id: String
    /// The application's name for people; its id if it has none.
    public var displayName: String
    /// What the application says of itself, by keys of its own choice.
    public var attributes: [String: String]
    /// The app services that it offers, by name in ascending order.
    public var services: [Service]
    /// The schemes of the URIs that it opens, in lower case and ascending order.
    public var uriSchemes: [String]
    /// Whether it runs. One that does not is installed there, and is started when somebody connects to it or launches it.
    public var isRunning: Bool
    /// The system it runs on.
    public let systemID: SystemID

    /// Where its processes listen, or whoever starts it, in no particular order.
    var endpoints: [Endpoint]
    let origin: ApplicationContext
    /// What its system is to this one.
    let standing: Standing.Kind

    init(
        _ application: SystemDescription.Application,
        isRunning: Bool,
        on system: SystemID,
        endpoints: [Endpoint],
        origin: ApplicationContext,
        standing: Standing.Kind = .sameAccount
    ) {
        self.standing = standing
        self.id = application.id
        self.displayName = application.displayName
        self.attributes = application.attributes
        self.services = application.services
        self.uriSchemes = application.uriSchemes
        self.isRunning = isRunning
        self.systemID = system
        self.endpoints = endpoints
        self.origin = origin
    }

    /// Equal when everything that is known of the two is equal.
    public static func == (lhs: RemoteSystemApplication, rhs: RemoteSystemApplication) -> Bool {
        lhs.id == rhs.id && lhs.displayName == rhs.displayName && lhs.attributes == rhs.attributes
            && lhs.services == rhs.services && lhs.uriSchemes == rhs.uriSchemes && lhs.isRunning == rhs.isRunning
            && lhs.systemID == rhs.systemID && Set(lhs.endpoints) == Set(rhs.endpoints)
            && lhs.standing == rhs.standing
    }

    /// Hashes the ids.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.id)
        hasher.combine(self.systemID)
    }
}
