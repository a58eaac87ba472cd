// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension AvahiBrowse {
    /// Merges what Avahi's browsers and resolvers tell into events about instances. Knows no C and no clock.
    struct StateMachine: Sendable {
        typealias Instant = ContinuousClock.Instant

        /// How long instances known before a loss of the daemon have to come back once there is one again.
        static let grace: Duration = .seconds(3)
        /// How long they are kept while there is none: what mDNS itself would remember them for.
        static let retention: Duration = .seconds(Int(ServiceType.timeToLive))
        /// How long after the start *settled* is told at the latest.
        static let settling: Duration = .seconds(3)
        /// How long after the start at least, when nothing was known at once. Avahi says that it told all it knows a second after its
        /// first query; the answer may have been lost, or held back because it was given just before, and come to the
        /// second one only.
        static let patience: Duration = .milliseconds(1400)
        /// Until when what Avahi tells comes from its memory and not from the network.
        static let memory: Duration = .milliseconds(500)
        /// How long resolvers have after that.
        static let resolving: Duration = .milliseconds(500)
        /// How long after an instance has moved to a host of another name it is resolved anew: when the old host's records,
        /// which are kept for a second after its goodbye, are forgotten.
        static let moving: Duration = .milliseconds(1200)
        /// How long after an answer to our own question the browser has to tell of the instance too, before it is resolved without that.
        static let following: Duration = .seconds(3)
        /// How long an answer to our own question outweighs a resolver that finds nothing: a busy host does not
        /// answer every question.
        static let trusting: Duration = .seconds(15)
        /// Near the default cache of 4096 records for each interface and protocol; each of our services takes four.
        static let crowdedServices = 960
        static let uncrowdedServices = 900

        struct Limits: Sendable {
            /// How many resolvers are kept open. Beyond that, an instance is resolved once.
            var openResolvers: Int
            /// How many instances are kept track of.
            var instances = DiscoveryLimits.hints
        }

        enum OnSeen: Equatable { case resolve, resolveOnce, nothing, emit(DiscoveryEvent) }
        enum OnResolved: Equatable { case emit(DiscoveryEvent), nothing }
        struct OnGone: Equatable {
            var stopResolving = false
            var events: [DiscoveryEvent] = []
        }

        private struct Track {
            var resolution: Resolution?
            /// Not seen again since the daemon was lost.
            var isStale = false
            /// Resolving has neither succeeded nor failed yet.
            var isPending = true
            var holdsResolver = false
            /// A browser has told of it, not only an answer to our own question.
            var isBrowsed = true
            /// The host that the present resolver told of first.
            var hostName: String?
            /// Whether a listener follows changes of the instance. True until something is known of it.
            var isRelevant = true
            /// Whether a resolver is to be made, or is at work.
            var isSought = false
            /// When a host last said where the instance is, in an answer to our own question.
            var answeredAt: Instant?
        }

        private struct Instance {
            var tracks: [ServiceInstance: Track] = [:]
            var reported: DiscoveryHint?
        }

        private struct Link: Hashable {
            let interface: Int32
            let family: ServiceInstance.Family
        }

        private var limits: Limits
        private var instances: [String: Instance] = [:]
        private var openResolvers = 0
        private var pending = 0
        private var crowds: [Link: Int] = [:]
        private var crowded: Set<Link> = []
        private var crowdReported = false
        private var refusalReported = false

        private(set) var settled = false
        private let start: Instant
        private var isConnected = false
        /// When all is told but for what is still being resolved.
        private var enumerationCompletedAt: Instant?
        private var staleUntil: Instant?
        /// When to resolve anew what has moved to another host.
        private var moved: [ServiceInstance: Instant] = [:]
        /// When to resolve what was answered to our own question alone.
        private var answered: [ServiceInstance: Instant] = [:]

        init(limits: Limits, now: Instant) {
            self.limits = limits
            start = now
        }

        /// When ``tick(now:)`` is due.
        var deadline: Instant? {
            var deadlines = Array(moved.values) + (isConnected ? Array(answered.values) : [])
            if let staleUntil { deadlines.append(staleUntil) }
            if !settled {
                deadlines.append(start + Self.settling)
                if let enumerationCompletedAt {
                    deadlines.append(pending == 0 ? enumerationCompletedAt : enumerationCompletedAt + Self.resolving)
                }
            }
            return deadlines.min()
        }

        /// What is known now, for a listener who comes later.
        var hints: [DiscoveryHint] { instances.values.compactMap(\.reported).sorted { $0.id < $1.id } }

        /// Whether a resolver is to be made for the sighting, or is to go on.
        func needsResolver(_ serviceInstance: ServiceInstance) -> Bool { self[serviceInstance]?.isSought ?? false }

        func knows(_ serviceInstance: ServiceInstance) -> Bool { self[serviceInstance] != nil }

        private subscript(serviceInstance: ServiceInstance) -> Track? {
            instances[serviceInstance.instance]?.tracks[serviceInstance]
        }

        /// What has been seen on an interface.
        func serviceInstances(on interface: Int32) -> [ServiceInstance] {
            instances.values.flatMap { $0.tracks.keys.filter { $0.interface == interface } }
        }

        // MARK: What browsers tell

        /// An instance was seen on an interface.
        mutating func seen(_ serviceInstance: ServiceInstance) -> OnSeen {
            if let track = self[serviceInstance] {
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.isBrowsed = true
                let isAnswered = answered.removeValue(forKey: serviceInstance) != nil
                guard track.isStale || isAnswered else { return .nothing }
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.isStale = false
                // An instance that is known, and whose changes no listener follows, needs no resolver.
                guard track.isRelevant || track.resolution == nil else { return .nothing }
                return startResolving(serviceInstance)
            }
            guard hasCapacity(for: serviceInstance) else {
                if refusalReported || instances.count < limits.instances { return .nothing }
                refusalReported = true
                return .emit(.trouble(.tooManyHints))
            }
            track(serviceInstance, Track())
            return startResolving(serviceInstance)
        }

        private func hasCapacity(for serviceInstance: ServiceInstance) -> Bool {
            guard let instance = instances[serviceInstance.instance] else { return instances.count < limits.instances }
            return instance.tracks.count < DiscoveryLimits.endpoints
        }

        private mutating func track(_ serviceInstance: ServiceInstance, _ track: Track) {
            instances[serviceInstance.instance, default: Instance()].tracks[serviceInstance] = track
            if track.isPending { pending += 1 }
            crowds[Link(interface: serviceInstance.interface, family: serviceInstance.family), default: 0] += 1
        }

        private mutating func startResolving(_ serviceInstance: ServiceInstance) -> OnSeen {
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isSought = true
            guard openResolvers < limits.openResolvers else { return .resolveOnce }
            openResolvers += 1
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.holdsResolver = true
            return .resolve
        }

        /// An instance is no longer announced on an interface.
        mutating func gone(_ serviceInstance: ServiceInstance) -> OnGone {
            guard let stopResolving = forget(serviceInstance) else { return OnGone() }
            return OnGone(stopResolving: stopResolving, events: reemit(serviceInstance.instance).map { [$0] } ?? [])
        }

        /// Every browser has told what it knows from the start.
        mutating func enumerationCompleted(now: Instant) -> [DiscoveryEvent] {
            enumerationCompletedAt =
                enumerationCompletedAt ?? (now < start + Self.memory ? now : max(now, start + Self.patience))
            return settleIfDone(now: now)
        }

        // MARK: What is answered to our own question

        /// A host has said where an instance is. It counts until a resolver tells more. Where no browser has told of
        /// the instance, one follows, or else ``unfollowed(now:)`` says when to make a resolver.
        ///
        /// - Parameter isRelevant: Whether a listener follows changes of the instance.
        mutating func answered(
            _ serviceInstance: ServiceInstance,
            _ resolution: Resolution,
            isRelevant: Bool = true,
            now: Instant
        ) -> DiscoveryEvent? {
            if let track = self[serviceInstance] {
                guard track.resolution == nil else { return nil }
            } else {
                guard hasCapacity(for: serviceInstance) else { return nil }
                track(serviceInstance, Track(isPending: false, isBrowsed: false))
                answered[serviceInstance] = now + Self.following
            }
            settle(serviceInstance, resolution, isRelevant: isRelevant)
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.answeredAt = now
            return reemit(serviceInstance.instance)
        }

        /// Notes where an instance is. One whose changes no listener follows needs no resolver any more.
        private mutating func settle(_ serviceInstance: ServiceInstance, _ resolution: Resolution?, isRelevant: Bool) {
            guard let track = self[serviceInstance] else { return }
            if track.isPending { pending -= 1 }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isPending = false
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.resolution = resolution
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isRelevant = isRelevant
            if !isRelevant { released(serviceInstance) }
        }

        /// The sightings whose changes no listener follows, and what is known of them.
        var irrelevant: [(ServiceInstance, DiscoveryHint)] {
            instances.values.flatMap { instance in
                instance.tracks.compactMap { serviceInstance, track in
                    guard !track.isRelevant, let resolution = track.resolution else { return nil }
                    return (serviceInstance, resolution.hint(of: serviceInstance))
                }
            }
        }

        /// A listener follows changes of the instance from now on.
        mutating func becameRelevant(_ serviceInstance: ServiceInstance) -> OnSeen {
            guard let track = self[serviceInstance], !track.isRelevant else { return .nothing }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isRelevant = true
            return track.isSought || !track.isBrowsed ? .nothing : startResolving(serviceInstance)
        }

        /// What no browser has told of in time, to be resolved now. If that fails, it is forgotten.
        mutating func unfollowed(now: Instant) -> [ServiceInstance: OnSeen] {
            let due = answered.filter { $0.value <= now }.keys
            return Dictionary(
                uniqueKeysWithValues: due.map { serviceInstance in
                    answered[serviceInstance] = nil
                    let isRelevant = self[serviceInstance]?.isRelevant ?? false
                    return (
                        serviceInstance, isRelevant ? startResolving(serviceInstance) : resolveOnce(serviceInstance)
                    )
                }
            )
        }

        private mutating func resolveOnce(_ serviceInstance: ServiceInstance) -> OnSeen {
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isSought = true
            return .resolveOnce
        }

        // MARK: What resolvers tell

        /// A resolver has found where an instance is, or that it changed.
        ///
        /// Avahi's resolvers tell the port of a new host with the address of the old one, for ever if it comes to the
        /// worst: what one tells of a second host is not used, and ``movedOn(now:)`` says when to make another.
        ///
        /// - Parameter isRelevant: Whether a listener follows changes of the instance.
        mutating func resolved(
            _ serviceInstance: ServiceInstance,
            _ resolution: Resolution,
            isRelevant: Bool = true,
            now: Instant
        ) -> OnResolved {
            guard let track = self[serviceInstance], moved[serviceInstance] == nil else { return .nothing }
            guard track.hostName ?? resolution.hostName == resolution.hostName else {
                moved[serviceInstance] = now + Self.moving
                return .nothing
            }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.hostName = resolution.hostName
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.answeredAt = nil
            settle(serviceInstance, resolution, isRelevant: isRelevant)
            // No browser and no resolver would report its end.
            if !isRelevant, !track.isBrowsed { answered[serviceInstance] = now + Self.retention }
            return reemit(serviceInstance.instance).map { .emit($0) } ?? .nothing
        }

        /// A resolver found nothing in time. Kept open, it may still find something later.
        mutating func unresolved(_ serviceInstance: ServiceInstance, now: Instant) -> OnResolved {
            guard let track = self[serviceInstance], !track.isStale else { return .nothing }
            guard track.isBrowsed else {
                _ = forget(serviceInstance)
                return reemit(serviceInstance.instance).map { .emit($0) } ?? .nothing
            }
            if let answeredAt = track.answeredAt, now < answeredAt + Self.trusting { return .nothing }
            settle(serviceInstance, nil, isRelevant: track.isRelevant)
            return reemit(serviceInstance.instance).map { .emit($0) } ?? .nothing
        }

        /// A resolver could not be made or was let go of: the sighting is kept without one.
        mutating func released(_ serviceInstance: ServiceInstance) {
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isSought = false
            guard instances[serviceInstance.instance]?.tracks[serviceInstance]?.holdsResolver == true else { return }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.holdsResolver = false
            openResolvers -= 1
        }

        /// What has moved to another host and is to be resolved anew now.
        mutating func movedOn(now: Instant) -> [ServiceInstance] {
            let due = moved.filter { $0.value <= now }.map(\.key)
            for serviceInstance in due {
                moved[serviceInstance] = nil
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.hostName = nil
            }
            return due
        }

        // MARK: What becomes of the connection to Avahi

        /// The daemon is gone, and with it every browser and resolver. What is known is kept for a while.
        mutating func lost(now: Instant) {
            for (name, instance) in instances {
                for serviceInstance in instance.tracks.keys {
                    instances[name]?.tracks[serviceInstance]?.isStale = true
                    instances[name]?.tracks[serviceInstance]?.holdsResolver = false
                    instances[name]?.tracks[serviceInstance]?.hostName = nil
                    instances[name]?.tracks[serviceInstance]?.isSought = false
                }
            }
            isConnected = false
            moved = [:]
            answered = [:]
            openResolvers = 0
            staleUntil = instances.isEmpty ? nil : now + Self.retention
        }

        /// Browsing begins or goes on, with so many resolvers that may be kept open.
        mutating func resumed(openResolvers: Int, now: Instant) {
            isConnected = true
            limits.openResolvers = openResolvers
            for serviceInstance in answered.keys { answered[serviceInstance] = now + Self.following }
            if staleUntil != nil { staleUntil = now + Self.grace }
        }

        /// Time has passed.
        mutating func tick(now: Instant) -> [DiscoveryEvent] {
            var events: [DiscoveryEvent] = []
            if let staleUntil, now >= staleUntil {
                self.staleUntil = nil
                let stale = instances.values.flatMap { $0.tracks.filter(\.value.isStale).keys }
                for serviceInstance in stale where forget(serviceInstance) != nil {
                    if let event = reemit(serviceInstance.instance) { events.append(event) }
                }
            }
            return events + settleIfDone(now: now)
        }

        // MARK: Crowds

        /// Whether an interface is near the limit of Avahi's cache, as last reported by ``crowding()``.
        var isCrowded: Bool { crowdReported }

        /// Whether an interface has come near the limit of Avahi's cache, or got away from it. To be asked after ``seen(_:)`` and
        /// ``gone(_:)``.
        mutating func crowding() -> DiscoveryEvent? {
            for (link, count) in crowds {
                if count >= Self.crowdedServices { crowded.insert(link) }
                if count < Self.uncrowdedServices { crowded.remove(link) }
            }
            guard crowded.isEmpty == crowdReported else { return nil }
            crowdReported.toggle()
            return crowdReported ? .trouble(.cacheLimit) : .recovered(.cacheLimit)
        }

        // MARK: Inside

        /// Returns nil when the sighting was not known, else whether it held a resolver.
        private mutating func forget(_ serviceInstance: ServiceInstance) -> Bool? {
            guard let track = instances[serviceInstance.instance]?.tracks.removeValue(forKey: serviceInstance) else {
                return nil
            }
            moved[serviceInstance] = nil
            answered[serviceInstance] = nil
            if track.isPending { pending -= 1 }
            if track.holdsResolver { openResolvers -= 1 }
            let link = Link(interface: serviceInstance.interface, family: serviceInstance.family)
            crowds[link, default: 1] -= 1
            if crowds[link] == 0 {
                crowds[link] = nil
                crowded.remove(link)
            }
            return track.holdsResolver
        }

        /// The event that brings a listener up to date about an instance, if anything changed for it.
        private mutating func reemit(_ name: String) -> DiscoveryEvent? {
            guard let instance = instances[name] else { return nil }
            let hint = Self.merge(name, instance.tracks)
            if instance.tracks.isEmpty {
                instances[name] = nil
            } else {
                instances[name]?.reported = hint
            }
            return switch (instance.reported, hint) {
            case (nil, nil): nil
            case (nil, let hint?): .appeared(hint)
            case (_?, nil): .vanished(name)
            case (let reported?, let hint?): reported == hint ? nil : .changed(hint)
            }
        }

        private static func merge(_ name: String, _ tracks: [ServiceInstance: Track]) -> DiscoveryHint? {
            let resolutions = tracks.filter { $0.value.resolution != nil }
                .sorted { ($0.key.interface, $0.key.family.rawValue) < ($1.key.interface, $1.key.family.rawValue) }
                .compactMap(\.value.resolution)
            guard let first = resolutions.first else { return nil }
            var endpoints: [DiscoveryEndpoint] = []
            for endpoint in resolutions.map(\.endpoint)
            where !endpoints.contains(where: { $0.address == endpoint.address && $0.port == endpoint.port }) {
                endpoints.append(endpoint)
            }
            // An address that needs a scope goes last: not everything that connects can use it.
            let (plain, scoped) = (
                endpoints.filter { !$0.address.contains("%") }, endpoints.filter { $0.address.contains("%") }
            )
            return DiscoveryHint(id: name, instance: name, endpoints: plain + scoped, properties: first.properties)
        }

        private mutating func settleIfDone(now: Instant) -> [DiscoveryEvent] {
            guard !settled else { return [] }
            let isDone = enumerationCompletedAt.map { now >= (pending == 0 ? $0 : $0 + Self.resolving) } ?? false
            guard isDone || now >= start + Self.settling else { return [] }
            settled = true
            return [.settled]
        }
    }
}

extension Resolution {
    /// What a listener receives if this is the only sighting of the instance.
    func hint(of serviceInstance: ServiceInstance) -> DiscoveryHint {
        DiscoveryHint(
            id: serviceInstance.instance,
            instance: serviceInstance.instance,
            endpoints: [endpoint],
            properties: properties
        )
    }
}

extension DiscoveryProblem {
    static let cacheLimit = DiscoveryProblem(
        code: .cacheLimit,
        message: "an interface sees nearly as many services as Avahi's cache can hold; further ones may never be seen.",
        advice:
            "Raise cache-entries-max in /etc/avahi/avahi-daemon.conf (default 4096, four for each service) and restart avahi-daemon.",
        recoversByItself: true
    )
}
