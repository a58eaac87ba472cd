// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsTransport

/// A request of a service to its caller that nobody has taken yet.
///
/// It does not hold the connection that it came over.
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

    /// How far its connection is.
    var receptionState: ReceptionState { self.connection?.receptionState ?? .closed }

    /// The request as handlers and readers get it.
    func request(over connection: AppServiceConnection) -> AppServiceRequest {
        AppServiceRequest(self.request, over: self.wire, caller: self.caller, connection: connection)
    }
}
