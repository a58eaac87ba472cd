// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

extension TransportPeer {
    /// The standings that the peer may have, of those that a host accepts: an anonymous system must be nearby.
    func standings(of accepted: Set<Standing.Kind>) -> Set<Standing.Kind> {
        self.isProximal ? accepted : accepted.subtracting([.anonymous])
    }
}

extension SocketTransport {
    package func isProximal(_ endpoint: Endpoint) -> Bool { Self.isProximal(host: endpoint.host) }

    /// Whether the host is a loopback, link-local or private address (RFC 1918, RFC 4193). `false` for a name.
    static func isProximal(host: String) -> Bool {
        var text = host.lowercased()
        if text.hasPrefix("::ffff:") { text.removeFirst(7) }
        guard !text.contains(":") else {
            guard text != "::1" else { return true }
            let first = text.prefix { $0 != ":" }
            guard let bits = UInt16(first, radix: 16) else { return false }
            // fe80::/10 and fc00::/7.
            return bits & 0xFFC0 == 0xFE80 || bits & 0xFE00 == 0xFC00
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard parts.count == 4, let first = parts[0], let second = parts[1], parts[2] != nil, parts[3] != nil else {
            return false
        }
        switch (first, second) {
        case (10, _), (127, _), (169, 254), (172, 16...31), (192, 168): return true
        default: return false
        }
    }
}
