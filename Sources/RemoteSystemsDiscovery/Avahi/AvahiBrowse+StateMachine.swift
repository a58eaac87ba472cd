// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

extension AvahiBrowse {
    /// Merges the reports of Avahi's browsers and resolvers into events about instances. Calls no C code and has no
    /// clock.
    ///
    /// A *service instance* is one instance on one interface with one protocol. An *instance* has one or more of them.
    struct StateMachine: Sendable {
        typealias Instant = ContinuousClock.Instant

        /// The time in which instances known before the daemon was lost must be reported again after reconnecting.
        static let grace: Duration = .seconds(3)
        /// The time for which instances are kept while there is no daemon: the time to live of their mDNS records.
        static let retention: Duration = .seconds(Int(ServiceType.timeToLive))
        /// The maximum time from the start until *settled* is emitted.
        static let settling: Duration = .seconds(3)
        /// The minimum time from the start until *settled* is emitted, if nothing was found at once. Avahi reports
        /// ALL_FOR_NOW one second after its first query. The response to that query may have been lost, or suppressed
        /// because it was sent shortly before, and then arrives only after the second query.
        static let patience: Duration = .milliseconds(1400)
        /// The time from the start during which Avahi's reports come from its cache and not from the network.
        static let memory: Duration = .milliseconds(500)
        /// The maximum time for resolvers after the initial enumeration, until *settled* is emitted.
        static let resolving: Duration = .milliseconds(500)
        /// The time from when an instance has moved to another host name until it is resolved again. The old host's
        /// records stay in the cache for a second after its goodbye.
        static let moving: Duration = .milliseconds(1200)
        /// The maximum time in which the browser should report an instance that responded to our own query. After that,
        /// the instance is resolved without the browser.
        static let following: Duration = .seconds(3)
        /// The time during which a response to our own query outweighs a resolver that finds nothing. A busy host does
        /// not respond to every query.
        static let trusting: Duration = .seconds(15)
        /// The number of services on an interface and protocol from which on Avahi may miss further ones: they nearly
        /// fill the default cache of 4096 records, and whatever the cache's size, Avahi compares each record with all
        /// others, and loses packets meanwhile (`Docs/decisions/0014-one-shot-question.md`).
        static let crowdedServices = 960
        static let uncrowdedServices = 900

        /// The limits of a browse, which bound its memory and the load of the daemon.
        struct Limits: Sendable {
            /// The maximum number of open resolvers. An instance beyond it is resolved once, and its changes are not
            /// followed.
            var openResolvers: Int
            /// The maximum number of tracked instances.
            var instances = DiscoveryLimits.hints
            /// The number of tracked instances from which on only those are added that a listener is known to follow.
            var unsorted: Int { instances - instances / 8 }
        }

        /// What to do after a browser's report of an instance.
        enum OnSeen: Equatable { case resolve, resolveOnce, nothing, emit(DiscoveryEvent) }
        /// What to do after a resolver's report.
        enum OnResolved: Equatable { case emit(DiscoveryEvent), nothing }
        /// What to do after the end of a service instance.
        struct OnGone: Equatable {
            var stopResolving = false
            var events: [DiscoveryEvent] = []
        }

        private struct Track {
            var resolution: Resolution?
            /// Whether the instance has not been reported again since the daemon was lost.
            var isStale = false
            /// Whether resolving has neither succeeded nor failed yet.
            var isPending = true
            var holdsResolver = false
            /// Whether a browser has reported the instance. False if only a response to our own query has.
            var isBrowsed = true
            /// The host name that the current resolver reported first.
            var hostName: String?
            /// Whether a listener follows changes of the instance. True until the instance is resolved.
            var isRelevant = true
            /// Whether a resolver is wanted or running.
            var isSought = false
            /// The time at which a host last responded to our own query with this instance.
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
        /// The time at which everything was reported, except what is still being resolved; `nil` before.
        private var enumerationCompletedAt: Instant?
        private var staleUntil: Instant?
        /// The times at which to resolve instances again that moved to another host.
        private var moved: [ServiceInstance: Instant] = [:]
        /// The times at which to resolve instances that only responded to our own query.
        private var answered: [ServiceInstance: Instant] = [:]

        init(limits: Limits, now: Instant) {
            self.limits = limits
            start = now
        }

        /// The time at which ``tick(now:)`` is due; `nil` if it is not.
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

        /// The known hints, for a listener that is added now.
        var hints: [DiscoveryHint] { instances.values.compactMap(\.reported).sorted { $0.id < $1.id } }

        /// Whether the service instance needs a resolver, or needs to keep the one it has.
        func needsResolver(_ serviceInstance: ServiceInstance) -> Bool { self[serviceInstance]?.isSought ?? false }

        func knows(_ serviceInstance: ServiceInstance) -> Bool { self[serviceInstance] != nil }

        private subscript(serviceInstance: ServiceInstance) -> Track? {
            instances[serviceInstance.instance]?.tracks[serviceInstance]
        }

        /// The service instances known on an interface.
        func serviceInstances(on interface: Int32) -> [ServiceInstance] {
            instances.values.flatMap { $0.tracks.keys.filter { $0.interface == interface } }
        }

        // MARK: Reports of browsers

        /// Handles a browser's report that an instance exists on an interface.
        mutating func seen(_ serviceInstance: ServiceInstance) -> OnSeen {
            if let track = self[serviceInstance] {
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.isBrowsed = true
                let isAnswered = answered.removeValue(forKey: serviceInstance) != nil
                guard track.isStale || isAnswered else { return .nothing }
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.isStale = false
                // A resolved instance that no listener follows needs no resolver.
                guard track.isRelevant || track.resolution == nil else { return .nothing }
                return startResolving(serviceInstance)
            }
            // Whether the instance is of interest is not known yet.
            guard hasCapacity(for: serviceInstance, isRelevant: false) else {
                if refusalReported || instances.count < limits.unsorted { return .nothing }
                refusalReported = true
                return .emit(.trouble(.tooManyHints))
            }
            track(serviceInstance, Track())
            return startResolving(serviceInstance)
        }

        private func hasCapacity(for serviceInstance: ServiceInstance, isRelevant: Bool) -> Bool {
            guard let instance = instances[serviceInstance.instance] else {
                return instances.count < (isRelevant ? limits.instances : limits.unsorted)
            }
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

        /// Handles a browser's report that an instance is no longer advertised on an interface.
        mutating func gone(_ serviceInstance: ServiceInstance) -> OnGone {
            guard let stopResolving = forget(serviceInstance) else { return OnGone() }
            return OnGone(stopResolving: stopResolving, events: reemit(serviceInstance.instance).map { [$0] } ?? [])
        }

        /// Handles the end of the initial enumeration by all browsers.
        mutating func enumerationCompleted(now: Instant) -> [DiscoveryEvent] {
            enumerationCompletedAt =
                enumerationCompletedAt ?? (now < start + Self.memory ? now : max(now, start + Self.patience))
            return settleIfDone(now: now)
        }

        // MARK: Responses to our own query

        /// Handles a host's response to our own query. It counts until a resolver reports. If no browser has reported
        /// the instance within ``following``, ``unfollowed(now:)`` returns it for resolving.
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
                guard hasCapacity(for: serviceInstance, isRelevant: isRelevant) else { return nil }
                track(serviceInstance, Track(isPending: false, isBrowsed: false))
                answered[serviceInstance] = now + Self.following
            }
            settle(serviceInstance, resolution, isRelevant: isRelevant)
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.answeredAt = now
            return reemit(serviceInstance.instance)
        }

        /// Stores where an instance is. An instance that no listener follows needs no resolver from then on.
        private mutating func settle(_ serviceInstance: ServiceInstance, _ resolution: Resolution?, isRelevant: Bool) {
            guard let track = self[serviceInstance] else { return }
            if track.isPending { pending -= 1 }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isPending = false
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.resolution = resolution
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isRelevant = isRelevant
            if !isRelevant { released(serviceInstance) }
        }

        /// The resolved service instances that no listener follows, with their hints.
        var irrelevant: [(ServiceInstance, DiscoveryHint)] {
            instances.values.flatMap { instance in
                instance.tracks.compactMap { serviceInstance, track in
                    guard !track.isRelevant, let resolution = track.resolution else { return nil }
                    return (serviceInstance, resolution.hint(of: serviceInstance))
                }
            }
        }

        /// Marks the instance as followed by a listener.
        mutating func becameRelevant(_ serviceInstance: ServiceInstance) -> OnSeen {
            guard let track = self[serviceInstance], !track.isRelevant else { return .nothing }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isRelevant = true
            return track.isSought || !track.isBrowsed ? .nothing : startResolving(serviceInstance)
        }

        /// Returns the service instances that no browser has reported in time, to be resolved now. If resolving fails,
        /// the instance is forgotten.
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

        // MARK: Reports of resolvers

        /// Handles a resolver's report of where an instance is, or of a change.
        ///
        /// After an instance has moved, Avahi's resolvers may report the port of the new host with the address of the
        /// old one, and keep doing so. A report with a second host name is therefore not used, and ``movedOn(now:)``
        /// returns the instance when it is time for a new resolver.
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
            // Neither a browser nor a resolver would report the end of this instance.
            if !isRelevant, !track.isBrowsed { answered[serviceInstance] = now + Self.retention }
            return reemit(serviceInstance.instance).map { .emit($0) } ?? .nothing
        }

        /// Handles a resolver's timeout. A resolver that is kept open may still find the instance later.
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

        /// Marks the service instance as having no resolver: it was refused or freed.
        mutating func released(_ serviceInstance: ServiceInstance) {
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.isSought = false
            guard instances[serviceInstance.instance]?.tracks[serviceInstance]?.holdsResolver == true else { return }
            instances[serviceInstance.instance]?.tracks[serviceInstance]?.holdsResolver = false
            openResolvers -= 1
        }

        /// Returns the instances that moved to another host and are to be resolved again now.
        mutating func movedOn(now: Instant) -> [ServiceInstance] {
            let due = moved.filter { $0.value <= now }.map(\.key)
            for serviceInstance in due {
                moved[serviceInstance] = nil
                instances[serviceInstance.instance]?.tracks[serviceInstance]?.hostName = nil
            }
            return due
        }

        // MARK: The connection to Avahi

        /// Handles the loss of the daemon, with which every browser and resolver is gone. Known instances are kept for
        /// ``retention``.
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

        /// Handles the start or restart of browsing, with this maximum of open resolvers.
        mutating func resumed(openResolvers: Int, now: Instant) {
            isConnected = true
            limits.openResolvers = openResolvers
            for serviceInstance in answered.keys { answered[serviceInstance] = now + Self.following }
            if staleUntil != nil { staleUntil = now + Self.grace }
        }

        /// Performs what is due at this time.
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

        // MARK: Crowded networks

        /// The reported problems that are not over.
        var problems: [DiscoveryProblem] {
            (crowdReported ? [.cacheLimit] : []) + (refusalReported ? [.tooManyHints] : [])
        }

        /// Whether an interface has so many services that Avahi may miss some, as last reported by ``crowding()``.
        var isCrowded: Bool { crowdReported }

        /// Returns an event if an interface has become crowded, or if none is crowded any more.
        /// Call after every report and after ``tick(now:)``.
        mutating func crowding() -> DiscoveryEvent? {
            for (link, count) in crowds {
                if count >= Self.crowdedServices { crowded.insert(link) }
                if count < Self.uncrowdedServices { crowded.remove(link) }
            }
            guard crowded.isEmpty == crowdReported else { return nil }
            crowdReported.toggle()
            return crowdReported ? .trouble(.cacheLimit) : .recovered(.cacheLimit)
        }

        // MARK: Private parts

        /// Removes a service instance. Returns whether it held a resolver; `nil` if it was not known.
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

        /// The event that brings listeners up to date about an instance, if anything changed.
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
            // An address that needs a scope goes last, because not every program can use one.
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
    /// The hint if this is the only service instance of the instance.
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
        message: "An interface sees about a thousand services or more. Avahi may miss further ones.",
        advice: "If there are not that many machines, a program on the network advertises false services. Else make "
            + "sure that the cache of avahi-daemon has space for four records of each service ('cache-entries-max' in "
            + "/etc/avahi/avahi-daemon.conf, 4096 by default).",
        recoversByItself: true
    )
}

extension DiscoveryProblem {
    static let announcementFlood = DiscoveryProblem(
        code: .announcementFlood,
        message:
            "Far more services appear and vanish on the network than machines start and stop. Some systems may not "
            + "be found.",
        advice: "Find the machine that advertises them, for example with 'avahi-browse -r _remote-systems._tcp'.",
        recoversByItself: true
    )
}
