// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystems
public import UserActivities

/// An application on a staged system: what a `RemoteSystemHost` there offers.
public struct StagedApplication: Sendable {
    /// The application id, in reverse-DNS form.
    public var id: String
    /// The application's name as users see it. Defaults to `nil`: the id.
    public var displayName: String?
    /// The attributes that the application publishes. Defaults to none.
    public var attributes: [String: String]
    /// The services that the application offers, with their options: access, version, summary. Defaults to none.
    ///
    /// A real host in this process handles their requests.
    public var services: [AppService]
    /// Opens URIs that other systems of the account launch on the system. Defaults to `nil`: none are opened.
    public var launchURIProvider: (any LaunchURIProvider)?
    /// Whether systems of other accounts may find the application and call its services that are offered to anyone
    /// nearby. Defaults to `false`.
    public var allowsAnyoneNearby: Bool
    /// Whether other applications of the system may run under the same id. Defaults to `false`.
    public var allowsSeveralProcesses: Bool
    /// The interceptors of the application's configuration, for the requests that it handles and the requests that it
    /// sends to its callers. Defaults to none.
    public var interceptors = AppServiceInterceptors()
    /// How the application takes part in hand-off. Defaults to `nil`: it does not.
    public var activities: Activities?
    /// Creates what feature modules add to the host, with its configuration, at each start. Defaults to `nil`: nothing.
    package var features: (@Sendable (RemoteSystemsConfiguration) -> [HostFeature])?
    /// What makes it the host daemon of its system. Defaults to `nil`: it is none.
    var daemon: StagedHostDaemon?

    /// How a staged application takes part in hand-off: what its `UserActivityHost` is created with.
    public struct Activities: Sendable {
        /// The types of activities that the application continues.
        public var types: [String]
        /// The options of hand-off. Their `host` is not used. Defaults to
        /// `UserActivityHost.Options()`.
        public var options = UserActivityHost.Options()
        /// Continues activities.
        public var handler: any ContinuationHandler

        /// Creates the description of an application that offers activities, and continues some with a closure.
        ///
        /// - Parameters:
        ///   - types: The types of activities that the application continues. Defaults to none.
        ///   - continueActivity: Continues an activity. Defaults to a closure that does nothing.
        public init(
            types: [String] = [],
            continueActivity: @escaping @Sendable (UserActivity) async throws -> Void = { _ in }
        ) {
            self.init(types: types, handler: .closure(continueActivity))
        }

        /// Creates the description of an application that continues activities with a handler.
        ///
        /// - Parameters:
        ///   - types: The types of activities that the application continues.
        ///   - handler: Continues activities.
        public init(types: [String], handler: some ContinuationHandler) {
            self.types = types
            self.handler = handler
        }
    }

    /// Creates an application for a staged system.
    ///
    /// - Parameters:
    ///   - id: The application id, in reverse-DNS form.
    ///   - displayName: The application's name as users see it. Defaults to `nil`: the id.
    ///   - attributes: The attributes that the application publishes. Defaults to none.
    ///   - services: The services that the application offers. Defaults to none.
    ///   - launchURIProvider: Opens URIs that other systems launch. Defaults to `nil`: none are opened.
    ///   - allowsAnyoneNearby: Whether systems of other accounts may find and call the application. Defaults to
    ///     `false`.
    ///   - allowsSeveralProcesses: Whether other applications of the system may run under the same id. Defaults to
    ///     `false`.
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

    /// Checks that a system's applications satisfy the rules for hosts on one machine.
    static func check(_ applications: [StagedApplication]) throws {
        let claims = MemoryApplicationClaims()
        var claimed: [any ApplicationClaim] = []
        for application in applications {
            try ArgumentCheck.check(name: application.id, "The application id")
            for service in application.services { try service.validate() }
            try RemoteSystemHost.check(attributes: application.attributes)
            do {
                claimed.append(try claims.claim(application.id, isShared: application.allowsSeveralProcesses))
            } catch let taken as ApplicationIsTaken {
                throw RemoteSystemError(alreadyRunning: application.id, taken)
            }
        }
        withExtendedLifetime(claimed) {}
    }
}
