// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

/// Sends one-shot queries for our service type on one interface, to which every host responds at once and by unicast.
///
/// Avahi sends its query after 0.1 s, and hosts wait up to 0.12 s before they multicast a response. A host also does
/// not repeat, for up to a second, what another program of this machine has just received. A unicast response has none
/// of these delays and arrives within a millisecond. It only arrives earlier than Avahi's result. Nothing depends on
/// it, because packets get lost, and firewalls may block unicast responses to a multicast query.
///
/// Any host on the link can send any response, as to any multicast DNS query. Confined to a queue.
final class OneShotQuery {
    /// The moments of the queries when browsing begins. One query would suffice if no packet were lost. The last is for
    /// a crowded network, where hosts miss queries for seconds and Avahi's cache is full.
    static let repeatedly: [Duration] = [
        .zero, .milliseconds(250), .seconds(1), .milliseconds(2500), .milliseconds(5500),
    ]
    static let once: [Duration] = [.zero]
    /// The number of responding instances from which on packets evidently arrive, so that the next query waits for at
    /// least ``crowdedInterval``. Every query costs a crowded network at least one packet for each instance
    /// (python-zeroconf also multicasts its response).
    private static let crowd = 64
    private static let crowdedInterval: Duration = .seconds(2)
    /// The minimum interval between queries. Several moments that passed while this process was suspended result in one
    /// query.
    private static let minInterval: Duration = .milliseconds(100)
    /// The time for which responses are read after the last query.
    private static let listening: Duration = .seconds(2)
    /// The maximum number of packets read in one turn of the queue.
    private static let burst = 64
    /// The size of the socket's receive buffer, in bytes: enough for a thousand hosts that respond at once. The kernel
    /// limits it to its own maximum (`net.core.rmem_max`).
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
        let answers = OneShotQueryMessage.answers(in: packet, to: line.id)
        line.answers += answers.count
        for answer in answers {
            onAnswer(
                ServiceInstance(interface: interface.index, family: line.family, instance: answer.instance),
                answer.resolution(on: interface, line.family, from: sender)
            )
        }
    }

    /// One socket: an address family on the interface.
    private final class Line {
        let family: ServiceInstance.Family
        /// The id of the query, which responses repeat.
        let id = UInt16.random(in: 1...UInt16.max)
        /// The number of received instances, with repetitions.
        var answers = 0
        private var asked: ContinuousClock.Instant?
        private let descriptor: Int32
        private var source: DescriptorSource?
        private let group: MulticastGroup

        /// Returns nil if the socket cannot be created. Avahi reports the reason.
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
            group = MulticastGroup(family, interface: interface)
            source = DescriptorSource(descriptor, queue: queue) { [weak self] _ in
                guard let self else { return }
                for _ in 0..<OneShotQuery.burst {
                    guard let (packet, sender) = MulticastGroup.receive(descriptor) else { return }
                    if let sender { onPacket(packet, self, sender) }
                }
            }
            if source == nil { return nil }
        }

        deinit { source?.cancel() }

        func askIfDue() {
            let isCrowded = answers >= OneShotQuery.crowd
            let interval = isCrowded ? OneShotQuery.crowdedInterval : OneShotQuery.minInterval
            if let asked, .now < asked + interval { return }
            asked = .now
            let question = OneShotQueryMessage.question(id: id)
            // If sending fails, the next query or Avahi's own replaces this one.
            unsafe group.withPointer { address, size in
                _ = unsafe sendto(descriptor, question, question.count, Int32(MSG_NOSIGNAL), address, size)
            }
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
