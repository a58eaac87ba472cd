// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// A service that a host offers to every system of its account in addition to the application's services
/// (`Docs/wire-protocol.md`, section 12). It is not listed among an application's services.
protocol BuiltInService: Sendable {
    /// The name in the caller's hello. Begins with `remote-systems.`.
    var name: String { get }
    /// The maximum number of requests of one connection that are handled at the same time. Defaults to 8.
    var concurrentRequests: Int { get }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Response
}

extension BuiltInService {
    var concurrentRequests: Int { 8 }
}
