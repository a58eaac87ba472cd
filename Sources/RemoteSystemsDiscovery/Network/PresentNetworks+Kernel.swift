// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc

extension PresentNetworks {
    /// Returns the networks that this machine is attached to at this moment. Sends nothing.
    package static func current() -> PresentNetworks {
        PresentNetworks(
            Self.attachments(),
            gateways: Self.gateways(
                routes: SystemFile.text(of: "/proc/net/route") ?? "",
                neighbours: SystemFile.text(of: "/proc/net/arp") ?? ""
            )
        )
    }

    /// Returns the present networks, then the networks after each change. The sequence ends when the iterating task is
    /// cancelled.
    package static func changes() -> AsyncStream<PresentNetworks> {
        let (networks, continuation) = AsyncStream.makeStream(
            of: PresentNetworks.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let observer = PresentNetworksObserver(continuation)
        continuation.onTermination = { _ in observer.stop() }
        observer.start()
        return networks
    }

    // MARK: Reading

    /// The addresses of the interfaces that are up.
    private static func attachments() -> [Attachment] {
        var attachments: [Attachment] = []
        unsafe NetworkInterface.forEachAddress { entry, flags in
            guard flags & Int32(IFF_UP) != 0, let address = unsafe entry.ifa_addr,
                let mask = unsafe entry.ifa_netmask,
                let address = unsafe NetworkAddress(UnsafePointer(address))?.bytes,
                let mask = unsafe NetworkAddress(UnsafePointer(mask))?.bytes, mask.count == address.count
            else { return }
            attachments.append(
                Attachment(
                    interface: unsafe String(cString: entry.ifa_name),
                    address: address,
                    prefixLength: mask.reduce(0) { $0 + $1.nonzeroBitCount },
                    isLoopback: flags & Int32(IFF_LOOPBACK) != 0
                )
            )
        }
        return attachments
    }

    /// Reads the kernel's tables (proc_pid_net(5)).
    ///
    /// - Parameters:
    ///   - routes: the contents of `/proc/net/route`. Numbers are hexadecimal, addresses in the machine's byte order.
    ///   - neighbours: the contents of `/proc/net/arp`.
    static func gateways(routes: String, neighbours: String) -> [Gateway] {
        var hardwareAddresses: [String: String] = [:]
        for line in neighbours.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: " ")
            // ATF_COM: the entry is complete.
            guard fields.count >= 6, let flags = Int(fields[2].dropFirst(2), radix: 16), flags & 2 != 0 else {
                continue
            }
            hardwareAddresses["\(fields[0]) \(fields[5])"] = fields[3].lowercased()
        }
        return routes.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
            // RTF_UP and RTF_GATEWAY.
            guard fields.count >= 8, fields[1] == "00000000", fields[7] == "00000000",
                let flags = Int(fields[3], radix: 16), flags & 3 == 3, let metric = Int(fields[6]),
                let address = UInt32(fields[2], radix: 16)
            else { return nil }
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: UInt32(bigEndian: address) >> (24 - $0 * 8)) }
            let interface = String(fields[0])
            return Gateway(
                interface: interface,
                address: bytes,
                metric: metric,
                hardwareAddress: hardwareAddresses["\(bytes.map(String.init).joined(separator: ".")) \(interface)"]
            )
        }
    }
}

/// Reads the networks again whenever the kernel reports a change.
private actor PresentNetworksObserver {
    /// The time to wait for further changes, because changes come in bursts. An address comes before the route to its
    /// gateway.
    private static let quiet = Duration.milliseconds(100)
    /// The times between further looks while a gateway's hardware address is unknown: no message reports it.
    private static let delays: [Duration] =
        [.milliseconds(250), .milliseconds(500)]
        + [1, 2, 4, 8, 16, 30].map { .seconds($0) }

    private nonisolated let executor = QueueExecutor(label: "remote-systems.discovery.networks")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let continuation: AsyncStream<PresentNetworks>.Continuation
    private var source: DescriptorSource?
    private var timer: QueueTimer?
    private var last: PresentNetworks?
    private var delays: ArraySlice<Duration> = []

    init(_ continuation: AsyncStream<PresentNetworks>.Continuation) { self.continuation = continuation }

    nonisolated func start() { executor.queue.async { self.assumeIsolated { $0.begin() } } }
    nonisolated func stop() { executor.queue.async { self.assumeIsolated { $0.end() } } }

    private func begin() {
        timer = QueueTimer(queue: executor.queue) { [weak self] in self?.assumeIsolated { $0.look() } }
        if let descriptor = NetworkMonitor.open(includesRoutes: true) {
            source = DescriptorSource(descriptor, queue: executor.queue) { [weak self] _ in
                NetworkMonitor.drain(descriptor)
                self?.assumeIsolated { $0.changed() }
            }
        }
        delays = Self.delays[...]
        look()
    }

    private func end() {
        source?.cancel()
        source = nil
        timer = nil
    }

    private func changed() {
        delays = Self.delays[...]
        timer?.set(after: Self.quiet)
    }

    private func look() {
        let now = PresentNetworks.current()
        if now.isIncomplete, let delay = delays.popFirst() { timer?.set(after: delay) }
        guard now != last else { return }
        last = now
        continuation.yield(now)
    }
}
