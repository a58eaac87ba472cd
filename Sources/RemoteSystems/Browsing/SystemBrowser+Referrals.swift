// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

// A host daemon describes processes that run beside it without advertising themselves. The browser connects to them
// through that host, and then handles them like any other process.

extension SystemBrowserStateMachine {
    /// Follows the processes that a host describes, and drops those that it no longer describes or that now advertise
    /// themselves.
    mutating func follow(_ host: String, to description: SystemDescription, on system: SystemID) -> [Action] {
        // Referrals are not transitive.
        guard let known = self.instances[host], known.standing == .sameAccount, known.referral == nil else { return [] }
        let advertised = self.advertised(on: system)
        var actions = self.letGo(of: advertised, on: system)
        var unnamed = Set(self.referrals(by: host))
        for application in description.running where !advertised.contains(application) {
            let referral = Referral(host: host, system: system, application: application)
            unnamed.remove(referral.instance)
            actions += self.seen(referral.instance, endpoints: known.endpoints, by: known.discoveryType)
            self.instances[referral.instance]?.referral = referral
        }
        return actions + self.unsee(unnamed.sorted())
    }

    func referrals(by host: String) -> [String] {
        self.instances.filter { $0.value.referral?.host == host }.keys.sorted()
    }

    /// Handles referrals like instances that discovery no longer finds, and also ends attempts to connect to those that
    /// are forgotten.
    mutating func unsee(_ referrals: [String]) -> [Action] {
        referrals.flatMap { name in
            let actions = self.unseen(name)
            return self.knows(name) ? actions : actions + [.disconnect(instance: name)]
        }
    }

    /// The applications of the system's processes that are connected to without a referral.
    private func advertised(on system: SystemID) -> Set<String> {
        var advertised: Set<String> = []
        for instance in self.instances.values where instance.referral == nil && instance.standing.isAccountProved {
            switch instance.phase {
            case .connected(system, let description?), .reconnecting(system, let description?):
                advertised.insert(description.application.id)
            default: break
            }
        }
        return advertised
    }

    private mutating func letGo(of applications: Set<String>, on system: SystemID) -> [Action] {
        let spare = self.instances.values.compactMap(\.referral)
            .filter { $0.system == system && applications.contains($0.application) }
        for referral in spare { self.instances[referral.instance] = nil }
        return spare.map { .disconnect(instance: $0.instance) }
    }
}
