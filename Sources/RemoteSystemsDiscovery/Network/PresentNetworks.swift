// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The networks that this machine is attached to, as the kernel knows them.
///
/// Each gets an identity, by which a program recognises a network where it was before. The identity of an IPv4 network
/// is its prefix with the hardware address of its default gateway, since many networks use the same prefix. IPv6
/// prefixes are unique, so they are sufficient (RFC 4193, section 3.2; global prefixes are assigned).
package struct PresentNetworks: Sendable, Hashable {
    /// A network through which an address is reached.
    package struct Network: Sendable, Hashable {
        /// The interface that the traffic leaves by.
        package var interface: String
        package var isLoopback = false
        /// A text that is equal for the same network at any time, on this machine only.
        package var identity: String
    }

    /// An address of an interface. All addresses with the same prefix are reached directly.
    struct Attachment: Sendable, Hashable {
        var interface: String
        /// 4 or 16 bytes.
        var address: [UInt8]
        var prefixLength: Int
        var isLoopback = false

        /// Whether the prefix is the same on every network: link-local addresses (RFC 3927, RFC 4291 §2.5.6).
        var isLinkLocal: Bool {
            self.address.count == 4
                ? self.address.starts(with: [169, 254]) : self.address[0] == 0xFE && self.address[1] & 0xC0 == 0x80
        }

        func contains(_ other: [UInt8]) -> Bool {
            other.count == self.address.count && Self.prefix(of: other, self.prefixLength) == self.prefix
        }

        var prefix: [UInt8] { Self.prefix(of: self.address, self.prefixLength) }

        private static func prefix(of address: [UInt8], _ length: Int) -> [UInt8] {
            address.enumerated().map { index, byte in
                let bits = min(max(length - index * 8, 0), 8)
                return byte & ~UInt8(truncatingIfNeeded: 0xFF >> bits)
            }
        }
    }

    /// A default route of IPv4.
    struct Gateway: Sendable, Hashable {
        var interface: String
        var address: [UInt8]
        var metric: Int
        /// The hardware address; `nil` if the kernel does not know it yet.
        var hardwareAddress: String?
    }

    private let attachments: [Attachment]
    /// The preferred route first.
    private let gateways: [Gateway]

    /// Creates the networks from the addresses of interfaces and the default routes.
    ///
    /// - Parameter gateways: the default routes of IPv4, in any order.
    init(_ attachments: [Attachment], gateways: [Gateway]) {
        self.attachments = attachments.sorted {
            ($1.prefixLength, $0.interface, $0.address.count) < ($0.prefixLength, $1.interface, $1.address.count)
        }
        self.gateways = gateways.sorted { ($0.metric, $0.interface) < ($1.metric, $1.interface) }
    }

    /// Whether the kernel does not know a gateway's hardware address yet. It learns it with the first packet that
    /// passes the gateway.
    var isIncomplete: Bool { self.gateways.contains { $0.hardwareAddress == nil } }

    /// The networks through which an address may be reached, the most likely first. Empty if the address is on no
    /// network whose identity is known, or if the text is not an address.
    ///
    /// - Parameter host: An IPv4 or IPv6 address, with a zone if it is link-local IPv6.
    package func networks(of host: String) -> [Network] {
        guard let (bytes, zone) = NetworkAddress.bytes(of: host) else { return [] }
        if bytes[0] == 127 && bytes.count == 4 || bytes == Array(repeating: 0, count: 15) + [1] {
            return [Network(interface: "lo", isLoopback: true, identity: "loopback")]
        }
        let target = Attachment(interface: "", address: bytes, prefixLength: 0)
        if bytes.count == 16, target.isLinkLocal {
            // The prefix is the same everywhere, so the interface's other networks identify this one.
            return self.attachments.filter { $0.interface == zone && !$0.isLoopback }
                .compactMap { self.network($0, "link") }.sorted { $0.identity < $1.identity }
        }
        let direct = self.attachments.filter { $0.contains(bytes) && !$0.isLinkLocal || $0.address == bytes }
        guard direct.isEmpty else { return direct.compactMap { self.network($0, "direct") } }
        // The address is behind a router, so only the gateway identifies the network.
        guard bytes.count == 4, !target.isLinkLocal, let gateway = self.gateways.first,
            let network = self.attachments.first(where: {
                $0.interface == gateway.interface && $0.contains(gateway.address)
            })
        else { return [] }
        return [self.network(network, "routed")].compactMap(\.self)
    }

    /// Returns the network of an interface's address; `nil` if its identity is not known.
    ///
    /// - Parameter way: how the network is used, so that an address that was reached directly is not tried through a
    ///   router.
    private func network(_ attachment: Attachment, _ way: String) -> Network? {
        guard !attachment.isLinkLocal else { return nil }
        let prefix = attachment.prefix.map { String($0, radix: 16) }.joined(separator: ".")
        var identity = "\(way) \(prefix)/\(attachment.prefixLength)"
        if attachment.address.count == 4,
            let gateway = self.gateways.first(where: { $0.interface == attachment.interface })
        {
            guard let hardwareAddress = gateway.hardwareAddress else { return nil }
            identity += " \(hardwareAddress)"
        }
        return Network(interface: attachment.interface, isLoopback: attachment.isLoopback, identity: identity)
    }
}

extension NetworkAddress {
    /// The bytes and the zone of an address in text form; `nil` if the text is not an address. An IPv4 address that is
    /// mapped to IPv6 has 4 bytes.
    static func bytes(of text: String) -> (bytes: [UInt8], zone: String?)? {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = LocalNetworks.bytes(String(parts[0])) else { return nil }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        let bytes = address.starts(with: mapped) && address.count == 16 ? Array(address.dropFirst(12)) : address
        return (bytes, parts.count == 2 ? String(parts[1]) : nil)
    }
}
