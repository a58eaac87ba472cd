// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The party that shares one quota of a host's memory.
///
/// A linked account can certify any number of systems, so all of them share the account's quota.
package enum QuotaHolder: Hashable, Sendable {
    case system(SystemID)
    case account(AccountID)
}

extension Standing {
    /// The holder of the quota that a system with this standing uses.
    package func quotaHolder(of system: SystemID) -> QuotaHolder {
        switch self {
        case .sameAccount, .anonymous: .system(system)
        case .linked(let account, _): .account(account)
        }
    }
}

extension PeerIdentity {
    /// The holder of the quota that the peer uses.
    package var quotaHolder: QuotaHolder { self.standing.quotaHolder(of: self.systemID) }
}
