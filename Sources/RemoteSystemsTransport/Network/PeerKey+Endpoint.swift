// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import NIOCore

extension PeerKey {
    /// Creates the key of the machine at an endpoint, by the same rules as the key of a connection's peer. A host name
    /// is a key of its own.
    package init(_ endpoint: Endpoint) {
        let text = endpoint.host.prefix { $0 != "%" }
        // A link-local address is significant as a whole, with its interface.
        guard endpoint.transport == .ip, text.count == endpoint.host.count,
            let address = try? SocketAddress(ipAddress: String(text), port: 0)
        else {
            self.init(transport: endpoint.transport, endpoint.host.lowercased().utf8)
            return
        }
        self.init(address)
    }
}

extension Endpoint {
    /// Whether only programs of this machine can be reached at the endpoint.
    package var isLoopback: Bool {
        switch self.transport {
        case .ip: self.host.hasPrefix("127.") || self.host == "::1" || self.host.hasPrefix("::ffff:127.")
        case .local: true
        default: false
        }
    }
}
