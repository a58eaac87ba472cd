// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Crypto
internal import FoundationEssentials
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The endpoints at which the systems of an account were met, each with the network on which it worked.
///
/// A value without I/O or a clock. Bounded, and endpoints are dropped 30 days after they last worked.
struct KnownEndpoints: Sendable, Equatable {
    /// An endpoint of a system, on a network.
    struct Entry: Sendable, Hashable, Codable {
        var host: String
        var port: Int
        /// The hash of the network's identity (``KnownEndpoints/hash(_:)``).
        var network: String
        /// The time at which the endpoint last worked, in seconds since 1970.
        var met: Int

        /// Whether both entries are for the same endpoint on the same network.
        func isSamePlace(as other: Entry) -> Bool {
            self.host == other.host && self.port == other.port && self.network == other.network
        }

        /// Whether the values are within their valid ranges. They may not be, if the file was changed by another
        /// program.
        var isValid: Bool {
            (1...Self.maxHostBytes).contains(self.host.utf8.count) && (1...65_535).contains(self.port)
                && self.network.utf8.count == KnownEndpoints.hashBytes * 2 && KnownEndpoints.times.contains(self.met)
        }

        /// The maximum length of a host, in bytes. An IPv6 address with the name of an interface has at most 61 bytes.
        private static let maxHostBytes = 64
    }

    /// What is known of a system that was met.
    struct Meeting: Sendable, Hashable, Codable {
        /// The name under which the system described itself; empty if it joined here without a name, as earlier
        /// versions do, and was not met since.
        var name: String
        /// The end of the certificate that it presented, in seconds since 1970.
        var certificateEnd: Int
        /// In seconds since 1970.
        var time: Int

        /// Whether the values are within their valid ranges.
        var isValid: Bool {
            (self.name.isEmpty || self.name.isName) && KnownEndpoints.times.contains(self.certificateEnd)
                && KnownEndpoints.times.contains(self.time)
        }
    }

    /// A refusal of this system with the statement that it was revoked.
    struct Refusal: Sendable, Hashable, Codable {
        /// The id of the system that refused.
        var system: String
        /// The end of the certificate that was refused, in seconds since 1970. Another certificate may be accepted.
        var certificateEnd: Int
        /// In seconds since 1970.
        var time: Int

        /// Whether the values are within their valid ranges. An id in the file may be of any length.
        var isValid: Bool {
            SystemID(self.system) != nil && KnownEndpoints.times.contains(self.certificateEnd)
                && KnownEndpoints.times.contains(self.time)
        }
    }

    /// The valid times, in seconds since 1970: up to the year 5138. Differences of others could overflow.
    private static let times = 0...100_000_000_000
    /// The time for which a change may wait to be stored. In seconds.
    private static let maxWait = 3600
    /// The maximum number of systems that are remembered by name.
    static let maxMeetings = 512
    /// The time for which a system is remembered by name, in seconds: 400 days.
    static let maxMeetingAge = 400 * 24 * 3600

    static let maxSystems = 1024
    static let maxEndpointsOfSystem = 8
    /// The maximum number of endpoints of all systems. It keeps the file below 1 MiB.
    static let maxEndpoints = 4096
    /// The time for which an endpoint is kept after it last worked, in seconds: 30 days.
    static let maxAge = 30 * 24 * 3600
    /// The age at which an entry's time is stored again, in seconds: one day. The file is therefore not written at
    /// every start of a program.
    private static let refreshAge = 24 * 3600
    fileprivate static let hashBytes = 8

    /// A random value that is part of each network's hash, so that the hashes cannot be looked up in a table.
    private(set) var salt: [UInt8]
    /// The latest description of each system that was met, for a person who lists the account's systems.
    private(set) var met: [SystemID: Meeting] = [:]
    /// The refusal of this system as revoked: the first one of the last day with any. `nil` if the system that refused
    /// has accepted this one since.
    private(set) var refusal: Refusal?
    /// The entries of each system, the newest first.
    private(set) var systems: [SystemID: [Entry]] = [:]

    /// Creates an empty value.
    ///
    /// - Parameter salt: 16 random bytes.
    init(salt: [UInt8]) { self.salt = salt }

    /// The hash of a network's identity.
    func hash(_ network: String) -> String {
        var hash = SHA256()
        hash.update(data: self.salt)
        hash.update(data: Array(network.utf8))
        return hash.finalize().prefix(Self.hashBytes).hexadecimal
    }

    // MARK: Changes

    /// Records that a system was reached at an endpoint.
    ///
    /// - Parameters:
    ///   - network: the identity of the network.
    ///   - now: in seconds since 1970.
    /// - Returns: whether the change is worth storing.
    @discardableResult
    mutating func met(_ system: SystemID, host: String, port: Int, on network: String, at now: Int) -> Bool {
        let entry = Entry(host: host, port: port, network: self.hash(network), met: now)
        guard entry.isValid else { return false }
        var entries = self.systems[system] ?? []
        if let index = entries.firstIndex(where: { $0.isSamePlace(as: entry) }) {
            guard abs(now - entries[index].met) >= Self.refreshAge else { return false }
            entries.remove(at: index)
        }
        entries.insert(entry, at: 0)
        self.systems[system] = Array(entries.prefix(Self.maxEndpointsOfSystem))
        self.trim()
        return true
    }

    /// Records that a system was met. Returns whether the change is worth storing.
    @discardableResult
    mutating func met(_ system: SystemID, _ meeting: Meeting) -> Bool {
        guard meeting.isValid else { return false }
        if let known = self.met[system] {
            // A change that waited to be stored does not replace a newer one.
            guard !(1...Self.maxWait).contains(known.time - meeting.time) else { return false }
            let isKnown = known.name == meeting.name && known.certificateEnd == meeting.certificateEnd
            if isKnown, abs(meeting.time - known.time) < Self.refreshAge, self.refusal?.system != "\(system)" {
                return false
            }
        }
        if self.refusal?.system == "\(system)" { self.refusal = nil }
        self.met[system] = meeting
        self.trimMeetings()
        return true
    }

    /// Records that a system refused this one as revoked. Returns whether the change is worth storing.
    @discardableResult
    mutating func refused(_ refusal: Refusal) -> Bool {
        if let known = self.refusal, known.certificateEnd == refusal.certificateEnd,
            abs(refusal.time - known.time) < Self.refreshAge
        {
            return false
        }
        self.refusal = refusal
        return true
    }

    private mutating func trimMeetings() {
        guard self.met.count > Self.maxMeetings else { return }
        let newest = self.met.sorted { $1.value.time < $0.value.time }.prefix(Self.maxMeetings)
        self.met = Dictionary(newest.map { ($0.key, $0.value) }) { first, _ in first }
    }

    /// Removes systems. Returns whether any was known.
    @discardableResult
    mutating func forget(_ systems: some Collection<SystemID>) -> Bool {
        systems.reduce(false) { self.systems.removeValue(forKey: $1) != nil || $0 }
    }

    /// Removes a system's endpoint on every network. Returns whether it was known.
    @discardableResult
    mutating func forget(_ system: SystemID, host: String, port: Int) -> Bool {
        guard let entries = self.systems[system] else { return false }
        let others = entries.filter { $0.host != host || $0.port != port }
        self.systems[system] = others.isEmpty ? nil : others
        return others.count < entries.count
    }

    /// Removes the endpoints that are too old, and those from the future, which a wrong clock has recorded.
    ///
    /// - Parameter now: in seconds since 1970.
    mutating func dropOld(now: Int) {
        let valid = (now - Self.maxAge)...(now + Self.refreshAge)
        let meetings = (now - Self.maxMeetingAge)...(now + Self.refreshAge)
        self.met = self.met.filter { meetings.contains($0.value.time) }
        self.systems = self.systems.compactMapValues { entries in
            let kept = entries.filter { valid.contains($0.met) }
            return kept.isEmpty ? nil : kept
        }
    }

    /// Keeps the newest entries within the limits.
    private mutating func trim() {
        guard self.systems.count > Self.maxSystems || self.count > Self.maxEndpoints else { return }
        let newest = self.systems.sorted { ($1.value.first?.met ?? 0) < ($0.value.first?.met ?? 0) }
        self.systems = [:]
        var count = 0
        for (system, entries) in newest.prefix(Self.maxSystems) {
            guard count + entries.count <= Self.maxEndpoints else { break }
            count += entries.count
            self.systems[system] = entries
        }
    }

    private var count: Int { self.systems.values.reduce(0) { $0 + $1.count } }

    // MARK: Choice

    /// The processes to try on the present networks, the newest first.
    ///
    /// - Parameter networks: the identities of the present networks on which a host's address may be reached.
    func processes(_ networks: (_ host: String) -> [String]) -> [KnownProcess] {
        var hashes: [String: String] = [:]
        func hash(_ network: String) -> String {
            if let known = hashes[network] { return known }
            let new = self.hash(network)
            hashes[network] = new
            return new
        }
        var processes: [(met: Int, process: KnownProcess)] = []
        for (system, entries) in self.systems {
            var indexes: [Int: Int] = [:]
            for entry in entries where networks(entry.host).contains(where: { hash($0) == entry.network }) {
                let endpoint = Endpoint(host: entry.host, port: entry.port)
                // A process listens at the same port on all of its addresses.
                if let index = indexes[entry.port] {
                    guard !processes[index].process.endpoints.contains(endpoint) else { continue }
                    processes[index].process.endpoints.append(endpoint)
                } else {
                    indexes[entry.port] = processes.count
                    processes.append((entry.met, KnownProcess(system: system, endpoints: [endpoint])))
                }
            }
        }
        return processes.sorted { ($1.met, $0.process.instance) < ($0.met, $1.process.instance) }.map(\.process)
    }
}

extension KnownEndpoints.Meeting {
    /// Creates a meeting with a system whose certificate was verified.
    init(name: String, certificateEnd: Date, time: Int) {
        self.init(
            name: name,
            certificateEnd: Int(min(max(certificateEnd.timeIntervalSince1970, 0), 1e11)),
            time: time
        )
    }
}

/// A process of a known system, at the endpoints where it was met on a present network.
struct KnownProcess: Sendable, Hashable {
    var system: SystemID
    /// The newest first, all with the same port. Never empty.
    var endpoints: [Endpoint]

    /// The instance name. It starts with `<`, as no source's name does, so that no discovered instance can have the
    /// same name.
    var instance: String { "<\(self.endpoints.first?.port ?? 0)@\(self.system)" }
}

// MARK: The file

extension KnownEndpoints {
    private struct Contents: Codable {
        var version: Int
        var salt: Data
        var systems: [String: [Entry]]
        /// `nil` in files of earlier versions.
        var met: [String: Meeting]?
        /// `nil` in files of earlier versions.
        var refusal: Refusal?
    }

    private static let version = 1
    private static let saltBytes = 16

    /// Reads the contents of the file. Ignores entries with impossible values, and those beyond the limits.
    init(file: [UInt8]) throws(VersionedFile.Failure) {
        let contents: Contents = try VersionedFile.read(file, version: Self.version)
        guard contents.salt.count == Self.saltBytes else { throw .damaged }
        self.init(salt: Array(contents.salt))
        for (id, entries) in contents.systems {
            guard let system = SystemID(id) else { continue }
            let valid = entries.filter(\.isValid).sorted { $1.met < $0.met }.prefix(Self.maxEndpointsOfSystem)
            if !valid.isEmpty { self.systems[system] = Array(valid) }
        }
        self.trim()
        for (id, meeting) in contents.met ?? [:] where meeting.isValid {
            if let system = SystemID(id) { self.met[system] = meeting }
        }
        self.trimMeetings()
        if let refusal = contents.refusal, refusal.isValid { self.refusal = refusal }
    }

    /// Reads the contents of the file; an empty value if there is no file, or if it is damaged.
    static func reading(_ file: [UInt8]?) throws(VersionedFile.Failure) -> KnownEndpoints {
        guard let file else { return .empty() }
        do throws(VersionedFile.Failure) {
            return try KnownEndpoints(file: file)
        } catch {
            guard case .damaged = error else { throw error }
            return .empty()
        }
    }

    /// An empty value with a random salt.
    static func empty() -> KnownEndpoints {
        KnownEndpoints(salt: (0..<Self.saltBytes).map { _ in UInt8.random(in: .min ... .max) })
    }

    func file() throws -> [UInt8] {
        let systems = self.systems.map { ("\($0.key)", $0.value) }
        return try VersionedFile.bytes(
            Contents(
                version: Self.version,
                salt: Data(self.salt),
                systems: Dictionary(systems) { first, _ in first },
                met: Dictionary(self.met.map { ("\($0.key)", $0.value) }) { first, _ in first },
                refusal: self.refusal
            )
        )
    }
}
