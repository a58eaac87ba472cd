// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

public import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import ValueSets

/// The target of a connection: a system, an application on it, or an address.
///
/// A request does not use the network. ``AppServiceConnection/open(_:)`` connects to its target.
public struct RemoteSystemConnectionRequest: Sendable {
    /// The system, application or address to connect to.
    enum Target: Sendable {
        case system(RemoteSystem)
        case application(RemoteSystemApplication)
        case address(Endpoint, SystemID?)
        case token(ConnectionToken)
    }

    private(set) var target: Target
    let origin: ApplicationContext
    /// The interceptors around every request sent over the connection, outermost first. They run inside the
    /// interceptors of ``RemoteSystemsConfiguration/interceptors``. Defaults to none.
    public var interceptors: [any AppServiceClientInterceptor] = []

    /// Creates a request for any application on the system that offers the service.
    public init(system: RemoteSystem) {
        self.target = .system(system)
        self.origin = system.origin
    }

    /// Creates a request for one application.
    public init(application: RemoteSystemApplication) {
        self.target = .application(application)
        self.origin = application.origin
    }

    /// Creates a request for an address, without discovery.
    ///
    /// - Parameters:
    ///   - host: a host name or an IP address. If it is empty, opening fails with
    ///     ``RemoteSystemError/Code/invalidArgument``.
    ///   - port: the port that the other system's host listens on. Defaults to ``RemoteSystemHost/defaultPort``. Valid
    ///     range: 1–65535; with another value, opening fails with ``RemoteSystemError/Code/invalidArgument``.
    ///   - systemID: the system that must respond. Defaults to `nil`: any system of this system's account.
    ///   - configuration: this application's configuration.
    public init(
        host: String,
        port: Int = RemoteSystemHost.defaultPort,
        systemID: SystemID? = nil,
        configuration: RemoteSystemsConfiguration
    ) {
        self.target = .address(configuration.environment.network.endpoint(host: host, port: port), systemID)
        self.origin = ApplicationContext(configuration)
    }

    /// Creates a request for an application from its connection token.
    ///
    /// The token of a ``RemoteSystemApplication`` holds the addresses that the application had when the token was
    /// created, so no discovery is needed. The token of an ``AppServiceCaller`` holds no addresses, so
    /// ``AppServiceConnection/open(_:)`` first searches for the caller's system, for at most 5 s. It returns
    /// ``AppServiceConnectionStatus/remoteSystemUnavailable`` when the system is not found, and
    /// ``AppServiceConnectionStatus/appNotInstalled`` when the system is found without the application.
    ///
    /// - Parameters:
    ///   - connectionToken: a value of ``RemoteSystemApplication/connectionToken`` or
    ///     ``AppServiceCaller/connectionToken``, of any age.
    ///   - allowsAnyoneNearby: whether the token may name a system of another account, like those that watchers list
    ///     with a filter for ``RemoteSystemAuthorizationKind/anonymous``. Such a token connects only to the system that
    ///     it names, at addresses nearby. Defaults to `false`, since the author of a token chooses the peer.
    ///   - configuration: this application's configuration.
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/invalidConnectionToken`` when the text is not a
    ///   valid token, or names a system of another account and `allowsAnyoneNearby` is `false`. A retry cannot succeed.
    public init(
        connectionToken: String,
        allowsAnyoneNearby: Bool = false,
        configuration: RemoteSystemsConfiguration
    ) throws(RemoteSystemError) {
        let token = try ConnectionToken(connectionToken, network: configuration.environment.network)
        guard allowsAnyoneNearby || token.standing.isAccountProved else {
            throw ConnectionToken.invalid("it names a system of another account, which this request does not allow")
        }
        self.target = .token(token)
        self.origin = ApplicationContext(configuration)
    }

    /// Returns the same request with another target.
    func leading(to target: Target) -> RemoteSystemConnectionRequest {
        var request = self
        request.target = target
        return request
    }

    /// Where and how to connect to a service: the endpoints, the expected system and the application.
    struct Route: Sendable {
        var endpoints: [Endpoint]
        var systemID: SystemID?
        /// The relation of the system to this one. An anonymous system must be the one that a watcher listed.
        var standing = Standing.Kind.sameAccount
        /// The id of the application to call, if a particular one is meant.
        var applicationID: String?
        /// The schemas of the service's messages, as far as the system has published them.
        var schemas: AppServiceSchemas?
        /// Whether the host may have to start the application before it responds.
        var mayHaveToStart = true

        /// The standings that the responding system may have.
        var accepted: Set<Standing.Kind> {
            switch self.standing {
            case .sameAccount: [.sameAccount]
            case .linked: [.sameAccount, .linked]
            case .anonymous: self.systemID == nil ? [.sameAccount] : [.sameAccount, .anonymous]
            }
        }
    }

    /// A target that is known to be unreachable without connecting.
    struct Unresolved: Error {
        var status: AppServiceConnectionStatus
        var error: RemoteSystemError

        init(_ status: AppServiceConnectionStatus, _ message: String) {
            self.status = status
            self.error = RemoteSystemError(.refused, message, side: .remote, canRetry: true)
        }
    }

    /// Returns where the service is offered, as far as is known without connecting.
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
    /// Creates the route to one application. The host is given its id, since another application may listen on the port
    /// by now, or the host may first have to start it.
    fileprivate init(_ application: RemoteSystemApplication, _ service: AppServiceDescription) {
        self.init(
            endpoints: application.candidates,
            systemID: application.systemID,
            standing: application.standing,
            applicationID: service.applicationID ?? application.id,
            schemas: application.services.first { $0.name == service.name }?.schemas,
            mayHaveToStart: !application.isRunning
        )
    }
}
