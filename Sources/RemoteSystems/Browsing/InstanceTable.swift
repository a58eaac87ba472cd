// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The instances of a browser by name, with indexes.
///
/// Other machines choose how many instances there are, so no event may cost time in proportion to all of them.
struct InstanceTable: Sequence {
    typealias Instance = SystemBrowserStateMachine.Instance
    typealias Instant = ContinuousClock.Instant

    private var all: [String: Instance] = [:]
    /// The instances whose connection leads to a system.
    private var bySystem: [SystemID: Set<String>] = [:]
    private var byEndpoint: [Endpoint: Set<String>] = [:]
    /// The instances that a host refers to, by the host's instance.
    private var byReferrer: [String: Set<String>] = [:]
    /// The hints that have never led to a system, by the machine at their first endpoint.
    private var unproved: [PeerKey: Set<String>] = [:]
    private(set) var unprovedCount = 0
    /// The unproved instances whose attempt has failed.
    private var failed: Set<String> = []
    private(set) var remembered: Set<String> = []
    private(set) var anonymousCount = 0
    /// The instances that were proved to be of linked accounts, also while they wait.
    private(set) var linked = LinkedLimits.limiter()
    private(set) var firstAttempts = 0
    /// The earliest end of a delay; a lower bound if `isWaitStale`.
    private var earliestWait: Instant?
    private var isWaitStale = false

    var count: Int { self.all.count }
    var values: Dictionary<String, Instance>.Values { self.all.values }
    func makeIterator() -> Dictionary<String, Instance>.Iterator { self.all.makeIterator() }

    subscript(name: String) -> Instance? {
        get { self.all[name] }
        set {
            let old = self.all[name]
            self.all[name] = newValue
            self.reindex(name, from: old.map(Indexed.init), to: newValue.map(Indexed.init))
        }
    }

    mutating func removeValue(forKey name: String) -> Instance? {
        defer { self[name] = nil }
        return self[name]
    }

    // MARK: Queries

    func names(on system: SystemID) -> Set<String> { self.bySystem[system] ?? [] }

    func names(at endpoints: [Endpoint]) -> Set<String> {
        endpoints.reduce(into: []) { $0.formUnion(self.byEndpoint[$1] ?? []) }
    }

    func names(referredBy host: String) -> Set<String> { self.byReferrer[host] ?? [] }

    /// All instances that a host refers to.
    var referred: some Sequence<String> { self.byReferrer.values.lazy.flatMap { $0 } }

    func unprovedCount(of key: PeerKey) -> Int { self.unproved[key]?.count ?? 0 }

    /// The unproved instance that makes room for another one: one whose attempt has failed, else one of the machine
    /// that has most of them.
    ///
    /// - Parameter key: only instances at this machine, and only failed ones; `nil` for any machine.
    func dispensable(at key: PeerKey?) -> String? {
        if let key { return self.unproved[key]?.first { self.failed.contains($0) } }
        if let failed = self.failed.first { return failed }
        guard let most = self.unproved.values.max(by: { $0.count < $1.count }), most.count > 1 else { return nil }
        return most.first
    }

    /// The earliest end of a delay. Call ``refreshWait()`` first where many instances may wait.
    var nextWait: Instant? {
        self.isWaitStale ? self.all.values.lazy.compactMap(\.phase.waitsUntil).min() : self.earliestWait
    }

    /// Computes ``nextWait`` once for many reads.
    mutating func refreshWait() {
        self.earliestWait = self.nextWait
        self.isWaitStale = false
    }

    // MARK: Indexes

    /// What the indexes know of an instance.
    private struct Indexed: Equatable {
        var system: SystemID?
        var endpoints: [Endpoint]
        var referrer: String?
        /// The key of an unproved instance.
        var unproved: PeerKey?
        var hasFailed: Bool
        var isRemembered: Bool
        var isAnonymous: Bool
        var linkedAccount: AccountID?
        var isFirstAttempt: Bool
        var wait: Instant?

        init(_ instance: Instance) {
            switch instance.phase {
            case .connected(let system, _), .reconnecting(let system, _): self.system = system
            case .connecting, .waiting, .abandoned: self.system = nil
            }
            self.endpoints = instance.endpoints
            self.referrer = instance.referral?.host
            self.unproved = instance.isUnproved ? instance.key : nil
            self.hasFailed = instance.isUnproved && instance.phase.isIdle
            self.isRemembered = instance.isRemembered
            self.isAnonymous = !instance.standing.isAccountProved
            self.linkedAccount = instance.linkedAccount
            self.isFirstAttempt = instance.isFirstAttempt
            self.wait = instance.phase.waitsUntil
        }
    }

    private mutating func reindex(_ name: String, from old: Indexed?, to new: Indexed?) {
        guard old != new else { return }
        if old?.system != new?.system {
            if let system = old?.system { self.bySystem.remove(name, of: system) }
            if let system = new?.system { self.bySystem[system, default: []].insert(name) }
        }
        if old?.endpoints != new?.endpoints {
            for endpoint in old?.endpoints ?? [] { self.byEndpoint.remove(name, of: endpoint) }
            for endpoint in new?.endpoints ?? [] { self.byEndpoint[endpoint, default: []].insert(name) }
        }
        if old?.referrer != new?.referrer {
            if let host = old?.referrer { self.byReferrer.remove(name, of: host) }
            if let host = new?.referrer { self.byReferrer[host, default: []].insert(name) }
        }
        if old?.unproved != new?.unproved {
            if let key = old?.unproved { self.unproved.remove(name, of: key) }
            if let key = new?.unproved { self.unproved[key, default: []].insert(name) }
        }
        self.unprovedCount += (new?.unproved == nil ? 0 : 1) - (old?.unproved == nil ? 0 : 1)
        if new?.hasFailed ?? false { self.failed.insert(name) } else { self.failed.remove(name) }
        if new?.isRemembered ?? false { self.remembered.insert(name) } else { self.remembered.remove(name) }
        if old?.linkedAccount != new?.linkedAccount {
            if let account = old?.linkedAccount { self.linked.leave(account) }
            if let account = new?.linkedAccount { self.linked.add(1, for: account) }
        }
        func change(_ value: (Indexed) -> Bool) -> Int {
            (new.map(value) ?? false ? 1 : 0) - (old.map(value) ?? false ? 1 : 0)
        }
        self.anonymousCount += change(\.isAnonymous)
        self.firstAttempts += change(\.isFirstAttempt)
        self.noteWait(from: old?.wait, to: new?.wait)
    }

    private mutating func noteWait(from old: Instant?, to new: Instant?) {
        guard old != new else { return }
        if let old, old == self.earliestWait { self.isWaitStale = true }
        if let new { self.earliestWait = self.earliestWait.map { Swift.min($0, new) } ?? new }
    }
}

extension Dictionary where Value == Set<String> {
    fileprivate mutating func remove(_ name: String, of key: Key) {
        self[key]?.remove(name)
        if self[key]?.isEmpty ?? false { self[key] = nil }
    }
}
