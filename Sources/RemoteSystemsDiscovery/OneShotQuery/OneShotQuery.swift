// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Asks the hosts on one interface for our services, and is answered by each at once and straight.
///
/// Avahi puts its question after 0.1 s, and those who are asked wait up to 0.12 s before they answer to all. What another program
/// of this machine has just heard they do not say again for up to a second, although it was not said to this one. An answer to
/// one alone knows none of this: it is there within a millisecond. It only comes earlier than what Avahi hears; nothing
/// depends on it, since packets get lost and firewalls let no answer through to a port that sent to many.
///
/// Whoever is on the link can answer what it likes, as to any question of multicast DNS. Confined to a queue.
final class OneShotQuery {
    /// When browsing begins. One question would do where no packet is lost. The last is for a network so full of
    /// others' answers that hosts miss questions for seconds, in which Avahi's cache has no room for ours either.
    static let repeatedly: [Duration] = [
        .zero, .milliseconds(250), .seconds(1), .milliseconds(2500), .milliseconds(5500),
    ]
    static let once: [Duration] = [.zero]
    /// Where so many instances answer, packets do pass, and every question costs the network a packet for each of
    /// them at least (python-zeroconf answers to all hosts as well): it is not repeated before this long after the
    /// first.
    private static let crowd = 64
    private static let crowdedInterval: Duration = .seconds(2)
    /// Moments that passed while this process stood still make one question.
    private static let minInterval: Duration = .milliseconds(100)
    /// For how long responses are read after the last question.
    private static let listening: Duration = .seconds(2)
    /// How many packets are read before others get their turn.
    private static let burst = 64
    /// For a thousand hosts that answer at once; the kernel gives as much of it as it gives to anybody.
    private static let receiveBuffer: Int32 = 1 << 20

    private let interface: NetworkInterface
    private let onAnswer: (ServiceInstance, Resolution) -> Void
    private var lines: [Line] = []
    private var timers: [QueueTimer] = []

    init(
        on interface: NetworkInterface,
        families: Set<ServiceInstance.Family>,
        moments: [Duration],
        queue: DispatchQueue,
        onAnswer: @escaping (ServiceInstance, Resolution) -> Void
    ) {
        self.interface = interface
        self.onAnswer = onAnswer
        lines = families.compactMap { family in
            guard interface.addresses.contains(where: { $0.family == family }) else { return nil }
            return Line(family, interface: interface.index, queue: queue) { [unowned self] packet, line, sender in
                received(packet, through: line, from: sender)
            }
        }
        for moment in moments {
            at(moment, on: queue) { question in for line in question.lines { line.askIfDue() } }
        }
        at((moments.last ?? .zero) + Self.listening, on: queue) { $0.lines = [] }
    }

    private func at(_ moment: Duration, on queue: DispatchQueue, _ action: @escaping (OneShotQuery) -> Void) {
        let timer = QueueTimer(queue: queue) { [unowned self] in action(self) }
        timer.set(after: moment)
        timers.append(timer)
    }

    private func received(_ packet: [UInt8], through line: Line, from sender: NetworkAddress) {
        let scope = DiscoveryInterface(index: Int(interface.index), name: interface.name)
        let answers = OneShotQueryMessage.answers(in: packet, to: line.id)
        line.answers += answers.count
        for answer in answers {
            let known = answer.addresses.filter { $0.family == line.family }
            // The sender's address is known to work, but may be that of somebody who repeats what others say.
            let address = known.isEmpty || known.contains(sender) ? sender : known[0]
            onAnswer(
                ServiceInstance(interface: interface.index, family: line.family, instance: answer.instance),
                Resolution(
                    hostName: answer.hostName,
                    endpoint: DiscoveryEndpoint(
                        address: address.text(scope: interface.name),
                        port: answer.port,
                        interface: scope
                    ),
                    properties: answer.properties
                )
            )
        }
    }

    /// One socket: an address family on the interface.
    private final class Line {
        let family: ServiceInstance.Family
        /// What answers repeat.
        let id = UInt16.random(in: 1...UInt16.max)
        /// How many instances were told of, one as often as it was.
        var answers = 0
        private var asked: ContinuousClock.Instant?
        private let descriptor: Int32
        private let source: any DispatchSourceRead
        private let group: SocketAddress

        /// Nil when there can be no such socket; Avahi finds out why.
        init?(
            _ family: ServiceInstance.Family,
            interface: Int32,
            queue: DispatchQueue,
            onPacket: @escaping ([UInt8], Line, NetworkAddress) -> Void
        ) {
            let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
            let descriptor = socket(family == .ipv4 ? AF_INET : AF_INET6, type, 0)
            guard descriptor >= 0 else { return nil }
            guard Self.multicast(descriptor, family, through: interface) else {
                close(descriptor)
                return nil
            }
            var buffer = OneShotQuery.receiveBuffer
            _ = unsafe setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVBUF,
                &buffer,
                socklen_t(MemoryLayout<Int32>.size)
            )
            self.family = family
            self.descriptor = descriptor
            group = SocketAddress(family, interface: interface)
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [weak self] in
                guard let self else { return }
                for _ in 0..<OneShotQuery.burst {
                    guard let (packet, sender) = receive() else { return }
                    if let sender { onPacket(packet, self, sender) }
                }
            }
            source.setCancelHandler { close(descriptor) }
            source.resume()
        }

        deinit { source.cancel() }

        func askIfDue() {
            let isCrowded = answers >= OneShotQuery.crowd
            let interval = isCrowded ? OneShotQuery.crowdedInterval : OneShotQuery.minInterval
            if let asked, .now < asked + interval { return }
            asked = .now
            let question = OneShotQueryMessage.question(id: id)
            // What is not sent now is sent next time, or by Avahi.
            unsafe group.withPointer { address, size in
                _ = unsafe sendto(descriptor, question, question.count, Int32(MSG_NOSIGNAL), address, size)
            }
        }

        /// Nil when there is nothing to read; no sender when the packet is not from a responder's port.
        private func receive() -> ([UInt8], NetworkAddress?)? {
            var storage = sockaddr_storage()
            var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            // An Ethernet frame holds less.
            var packet = [UInt8](repeating: 0, count: 2048)
            let count = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe recvfrom(descriptor, &packet, packet.count, 0, address, &size)
                }
            }
            guard count >= 0 else { return nil }
            let sender = unsafe withUnsafePointer(to: &storage) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    unsafe SocketAddress.port(address) == SocketAddress.port ? NetworkAddress(address) : nil
                }
            }
            return (Array(packet.prefix(count)), sender)
        }

        private static func multicast(_ descriptor: Int32, _ family: ServiceInstance.Family, through interface: Int32)
            -> Bool
        {
            var (index, hops) = (interface, Int32(255))
            let size = socklen_t(MemoryLayout<Int32>.size)
            switch family {
            case .ipv4:
                var request = ip_mreqn()
                request.imr_ifindex = index
                let requestSize = socklen_t(MemoryLayout<ip_mreqn>.size)
                return unsafe setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, &request, requestSize) == 0
                    && setsockopt(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_TTL, &hops, size) == 0
            case .ipv6:
                return unsafe setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_MULTICAST_IF, &index, size) == 0
                    && setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_MULTICAST_HOPS, &hops, size) == 0
            }
        }
    }
}

/// The group of multicast DNS on an interface (RFC 6762 §3).
private struct SocketAddress {
    static let port = UInt16(5353)
    private var storage = sockaddr_storage()
    private let size: socklen_t

    init(_ family: ServiceInstance.Family, interface: Int32) {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = Self.port.bigEndian
            _ = unsafe inet_pton(AF_INET, "224.0.0.251", &address.sin_addr)
            size = socklen_t(MemoryLayout<sockaddr_in>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in.self) }
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = Self.port.bigEndian
            address.sin6_scope_id = UInt32(bitPattern: interface)
            _ = unsafe inet_pton(AF_INET6, "ff02::fb", &address.sin6_addr)
            size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: address, as: sockaddr_in6.self) }
        }
    }

    func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Void) {
        unsafe withUnsafePointer(to: storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, size) }
        }
    }

    /// Both kinds of address have it in the same place.
    static func port(_ address: UnsafePointer<sockaddr>) -> UInt16 {
        unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            unsafe UInt16(bigEndian: $0.pointee.sin_port)
        }
    }
}
