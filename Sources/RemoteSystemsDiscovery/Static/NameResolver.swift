// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Resolves names with the system's resolver, which blocks. It runs on its own queue, never on the threads that run
/// tasks.
package enum NameResolver {
    /// The reason why a name could not be resolved.
    package struct Failure: Error, Sendable {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    private static let queue = DispatchQueue(label: "remote-systems.discovery.names", attributes: .concurrent)

    static func resolve(_ peer: StaticPeer) async throws(Failure) -> [DiscoveryEndpoint] {
        let result: Result<[DiscoveryEndpoint], Failure> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: lookUp(peer)) }
        }
        return try result.get()
    }

    private static func lookUp(_ peer: StaticPeer) -> Result<[DiscoveryEndpoint], Failure> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(peer.host, nil, &hints, &list)
        guard code == 0 else {
            return .failure(
                Failure(reason: unsafe gai_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)")
            )
        }
        defer { unsafe freeaddrinfo(list) }
        var endpoints: [DiscoveryEndpoint] = []
        var node = unsafe list
        while let current = unsafe node, endpoints.count < DiscoveryLimits.endpoints {
            let entry = unsafe current.pointee
            unsafe node = entry.ai_next
            guard let socketAddress = unsafe entry.ai_addr,
                let address = unsafe NetworkAddress(UnsafePointer(socketAddress))
            else { continue }
            let interface = unsafe scope(of: socketAddress, address).flatMap { NetworkInterface.named(index: $0) }
            let endpoint = DiscoveryEndpoint(
                address: address.text(scope: interface?.name),
                port: peer.port,
                interface: interface
            )
            if !endpoints.contains(endpoint) { endpoints.append(endpoint) }
        }
        return .success(endpoints)
    }

    private static func scope(of socketAddress: UnsafeMutablePointer<sockaddr>, _ address: NetworkAddress) -> Int32? {
        guard address.isLinkLocalIPv6 else { return nil }
        return unsafe socketAddress.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
            unsafe Int32(bitPattern: $0.pointee.sin6_scope_id)
        }
    }
}
