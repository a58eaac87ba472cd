// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The system at the other end of a connection, as its certificate proved.
package struct PeerIdentity: Hashable, Sendable {
    package let standing: Standing
    package let systemID: SystemID
    /// When the trust in the peer ends: with its certificate, with the time of the root key that signed it, or with
    /// what was granted. A connection that outlives it must be authorised anew.
    package private(set) var expiry: Date
    /// The number of the root key that signed the certificate, from 1; `nil` where that is not proved.
    package internal(set) var root: Int?

    package init(_ standing: Standing, systemID: SystemID, expiry: Date) {
        self.standing = standing
        self.systemID = systemID
        self.expiry = expiry
    }

    /// Ends the trust at this time if it would end later.
    mutating func end(by date: Date) { self.expiry = min(self.expiry, date) }
}
