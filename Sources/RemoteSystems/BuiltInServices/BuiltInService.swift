// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport
internal import ValueSets

/// A service that a host offers to every system of its account in addition to the application's services
/// (`Docs/wire-protocol.md`, section 12). It is not listed among an application's services.
struct BuiltInService: Sendable {
    /// The name in the caller's hello. Begins with `remote-systems.`.
    let name: String
    /// The maximum number of requests of one connection that are handled at the same time.
    let concurrentRequests: Int
    private let authorize: @Sendable (Connection) throws(WireFailure) -> Void
    private let handlers: [String: BuiltInHandler]

    /// - Parameters:
    ///   - concurrentRequests: Defaults to 8.
    ///   - handlers: the handlers of the service's methods (``BuiltInMethod/handler(_:)``).
    ///   - authorize: checks the caller before each request. Throws the failure that the caller receives. Accepts every
    ///     caller that the host admits by default.
    init(
        _ name: String,
        concurrentRequests: Int = 8,
        handlers: [BuiltInHandler],
        authorize: @escaping @Sendable (Connection) throws(WireFailure) -> Void = { _ in }
    ) {
        self.name = name
        self.concurrentRequests = concurrentRequests
        self.handlers = Dictionary(handlers.map { ($0.type, $0) }) { first, _ in first }
        self.authorize = authorize
    }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Response {
        do throws(WireFailure) {
            try self.authorize(connection)
            guard let type = request.message[BuiltInHandler.typeKey]?.string, let handler = self.handlers[type] else {
                return .requestUnknown
            }
            let caller = BuiltInCaller(connection: connection, request: request)
            return Response(message: try await handler.respond(request.message, caller))
        } catch {
            return Response(status: .failure, failure: error)
        }
    }
}

/// Handles the requests of one type.
struct BuiltInHandler: Sendable {
    /// The key of a request's type.
    static let typeKey = "Type"

    let type: String
    let respond: @Sendable (ValueSet, BuiltInCaller) async throws(WireFailure) -> ValueSet
}

/// The peer that sent a request.
struct BuiltInCaller: Sendable {
    /// The connection on which the request arrived. Its peer is authenticated.
    let connection: Connection
    private let request: IncomingRequest

    init(connection: Connection, request: IncomingRequest) {
        self.connection = connection
        self.request = request
    }

    /// The time at which the caller stops waiting for the response.
    var deadline: ContinuousClock.Instant { self.connection.instant(of: self.request.deadline) }
}
