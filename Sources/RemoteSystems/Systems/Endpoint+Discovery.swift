// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore
internal import RemoteSystemsDiscovery
internal import RemoteSystemsTransport

extension Endpoint {
    private static let connectTimeouts = Duration.milliseconds(1) ... .seconds(600)

    /// Creates an endpoint from a discovery hint.
    ///
    /// - Parameters:
    ///   - source: the source of the hint.
    ///   - isOurs: whether the hint belongs to this account, by its tag or because it is configured.
    init(_ discovered: DiscoveryEndpoint, by source: any DiscoverySource, isOurs: Bool) {
        self.init(
            transport: TransportKind(rawValue: discovered.transport),
            host: discovered.address,
            port: discovered.port
        )
        self.discoveryType =
            switch source.discoveryType {
            case .proximal: .proximal
            case .cloud: .cloud
            }
        // Only a tag proves the account of a system.
        self.trust = isOurs && source.origin == .announced ? .account : .unrestricted
        self.connectTimeout = discovered.connectTimeout.map {
            TimeAmount(min(max($0, Self.connectTimeouts.lowerBound), Self.connectTimeouts.upperBound))
        }
    }
}

extension RemoteSystemDiscoveryType {
    /// The type of a system with these endpoints.
    init(_ endpoints: [Endpoint]) {
        self = endpoints.contains { $0.discoveryType == .proximal } ? .proximal : .cloud
    }
}
