// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension AvahiAdvertiser {
    /// What is to be published for an announcement, under which names, and when to try again. Knows no C and no clock.
    struct StateMachine: Sendable {
        /// How many addresses of an interface are announced; a daemon takes 32 records in one group.
        static let addresses = 16

        private let advertisement: DiscoveryAdvertisement
        private(set) var instance: String
        private(set) var host: String
        private var collisions = 0
        private var backoff = Backoff(first: .milliseconds(200), longest: .seconds(30))
        private var troubles: [DiscoveryProblem.Code] = []
        /// What Avahi has published of the service itself.
        private var inEffect: Set<Publication> = []

        /// - Parameter host: A random label for the host name that the service is said to be at.
        init(_ advertisement: DiscoveryAdvertisement, host: String) {
            self.advertisement = advertisement
            instance = advertisement.instance
            self.host = host
        }

        /// What is to be published on these interfaces, addresses first.
        ///
        /// Each interface has a publication of its own, so that a change of one leaves the others alone, and each address is told
        /// only where it can be used: on its interface, by its own protocol.
        func publications(on interfaces: [NetworkInterface], scopes: [Int32?]) -> [Publication] {
            let addresses = interfaces.compactMap { interface -> Publication? in
                // Multicast over IPv6 does not work on a loopback interface.
                let usable = interface.addresses.filter {
                    if case .ipv6 = $0 { !interface.isLoopback } else { true }
                }
                guard interface.canMulticast, !usable.isEmpty else { return nil }
                return Publication(
                    addresses: usable.prefix(Self.addresses).map {
                        Publication.Address(host: host, address: $0, interface: interface.index)
                    }
                )
            }
            guard !addresses.isEmpty, let port = UInt16(exactly: advertisement.port) else { return [] }
            let records = ServiceRecord.advertising(
                instance: instance,
                host: host,
                port: port,
                properties: advertisement.properties
            )
            return addresses + scopes.map { Publication(interface: $0, records: records) }
        }

        /// Avahi has published it. Returns the troubles that are over.
        mutating func established() -> [DiscoveryProblem.Code] {
            defer { troubles = [] }
            return troubles
        }

        // MARK: Whether the announcement is in effect

        /// Avahi has published the service on an interface, or on all. Returns `true` when the announcement takes
        /// effect by that.
        mutating func published(_ publication: Publication) -> Bool? {
            change { _ = $0.insert(publication) }
        }

        /// Avahi has withdrawn it, or would not publish it. Returns `false` when the announcement is no longer in
        /// effect.
        mutating func unpublished(_ publication: Publication) -> Bool? {
            change { _ = $0.remove(publication) }
        }

        /// Only these are left. Returns `false` when the announcement is no longer in effect.
        mutating func kept(_ publications: some Sequence<Publication>) -> Bool? {
            change { $0.formIntersection(publications) }
        }

        private mutating func change(_ change: (inout Set<Publication>) -> Void) -> Bool? {
            let before = !inEffect.isEmpty
            change(&inEffect)
            let now = !inEffect.isEmpty
            return now != before ? now : nil
        }

        // MARK: Trouble

        /// A name is taken. Returns how long to wait before it is announced under another: longer each time, since somebody may
        /// be taking each of them on purpose.
        mutating func collided(newHost: String) -> Duration {
            collisions += 1
            host = newHost
            let suffix = "-\(newHost.prefix(6))"
            var stem = advertisement.instance
            while stem.utf8.count + suffix.utf8.count > 63 { stem.removeLast() }
            instance = stem + suffix
            troubles.append(.nameCollision)
            return backoff.next()
        }

        /// Avahi would not take it. Returns how long to wait before it is asked again.
        mutating func refused() -> Duration {
            troubles.append(.advertiseRefused)
            return backoff.next()
        }
    }
}
