// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// A service that a host offers to every system of its account beside the application's own ones
/// (`Docs/wire-protocol.md`, section 12). Not listed among an application's services.
protocol BuiltInService: Sendable {
    /// What callers ask for in their hello. Begins with `remote-systems.`.
    var name: String { get }
    /// How many requests of one connection are handled at the same time.
    var concurrentRequests: Int { get }

    func respond(to request: IncomingRequest, on connection: Connection) async -> Response
}

extension BuiltInService {
    var concurrentRequests: Int { 8 }
}
