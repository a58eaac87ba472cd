// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity

// What a host daemon says to run beside it and nobody announces: connected to through that host, and from then on like any
// other process, its connection the truth.

extension SystemBrowserStateMachine {
    /// Takes up what a host says to run and lets go what it no longer says; lets go, too, what goes on under its own name now.
    mutating func follow(_ host: String, to description: SystemDescription, on system: SystemID) -> [Action] {
        // A process that was referred to refers no further.
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

    /// The same as what discovery loses sight of. What that leaves nothing of has its attempts ended as well.
    mutating func unsee(_ referrals: [String]) -> [Action] {
        referrals.flatMap { name in
            let actions = self.unseen(name)
            return self.knows(name) ? actions : actions + [.disconnect(instance: name)]
        }
    }

    /// The applications of the system's processes that are connected to by themselves.
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
