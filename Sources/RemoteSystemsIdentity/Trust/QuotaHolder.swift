// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The party that shares one quota: of a host's memory, or of what a watcher holds and does.
///
/// A linked account can certify any number of systems, so all of them share the account's quota.
package enum QuotaHolder: Hashable, Sendable {
    case system(SystemID)
    case account(AccountID)

    /// Whether the holder is a linked account.
    package var isLinkedAccount: Bool {
        switch self {
        case .system: false
        case .account: true
        }
    }
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
