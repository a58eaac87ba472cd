// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import RemoteSystemsIdentity
internal import ValueSets

/// The offers of all systems: the descriptors that applications publish, for the systems that are listed.
///
/// An offer is identified by its system, its application and its id. Every system of the account learns the ids of the
/// others and can state them, too, so an id alone does not say whose activity it is. All offers with the id are listed,
/// and an id that several state is not continued without naming one (``AmbiguousOffer``).
///
/// A value type without I/O or a clock; times are arguments.
struct OfferTable {
    typealias Instant = ContinuousClock.Instant

    /// An activity of one application.
    private struct Known {
        let descriptor: ActivityDescriptor
        /// The time at which the offer ends, by this system's clock.
        let ends: Instant
    }

    /// The application that offers an activity.
    struct Origin: Hashable {
        let system: SystemID
        let application: String
        /// The linked account of the system; `nil` for a system of this account.
        let linkedAccount: AccountID?
    }

    /// The maximum number of activities of one application that are listed. An application has one current activity;
    /// more are possible while one replaces another.
    static let maxOfApplication = 4
    /// The maximum number of activities of one system that are listed. A person works with a few applications at once.
    static let maxOfSystem = 64
    /// The maximum number of activities that are listed.
    static let maxInAll = 4096
    /// The maximum number of activities of one linked account that are listed: those of a person, who can certify any
    /// number of systems. The places of an account are its own, because all accounts that can be linked
    /// (``LinkList/maxLinks``) have less than half of the list together. So none displaces an activity of another one,
    /// or of this account.
    static let maxOfLinkedAccount = 64

    /// What an application has published, read once: a change of one application does not read those of the others
    /// again.
    private struct Reading {
        let records: [String: ValueSet]
        /// The first activities in the order of their keys.
        private(set) var activities: [ActivityDescriptor] = []
        /// The number of further ones.
        private(set) var omitted = 0
        private(set) var types: Set<String>?
        private(set) var titles: [String: Set<String>] = [:]

        init(_ records: [String: ValueSet]) {
            self.records = records
            for (key, record) in records.sorted(by: { $0.key < $1.key }) {
                if key == HandledTypes.key {
                    self.types = HandledTypes.types(in: record)
                    self.titles = HandledTypes.titles(in: record)
                } else if let descriptor = ActivityDescriptor(key: key, record) {
                    // In capital letters it is the same id.
                    let isKnown = self.activities.contains { $0.id == descriptor.id }
                    if !isKnown, self.activities.count < OfferTable.maxOfApplication {
                        self.activities.append(descriptor)
                    } else {
                        self.omitted += 1
                    }
                }
            }
        }
    }

    private var systems: [SystemID: RemoteSystem] = [:]
    private var readings: [SystemID: [String: Reading]] = [:]
    private var known: [Origin: [UUID: Known]] = [:]
    /// The number of valid descriptors of each system that are not listed: they exceed a limit, or an application
    /// repeats an id.
    private var omitted: [SystemID: Int] = [:]
    /// The activity types that each application continues.
    private var handled: [Origin: Set<String>] = [:]
    /// The titles for which an application is chosen, by type.
    private var titles: [Origin: [String: Set<String>]] = [:]

    /// The systems all of whose records have arrived.
    private var answered: Set<SystemID> = []

    /// Whether every listed system that publishes activities has sent them.
    var isComplete: Bool { self.systems.values.allSatisfy { self.hasAnswered($0) } }

    /// Whether all of these systems are listed, and those that publish activities have sent them.
    func isComplete(with systems: [RemoteSystem]) -> Bool {
        systems.allSatisfy { self.systems[$0.id] != nil && self.hasAnswered($0) }
    }

    private func hasAnswered(_ system: RemoteSystem) -> Bool {
        self.answered.contains(system.id)
            || !system.applications.contains { $0.topics.contains(ActivityDescriptor.topic) }
    }

    /// Whether this system is listed, because one of its processes runs.
    var hasOwnSystem: Bool { self.systems.values.contains { $0.isLocal } }

    /// Whether the host daemon of this system is listed, and has sent what its applications continue. Without a daemon,
    /// each program announces itself, and further ones may be found later.
    var hasOwnHandlers: Bool {
        self.systems.values.contains { system in
            system.isLocal && system.application(RemoteSystemHost.machineApplicationID) != nil
                && self.hasAnswered(system)
        }
    }

    /// The offers that are valid now, ordered by system and application.
    ///
    /// - Parameter local: whether to return the offers of this system, which it cannot continue itself.
    func offers(ofThisSystem local: Bool = false, now: Instant) -> [UserActivityOffer] {
        self.known.flatMap { origin, activities -> [UserActivityOffer] in
            guard let system = self.systems[origin.system], system.isLocal == local else { return [] }
            return activities.values.filter { $0.ends > now }.map {
                UserActivityOffer($0.descriptor, application: origin.application, on: system)
            }
        }.sorted {
            ($0.system.displayName, $0.applicationID, $0.id.uuidString)
                < ($1.system.displayName, $1.applicationID, $1.id.uuidString)
        }
    }

    /// The applications of this system that continue activities of a type, in alphabetical order.
    func handlers(of type: String) -> [ContinuationChoice.Candidate] {
        self.handled.filter { $0.value.contains(type) }.keys.compactMap { origin in
            guard let system = self.systems[origin.system], system.isLocal,
                let application = system.application(origin.application)
            else { return nil }
            return ContinuationChoice.Candidate(
                application: application,
                titles: self.titles[origin]?[type] ?? []
            )
        }.sorted { $0.application.id < $1.application.id }
    }

    /// Whether a manifest of this system is signed, as far as its applications are listed.
    var hasSignedManifests: Bool {
        self.systems.values.contains { system in
            system.isLocal && system.applications.contains { $0.publisher.id != nil }
        }
    }

    /// The applications that continue activities, with the systems on which they are listed.
    var handlers: [(system: RemoteSystem, application: String, types: Set<String>)] {
        self.handled.compactMap { origin, types in
            self.systems[origin.system].map { ($0, origin.application, types) }
        }
    }

    /// The applications of this system that publish no types: they continue none, or receiving is off for them.
    var ownApplicationsWithoutTypes: Set<String> {
        let own = self.systems.values.filter(\.isLocal)
        let publishing = self.handlers.filter { $0.system.isLocal }.map(\.application)
        return Set(own.flatMap { $0.applications.map(\.id) }).subtracting(publishing)
    }

    /// The number of activities of other systems that are not listed: they exceed a limit, or an application repeats an
    /// id.
    var omittedCount: Int {
        self.omitted.reduce(0) { sum, entry in
            self.systems[entry.key].map { $0.isLocal } == false ? sum + entry.value : sum
        }
    }

    /// The time at which the next offer ends; `nil` if there is none.
    var nextEnd: Instant? { self.known.values.flatMap { $0.values.map(\.ends) }.min() }

    /// Removes the offers that have ended.
    mutating func expire(now: Instant) {
        for (origin, activities) in self.known where activities.values.contains(where: { $0.ends <= now }) {
            let left = activities.filter { $0.value.ends > now }
            self.known[origin] = left.isEmpty ? nil : left
        }
    }

    mutating func listed(_ system: RemoteSystem) { self.systems[system.id] = system }

    mutating func removed(_ system: SystemID) {
        self.systems[system] = nil
        self.answered.remove(system)
        self.omitted[system] = nil
    }

    /// Replaces the records of a system. A descriptor that did not change keeps the end of its offer, so that a peer
    /// cannot prolong it by other changes.
    ///
    /// - Parameters:
    ///   - linkedAccount: the linked account of the system. Defaults to `nil`: the system is of this account.
    ///   - isComplete: whether all programs of the system have sent their records.
    mutating func published(
        _ applications: [String: [String: ValueSet]],
        by system: SystemID,
        of linkedAccount: AccountID? = nil,
        isComplete: Bool = true,
        now: Instant
    ) {
        if isComplete { self.answered.insert(system) } else { self.answered.remove(system) }
        let last = self.readings[system] ?? [:]
        let readings = Dictionary(
            uniqueKeysWithValues: applications.map { application, records in
                // Quick for what did not change: both have the same storage.
                let same = last[application].flatMap { $0.records == records ? $0 : nil }
                return (application, same ?? Reading(records))
            }
        )
        self.readings[system] = readings.isEmpty ? nil : readings
        let before = self.known.filter { $0.key.system == system }
        for origin in before.keys { self.known[origin] = nil }
        for origin in self.handled.keys where origin.system == system {
            self.handled[origin] = nil
            self.titles[origin] = nil
        }
        var limit = min(Self.maxOfSystem, Self.maxInAll - self.count { _ in true })
        if let linkedAccount {
            limit = min(limit, Self.maxOfLinkedAccount - self.count { $0.linkedAccount == linkedAccount })
        }
        var (count, omitted) = (0, 0)
        for (application, reading) in readings.sorted(by: { $0.key < $1.key }) {
            let origin = Origin(system: system, application: application, linkedAccount: linkedAccount)
            if let types = reading.types {
                self.handled[origin] = types
                self.titles[origin] = reading.titles
            }
            omitted += reading.omitted
            var activities: [UUID: Known] = [:]
            for descriptor in reading.activities {
                guard count < limit else {
                    omitted += 1
                    continue
                }
                let old = before[origin]?[descriptor.id]
                let ends = old?.descriptor == descriptor ? old?.ends : nil
                activities[descriptor.id] = Known(descriptor: descriptor, ends: ends ?? now + descriptor.lifetime)
                count += 1
            }
            self.known[origin] = activities.isEmpty ? nil : activities
        }
        self.omitted[system] = omitted == 0 ? nil : omitted
    }

    /// The number of known activities of the applications that a condition selects.
    private func count(where isCounted: (Origin) -> Bool) -> Int {
        self.known.reduce(0) { sum, entry in isCounted(entry.key) ? sum + entry.value.count : sum }
    }
}

/// The record with the activity types that an application continues, in the same topic as its activities.
enum HandledTypes {
    static let key = "handled-types"
    /// The maximum number of types of one application.
    static let max = 256

    /// The maximum number of titles of one application.
    static let maxTitles = 64

    static func record(_ types: Set<String>, titles: [String: Set<String>] = [:]) -> ValueSet {
        var record: ValueSet = ["Types": .array(types.sorted().map { .string($0) })]
        let titles = titles.filter { types.contains($0.key) && !$0.value.isEmpty }
        if !titles.isEmpty {
            let lists = titles.map { ($0.key, Value.array($0.value.sorted().map { .string($0) })) }
            record["Titles"] = .dictionary(ValueSet(lists) { $1 })
        }
        return record
    }

    static func titles(in record: ValueSet) -> [String: Set<String>] {
        var titles: [String: Set<String>] = [:]
        var count = 0
        for (type, list) in record["Titles"]?.dictionary ?? [:] {
            let texts = (list.array ?? []).prefix(Self.maxTitles - count).compactMap(\.string)
                .filter { $0.utf8.count <= ActivityDescriptor.maxTitleBytes }
            count += texts.count
            if !texts.isEmpty { titles[type] = Set(texts) }
        }
        return titles
    }

    /// - Throws: `RemoteSystemError` with the code `invalidArgument`.
    static func check(titles: [String: Set<String>]) throws(RemoteSystemError) {
        let all = titles.values.flatMap(\.self)
        guard all.count <= Self.maxTitles,
            all.allSatisfy({ (1...ActivityDescriptor.maxTitleBytes).contains($0.utf8.count) })
        else {
            throw RemoteSystemError(
                .invalidArgument,
                "An application names at most \(Self.maxTitles) titles, each of 1 to "
                    + "\(ActivityDescriptor.maxTitleBytes) bytes of UTF-8.",
                side: .local
            )
        }
    }

    static func types(in record: ValueSet) -> Set<String> {
        Set((record["Types"]?.array ?? []).prefix(Self.max).compactMap(\.string).filter(ActivityTypeName.isValid))
    }
}
