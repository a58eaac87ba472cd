// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NIOCore

extension Endpoint {
    /// The other end of an open connection.
    package init(peerOf channel: any Channel) {
        let address = channel.remoteAddress
        self.init(host: address.flatMap(Self.host) ?? "", port: address?.port ?? 0)
    }

    /// With the zone, without which a link-local address leads nowhere.
    private static func host(of address: SocketAddress) -> String? {
        guard let plain = address.ipAddress, plain.hasPrefix("fe80:") else { return address.ipAddress }
        return unsafe address.withSockAddr { address, size in
            var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(host.count)
            let result = unsafe getnameinfo(address, socklen_t(size), &host, length, nil, 0, NI_NUMERICHOST)
            return result == 0 ? String(decoding: host.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self) : plain
        }
    }
}
