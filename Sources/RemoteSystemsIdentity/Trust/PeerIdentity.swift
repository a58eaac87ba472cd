// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Who is at the other end of a connection, as its certificate proved.
package struct PeerIdentity: Hashable, Sendable {
    /// The account that certified the system: our own. `nil` for an anonymous peer, of which nothing is proved but that it
    /// holds its system key; which account it says it is of is not even told.
    package let accountID: AccountID?
    package let systemID: SystemID
    /// When the certificate ends; a connection that outlives it must be authorised anew.
    package let expiry: Date

    /// Whether it is a system that our account did not certify.
    package var isAnonymous: Bool { self.accountID == nil }

    package init(accountID: AccountID?, systemID: SystemID, expiry: Date) {
        self.accountID = accountID
        self.systemID = systemID
        self.expiry = expiry
    }
}
