// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity

extension Connector {
    /// The connector as an endpoint asks for it, and the system that must answer there; `nil` for any of our account.
    ///
    /// - Parameter system: the system that must answer wherever it is connected to.
    /// - Throws: ``TransportError`` with ``TransportError/Code/peerNotTrusted`` when the endpoint is another system's.
    func adapted(
        to endpoint: Endpoint,
        expecting system: SystemID?
    ) throws(TransportError) -> (connector: Connector, system: SystemID?) {
        var connector = self
        connector.timeout = endpoint.connectTimeout ?? self.timeout
        if let timeoutLimit { connector.timeout = min(connector.timeout, timeoutLimit) }
        switch endpoint.trust {
        case .unrestricted: return (connector, system)
        case .account:
            connector.accepted.remove(.anonymous)
            return (connector, system)
        case .system(let required):
            guard system == nil || system == required else {
                throw TransportError(
                    .peerNotTrusted,
                    "The endpoint \(endpoint) belongs to another system than the one that is meant. Find that one anew.",
                    side: .local
                )
            }
            return (connector, required)
        }
    }
}
