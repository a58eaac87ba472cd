// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The relation of a peer to this system's account, as the peer's certificate proved it.
///
/// Every decision about a peer starts here. Use a `switch` that names all cases, so that each place states what a
/// linked account's system may do.
package enum Standing: Hashable, Sendable {
    /// A system of this system's own account.
    case sameAccount(AccountID)
    /// A system of another account that this account is linked with, and the grants of that account.
    indirect case linked(AccountID, Grants)
    /// A system that proved only that it holds its system key. The account that it names is not kept.
    case anonymous

    /// A standing without its account and grants.
    package enum Kind: Hashable, Sendable, CaseIterable {
        case sameAccount, linked, anonymous

        /// Whether the account that certified the system is proved. Any machine nearby can appear as any number of
        /// anonymous systems, but not as a system of an account.
        package var isAccountProved: Bool {
            switch self {
            case .sameAccount, .linked: true
            case .anonymous: false
            }
        }
    }

    package var kind: Kind {
        switch self {
        case .sameAccount: .sameAccount
        case .linked: .linked
        case .anonymous: .anonymous
        }
    }

    /// The account that certified the system; `nil` if that is not proved.
    package var accountID: AccountID? {
        switch self {
        case .sameAccount(let account), .linked(let account, _): account
        case .anonymous: nil
        }
    }
}
