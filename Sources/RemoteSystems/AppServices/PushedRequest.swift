// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// A request of a service to its caller that no reader has taken yet.
///
/// It does not keep the connection alive over which it arrived.
struct PushedRequest: Sendable {
    let request: IncomingRequest
    let wire: Connection
    let caller: AppServiceCaller
    private(set) weak var connection: AppServiceConnection?

    init(request: IncomingRequest, wire: Connection, caller: AppServiceCaller, connection: AppServiceConnection?) {
        self.request = request
        self.wire = wire
        self.caller = caller
        self.connection = connection
    }

    /// The state of the request's connection.
    var receptionState: ReceptionState { self.connection?.receptionState ?? .closed }

    /// The request in the form that handlers and readers receive.
    func request(over connection: AppServiceConnection) -> AppServiceRequest {
        AppServiceRequest(self.request, over: self.wire, caller: self.caller, connection: connection)
    }
}
