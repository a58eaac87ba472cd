// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Who is at the other end of a connection, as its certificate proved.
package struct PeerIdentity: Hashable, Sendable {
    package let accountID: AccountID
    package let systemID: SystemID
    /// When the certificate ends; a connection that outlives it must be authorised anew.
    package let expiry: Date

    package init(accountID: AccountID, systemID: SystemID, expiry: Date) {
        self.accountID = accountID
        self.systemID = systemID
        self.expiry = expiry
    }
}
