// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// An interface of this machine that is up, as other floors need to know it.
package struct InterfaceFacts: Sendable, Hashable {
    package var name: String
    package var isLoopback: Bool
    /// Whether multicast DNS can be spoken on it.
    package var canMulticast: Bool
    /// Addresses that mean the same to every machine that can reach them, IPv4 first: no link-local IPv6, whose zone is
    /// this machine's own business.
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
