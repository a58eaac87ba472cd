// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// The limits for what other machines can make the state machine hold.
extension SystemBrowserStateMachine {
    /// Makes room for a new instance, if necessary in place of a hint that has never led to a system.
    ///
    /// - Returns: the actions; `nil` if there is no room.
    mutating func makeRoom(for new: Instance) -> [Action]? {
        if new.isUnproved, self.instances.unprovedCount(of: new.key) >= BrowserLimits.hints(of: new.endpoints) {
            return self.instances.dispensable(at: new.key).map { self.drop($0) }
        }
        let hasRoom =
            self.instances.count < Self.maxInstances
            && (!new.isUnproved || self.instances.unprovedCount < BrowserLimits.unprovedHints)
        guard !hasRoom else { return [] }
        return self.instances.dispensable(at: nil).map { self.drop($0) }
    }

    private mutating func drop(_ instance: String) -> [Action] {
        self.instances[instance] = nil
        return [.disconnect(instance: instance)]
    }

    /// Reports once that the limit was reached, so that instances are not ignored silently.
    mutating func refuse() -> [Action] {
        guard !self.hasRefused else { return [] }
        self.hasRefused = true
        let text =
            "More processes are advertised as processes of this account than this program follows; it ignores the "
            + "others. If there are not that many, a machine on the network advertises false ones."
        return [.report(RemoteSystemWatcherError(.discoveryHampered, text, recoversByItself: false))]
    }

    /// Whether a process whose system was proved to be of a linked account may take a place among those of its account,
    /// or has one.
    ///
    /// - Parameter account: the linked account; `nil` for a system of another standing, which needs no such place.
    func hasPlace(for instance: String, of account: AccountID?) -> Bool {
        guard let account, self.instances[instance]?.linkedAccount != account else { return true }
        return self.instances.linked.capacity(for: account) == .free
    }

    /// Whether enough other connections lead to the same process under other names.
    func isSurplus(_ instance: String, on system: SystemID) -> Bool {
        guard let known = self.instances[instance], case .connected(_, let description?) = known.phase,
            known.referral == nil, let endpoint = known.authenticated
        else { return false }
        let same = self.instances.names(on: system).count { name in
            guard name != instance, let other = self.instances[name], other.authenticated == endpoint,
                case .connected(_, let otherDescription?) = other.phase
            else { return false }
            return otherDescription.application.id == description.application.id
        }
        return same >= BrowserLimits.namesOfProcess
    }
}

extension SystemBrowserStateMachine.Instance {
    /// The linked account of the process's system, if proved.
    var linkedAccount: AccountID? { self.standing == .linked ? self.account : nil }

    /// The holder of the quota that the process's system uses.
    func quotaHolder(of system: SystemID) -> QuotaHolder {
        self.linkedAccount.map(QuotaHolder.account) ?? .system(system)
    }

    /// Resets the number of failed attempts when a connection has ended that lasted.
    mutating func forgetFailures(now: ContinuousClock.Instant) {
        guard let connected = self.lastConnect.take(), self.standing.isAccountProved,
            connected.duration(to: now) >= BrowserTimes.stable
        else { return }
        self.attempts = 0
    }
}

extension Endpoint {
    /// Returns the endpoint with the options of the same one, or else of the first one, among others.
    func withOptions(of others: [Endpoint]) -> Endpoint {
        guard let other = others.first(where: { $0 == self }) ?? others.first else { return self }
        var endpoint = self
        (endpoint.discoveryType, endpoint.trust) = (other.discoveryType, other.trust)
        endpoint.connectTimeout = other.connectTimeout
        return endpoint
    }
}
