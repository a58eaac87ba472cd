// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The system at the other end of a connection, as its certificate proved.
package struct PeerIdentity: Hashable, Sendable {
    package let standing: Standing
    package let systemID: SystemID
    /// When the certificate ends; a connection that outlives it must be authorised anew.
    package let expiry: Date

    package init(_ standing: Standing, systemID: SystemID, expiry: Date) {
        self.standing = standing
        self.systemID = systemID
        self.expiry = expiry
    }
}
