// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What the state machine knows of one instance.
extension SystemBrowserStateMachine {
    /// Whether the instance's connection was just lost and an attempt to reconnect is in progress.
    func isReconnecting(_ instance: String) -> Bool {
        if case .reconnecting = self.instances[instance]?.phase { true } else { false }
    }

    /// Whether the instance's process counts as running: it is connected, or was a moment ago.
    func isPresent(_ instance: String) -> Bool {
        switch self.instances[instance]?.phase {
        case .connected, .reconnecting: true
        default: false
        }
    }

    /// The instances of a system that count as running and whose process is that of an application, in the order of
    /// their names.
    func names(of application: String, on system: SystemID) -> [String] {
        self.instances.names(on: system).filter { name in
            switch self.instances[name]?.phase {
            case .connected(_, let description?), .reconnecting(_, let description?):
                description.application.id == application
            default: false
            }
        }.sorted()
    }

    /// Whether the instance's process has described itself over the current connection.
    func isDescribed(_ instance: String) -> Bool {
        if case .connected(_, .some) = self.instances[instance]?.phase { true } else { false }
    }

    /// The relation of the instance's system to this one, as far as known.
    func standing(of instance: String) -> Standing.Kind {
        self.instances[instance]?.standing ?? .sameAccount
    }

    /// The referral that the instance is reached through, if any.
    func referral(of instance: String) -> Referral? {
        self.instances[instance]?.referral
    }

    /// The system that the instance's attempt must reach, if the attempt is for remembered endpoints.
    func expected(of instance: String) -> SystemID? {
        self.instances[instance]?.expected
    }

    func knows(_ instance: String) -> Bool {
        self.instances[instance] != nil
    }

    /// The endpoints of advertised instances that have not described themselves, with the reason if they refused the
    /// connection.
    var unreported: [(endpoint: Endpoint, refusal: String?)] {
        self.instances.values.compactMap { instance in
            switch instance.phase {
            case .connected(_, .some), .reconnecting(_, .some): return nil
            default:
                guard instance.referral == nil, !instance.isRemembered, let endpoint = instance.endpoints.first else {
                    return nil
                }
                return (endpoint, instance.refusal)
            }
        }
    }
}
