// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsIdentity

extension Connector {
    /// Returns the connector with the endpoint's options, and the system that is expected there; `nil` for any system
    /// with an accepted standing.
    ///
    /// - Parameter system: the system that is expected at every endpoint.
    /// - Throws: ``TransportError`` with ``TransportError/Code/peerNotTrusted`` if the endpoint belongs to another
    ///   system.
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
                    "The endpoint \(endpoint) belongs to another system than the expected one. Find the expected "
                        + "system again.",
                    side: .local
                )
            }
            return (connector, required)
        }
    }
}
