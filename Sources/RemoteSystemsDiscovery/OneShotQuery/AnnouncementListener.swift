// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Reads the multicast DNS announcements on one interface, beside Avahi, without sending anything.
///
/// Used on a crowded network only: while Avahi's cache is full, Avahi drops the announcements of further systems. A
/// listener keeps nothing. It passes on the instances that are of interest, however many others are announced.
/// Confined to a queue.
final class AnnouncementListener {
    /// The maximum number of packets read in one turn of the queue.
    private static let burst = 64
    /// The size of the socket's receive buffer, in bytes. The kernel limits it to its own maximum.
    private static let receiveBuffer: Int32 = 1 << 20

    private var sources: [DescriptorSource] = []

    /// Starts listening. An address family whose socket cannot be made is left out.
    ///
    /// - Parameter onAnswer: called with each announced instance.
    init(
        on interface: NetworkInterface,
        families: Set<ServiceInstance.Family>,
        queue: DispatchQueue,
        onAnswer: @escaping (ServiceInstance, Resolution) -> Void
    ) {
        for family in families where interface.addresses.contains(where: { $0.family == family }) {
            guard let descriptor = Self.open(family, on: interface.index) else { continue }
            let source = DescriptorSource(descriptor, queue: queue) { _ in
                for _ in 0..<Self.burst {
                    guard let (packet, sender) = MulticastGroup.receive(descriptor) else { return }
                    guard let sender else { continue }
                    for answer in OneShotQueryMessage.answers(in: packet, to: nil) {
                        onAnswer(
                            ServiceInstance(interface: interface.index, family: family, instance: answer.instance),
                            answer.resolution(on: interface, family, from: sender)
                        )
                    }
                }
            }
            if let source { self.sources.append(source) }
        }
    }

    deinit { for source in sources { source.cancel() } }

    /// Opens a socket that receives the group's packets of one interface. It is bound to the group's address, so that
    /// it takes no unicast packets from Avahi, which uses the same port.
    private static func open(_ family: ServiceInstance.Family, on interface: Int32) -> Int32? {
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family == .ipv4 ? AF_INET : AF_INET6, type, 0)
        guard descriptor >= 0 else { return nil }
        let group = MulticastGroup(family, interface: interface)
        var isBound = false
        if set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1) {
            unsafe group.withPointer { address, size in isBound = unsafe bind(descriptor, address, size) == 0 }
        }
        _ = set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer)
        guard isBound, join(descriptor, family, on: interface) else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        var value = value
        return unsafe setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    private static func join(_ descriptor: Int32, _ family: ServiceInstance.Family, on interface: Int32) -> Bool {
        switch family {
        case .ipv4:
            var request = ip_mreqn()
            request.imr_ifindex = interface
            _ = unsafe inet_pton(AF_INET, MulticastGroup.ipv4, &request.imr_multiaddr)
            let size = socklen_t(MemoryLayout<ip_mreqn>.size)
            // Only packets of the groups and interfaces that this socket has joined.
            guard set(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_ALL, 0) else { return false }
            return unsafe setsockopt(descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, size) == 0
        case .ipv6:
            var request = ipv6_mreq()
            request.ipv6mr_interface = UInt32(bitPattern: interface)
            _ = unsafe inet_pton(AF_INET6, MulticastGroup.ipv6, &request.ipv6mr_multiaddr)
            let size = socklen_t(MemoryLayout<ipv6_mreq>.size)
            return unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, &request, size) == 0
        }
    }
}
