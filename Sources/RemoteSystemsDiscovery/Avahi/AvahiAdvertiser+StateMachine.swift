// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension AvahiAdvertiser {
    /// Computes the records to publish for one advertisement, their names, and the retry delays. Calls no C code and
    /// has no clock.
    struct StateMachine: Sendable {
        /// The maximum number of addresses advertised for each interface. A daemon accepts at most 32 records in one
        /// group.
        static let addresses = 16

        private let advertisement: DiscoveryAdvertisement
        private(set) var instance: String
        private(set) var host: String
        private var collisions = 0
        private var backoff = Backoff(first: .milliseconds(200), longest: .seconds(30))
        /// The codes of the problems that are not over.
        private(set) var troubles: Set<DiscoveryProblem.Code> = []
        /// The publications of the service itself that Avahi has established.
        private var inEffect: Set<Publication> = []

        /// Creates the state of an advertisement that is not published yet.
        ///
        /// - Parameter host: A random label for the host name in the service's SRV record.
        init(_ advertisement: DiscoveryAdvertisement, host: String) {
            self.advertisement = advertisement
            instance = advertisement.instance
            self.host = host
        }

        /// Returns the publications for these interfaces, addresses first.
        ///
        /// Each interface has its own publication, so that a change of one interface leaves the others unchanged. An
        /// address is published on its own interface only, and by its own protocol only.
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

        /// Resets the problems after Avahi has published the advertisement. Returns the codes of the problems that are
        /// over.
        mutating func established() -> Set<DiscoveryProblem.Code> {
            defer { troubles = [] }
            return troubles
        }

        // MARK: Whether the advertisement is in effect

        /// Records that Avahi has published the service on one interface, or on all. Returns `true` if the
        /// advertisement takes effect with this publication, else `nil`.
        mutating func published(_ publication: Publication) -> Bool? {
            change { _ = $0.insert(publication) }
        }

        /// Records that Avahi has withdrawn or refused a publication. Returns `false` if the advertisement is no longer
        /// in effect, else `nil`.
        mutating func unpublished(_ publication: Publication) -> Bool? {
            change { _ = $0.remove(publication) }
        }

        /// Keeps these publications only. Returns `false` if the advertisement is no longer in effect, else `nil`.
        mutating func kept(_ publications: some Sequence<Publication>) -> Bool? {
            change { $0.formIntersection(publications) }
        }

        private mutating func change(_ change: (inout Set<Publication>) -> Void) -> Bool? {
            let before = !inEffect.isEmpty
            change(&inEffect)
            let now = !inEffect.isEmpty
            return now != before ? now : nil
        }

        // MARK: Problems

        /// Chooses new names after a name collision. Returns the delay before advertising with the new names. The delay
        /// grows with every collision, because a hostile machine may take each name on purpose.
        mutating func collided(newHost: String) -> Duration {
            collisions += 1
            host = newHost
            let suffix = "-\(newHost.prefix(6))"
            var stem = advertisement.instance
            while stem.utf8.count + suffix.utf8.count > 63 { stem.removeLast() }
            instance = stem + suffix
            troubles.insert(.nameCollision)
            return backoff.next()
        }

        /// Records that Avahi refused to publish. Returns the delay before the next attempt.
        mutating func refused() -> Duration {
            troubles.insert(.advertiseRefused)
            return backoff.next()
        }
    }
}
