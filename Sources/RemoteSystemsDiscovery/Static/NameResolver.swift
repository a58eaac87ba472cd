// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Resolves names with the system's resolver, which blocks: each on a thread of its own, never on those that run tasks.
package enum NameResolver {
    /// The reason why a name could not be resolved.
    package struct Failure: Error, Sendable {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    /// An address of a host.
    package struct Address: Sendable, Hashable {
        package let text: String
        /// Whether it is an address of the public internet.
        package let isPublic: Bool
    }

    static func resolve(_ peer: StaticPeer) async throws(Failure) -> [DiscoveryEndpoint] {
        try await self.lookUp(peer.host) { address, interface in
            DiscoveryEndpoint(address: address.text(scope: interface?.name), port: peer.port, interface: interface)
        }
    }

    /// Returns the addresses of a host, in the order in which the system would use them.
    package static func addresses(of host: String) async throws(Failure) -> [Address] {
        try await self.lookUp(host) { address, interface in
            Address(text: address.text(scope: interface?.name), isPublic: address.isPublic)
        }
    }

    /// - Parameter make: makes a result of an address and its interface, if it needs one.
    private static func lookUp<Found: Sendable & Equatable>(
        _ host: String,
        _ make: @escaping @Sendable (NetworkAddress, DiscoveryInterface?) -> Found
    ) async throws(Failure) -> [Found] {
        try await OwnThread.run { lookUpNow(host, make) }.get()
    }

    private static func lookUpNow<Found: Equatable>(
        _ host: String,
        _ make: (NetworkAddress, DiscoveryInterface?) -> Found
    ) -> Result<[Found], Failure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(host, nil, &hints, &list)
        guard code == 0 else {
            return .failure(
                Failure(reason: unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)")
            )
        }
        defer { unsafe freeaddrinfo(list) }
        var found: [Found] = []
        var node = unsafe list
        while let current = unsafe node, found.count < DiscoveryLimits.endpoints {
            let entry = unsafe current.pointee
            unsafe node = entry.ai_next
            guard let socketAddress = unsafe entry.ai_addr,
                let address = unsafe NetworkAddress(UnsafePointer(socketAddress))
            else { continue }
            let interface = unsafe scope(of: socketAddress, address).flatMap { NetworkInterface.named(index: $0) }
            let result = make(address, interface)
            if !found.contains(result) { found.append(result) }
        }
        return .success(found)
    }

    private static func scope(of socketAddress: UnsafeMutablePointer<sockaddr>, _ address: NetworkAddress) -> Int32? {
        guard address.isLinkLocalIPv6 else { return nil }
        return unsafe socketAddress.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
            unsafe Int32(bitPattern: $0.pointee.sin6_scope_id)
        }
    }
}
