// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// What to connect to: a system, or one application on it.
public struct RemoteSystemConnectionRequest: Sendable {
    enum Target: Sendable {
        case system(RemoteSystem)
        case application(RemoteSystemApplication)
        case address(Endpoint, SystemID?)
        case token(ConnectionToken)
    }

    private(set) var target: Target
    let origin: ApplicationContext
    /// The interceptors around every request that is sent over the connection, the outermost first, inside those of
    /// ``RemoteSystemsConfiguration/interceptors``. None unless set.
    public var interceptors: [any AppServiceClientInterceptor] = []

    /// A connection to whichever application on the system offers the service.
    public init(system: RemoteSystem) {
        self.target = .system(system)
        self.origin = system.origin
    }

    /// A connection to one application.
    public init(application: RemoteSystemApplication) {
        self.target = .application(application)
        self.origin = application.origin
    }

    /// A connection to an address, without discovery.
    ///
    /// - Parameters:
    ///   - host: a name or an address.
    ///   - port: the port that the host there listens on. Valid range: 1–65535; another one makes opening a connection fail with
    ///     ``RemoteSystemError/Code/invalidArgument``.
    ///   - systemID: the system that must answer; `nil` for any of our account.
    ///   - configuration: how this process takes part.
    public init(
        host: String,
        port: Int = RemoteSystemHost.defaultPort,
        systemID: SystemID? = nil,
        configuration: RemoteSystemsConfiguration
    ) {
        self.target = .address(configuration.environment.network.endpoint(host: host, port: port), systemID)
        self.origin = ApplicationContext(configuration)
    }

    /// A connection to an application that was known before. The token of a ``RemoteSystemApplication`` leads to the
    /// addresses that the application had when the token was made, without discovery. The token of an
    /// ``AppServiceCaller`` has no addresses: opening looks for the caller's system, for at most 5 s, and ends in
    /// ``AppServiceConnectionStatus/remoteSystemUnavailable`` when the system is not found, and in
    /// ``AppServiceConnectionStatus/appNotInstalled`` when it is found without the application.
    ///
    /// - Parameters:
    ///   - connectionToken: what ``RemoteSystemApplication/connectionToken`` or ``AppServiceCaller/connectionToken``
    ///     gave, today or long ago.
    ///   - allowsAnyoneNearby: whether one of a system of another account will do, as a watcher lists them that asks for
    ///     ``RemoteSystemAuthorizationKind/anonymous`` ones. Off unless set: whoever made the text up chooses whom we
    ///     talk to. It leads to the very system of which it was, at addresses nearby.
    ///   - configuration: how this process takes part.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidConnectionToken`` when it is none, or is of a system of
    ///   another account and that will not do.
    public init(
        connectionToken: String,
        allowsAnyoneNearby: Bool = false,
        configuration: RemoteSystemsConfiguration
    ) throws(RemoteSystemError) {
        let token = try ConnectionToken(connectionToken, network: configuration.environment.network)
        guard allowsAnyoneNearby || token.standing.isAccountProved else {
            throw ConnectionToken.invalid("it is for a system of another account, which is not asked for here")
        }
        self.target = .token(token)
        self.origin = ApplicationContext(configuration)
    }

    /// The same request with another target.
    func leading(to target: Target) -> RemoteSystemConnectionRequest {
        var request = self
        request.target = target
        return request
    }

    struct Route: Sendable {
        var endpoints: [Endpoint]
        var systemID: SystemID?
        /// What the system is to this one. An anonymous one must be the very one that a watcher has listed.
        var standing = Standing.Kind.sameAccount
        /// The application that is meant, if one in particular is.
        var applicationID: String?
        /// What the service's messages look like, as far as its system has told.
        var schemas: AppServiceSchemas?
        /// Whether the other side may have to start the application before it answers.
        var mayHaveToStart = true

        /// The standings of the systems that may answer.
        var accepted: Set<Standing.Kind> {
            switch self.standing {
            case .sameAccount: [.sameAccount]
            case .linked: [.sameAccount, .linked]
            case .anonymous: self.systemID == nil ? [.sameAccount] : [.sameAccount, .anonymous]
            }
        }
    }

    /// Known without asking to lead nowhere.
    struct Unresolved: Error {
        var status: AppServiceConnectionStatus
        var error: RemoteSystemError

        init(_ status: AppServiceConnectionStatus, _ message: String) {
            self.status = status
            self.error = RemoteSystemError(.refused, message, side: .remote, canRetry: true)
        }
    }

    /// Where the service is to be had, as far as is known without asking.
    func resolve(_ service: AppServiceDescription) throws(Unresolved) -> Route {
        switch self.target {
        case .address(let endpoint, let systemID):
            Route(endpoints: [endpoint], systemID: systemID, applicationID: service.applicationID)
        case .application(let application):
            Route(application, service)
        case .token(let token):
            Route(
                endpoints: token.endpoints,
                systemID: token.systemID,
                standing: token.standing,
                applicationID: service.applicationID ?? token.applicationID
            )
        case .system(let system):
            try Self.resolve(service, on: system)
        }
    }

    private static func resolve(_ service: AppServiceDescription, on system: RemoteSystem) throws(Unresolved) -> Route {
        var candidates = system.applications
        if let applicationID = service.applicationID {
            candidates = candidates.filter { $0.id == applicationID }
            guard !candidates.isEmpty else {
                throw Unresolved(
                    .appNotInstalled,
                    "There is no application \(applicationID) on that system, or it is not running."
                        + SimilarNames.question(for: applicationID, among: system.applications.map(\.id))
                        + " It has \(NameList.text(system.applications.map(\.id), none: "no applications"))."
                )
            }
        }
        let offerers = candidates.filter { $0.services.contains { $0.name == service.name } }
        guard let offering = offerers.first(where: \.isRunning) ?? offerers.first else {
            let offered = candidates.flatMap(\.services).map(\.name)
            throw Unresolved(
                .appServiceUnavailable,
                "No application on that system offers the service \(service.name)."
                    + SimilarNames.question(for: service.name, among: offered)
                    + " Offered \(offered.count == 1 ? "is" : "are") \(NameList.text(offered, none: "none"))."
            )
        }
        return Route(offering, service)
    }
}

extension RemoteSystemConnectionRequest.Route {
    /// To one application. It is named to whoever listens there: another may have the port by now, or start it first.
    fileprivate init(_ application: RemoteSystemApplication, _ service: AppServiceDescription) {
        self.init(
            endpoints: application.endpoints,
            systemID: application.systemID,
            standing: application.standing,
            applicationID: service.applicationID ?? application.id,
            schemas: application.services.first { $0.name == service.name }?.schemas,
            mayHaveToStart: !application.isRunning
        )
    }
}
