// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems

/// An application on a system of a stage: what a `RemoteSystemHost` there would offer.
public struct StagedApplication: Sendable {
    /// Its id, in reverse-DNS form.
    public var id: String
    /// Its name for people; its id unless set.
    public var displayName: String?
    /// What it says of itself.
    public var attributes: [String: String]
    /// The services that it offers, with their options: who may call, version, summary. They are answered by a real host,
    /// in this process.
    public var services: [AppService]
    /// Opens URIs that other systems of its account launch there.
    public var launchURIProvider: (any LaunchURIProvider)?
    /// Whether systems of other accounts may find it and call what is offered to anyone nearby.
    public var allowsAnyoneNearby: Bool
    /// Whether other applications of its system may run under the same id.
    public var allowsSeveralProcesses: Bool
    /// The interceptors of its configuration: around what it handles, and what it sends to its callers. None unless set.
    public var interceptors = AppServiceInterceptors()

    /// An application.
    public init(
        _ id: String,
        displayName: String? = nil,
        attributes: [String: String] = [:],
        services: [AppService] = [],
        launchURIProvider: (any LaunchURIProvider)? = nil,
        allowsAnyoneNearby: Bool = false,
        allowsSeveralProcesses: Bool = false
    ) {
        self.id = id
        self.displayName = displayName
        self.attributes = attributes
        self.services = services
        self.launchURIProvider = launchURIProvider
        self.allowsAnyoneNearby = allowsAnyoneNearby
        self.allowsSeveralProcesses = allowsSeveralProcesses
    }

    /// Holds a system's applications to the rule that hosts on a machine are held to.
    static func check(_ applications: [StagedApplication]) throws {
        let claims = MemoryApplicationClaims()
        var claimed: [any ApplicationClaim] = []
        for application in applications {
            try ArgumentCheck.check(name: application.id, "The application id")
            for service in application.services { try service.validate() }
            do {
                claimed.append(try claims.claim(application.id, isShared: application.allowsSeveralProcesses))
            } catch let taken as ApplicationIsTaken {
                throw RemoteSystemError(alreadyRunning: application.id, taken)
            }
        }
        withExtendedLifetime(claimed) {}
    }
}
