// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An interface of this machine that is up, in the form that other layers need.
package struct InterfaceFacts: Sendable, Hashable {
    package var name: String
    package var isLoopback: Bool
    /// Whether the interface can carry multicast DNS.
    package var canMulticast: Bool
    /// Addresses that are valid for every machine that can reach them, IPv4 first. Link-local IPv6 addresses are left
    /// out, because their zone is local to this machine.
    package var addresses: [String]

    package init(name: String, isLoopback: Bool, canMulticast: Bool, addresses: [String]) {
        self.name = name
        self.isLoopback = isLoopback
        self.canMulticast = canMulticast
        self.addresses = addresses
    }

    /// The interfaces that are up now.
    package static func current() -> [InterfaceFacts] {
        NetworkInterface.all().map { interface in
            let addresses = interface.addresses.filter { !$0.isLinkLocalIPv6 }
            func texts(isIPv4: Bool) -> [String] {
                addresses.filter { if case .ipv4 = $0 { isIPv4 } else { !isIPv4 } }.map { $0.text(scope: nil) }
            }
            return InterfaceFacts(
                name: interface.name,
                isLoopback: interface.isLoopback,
                canMulticast: interface.canMulticast,
                addresses: texts(isIPv4: true) + texts(isIPv4: false)
            )
        }
    }
}
