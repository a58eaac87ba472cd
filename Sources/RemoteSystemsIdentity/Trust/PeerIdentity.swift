// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The identity of the peer of a connection, as its certificate proved it.
package struct PeerIdentity: Hashable, Sendable {
    package let standing: Standing
    package let systemID: SystemID
    /// The time at which the trust in the peer ends: when its certificate expires, when the root key that signed the
    /// certificate is retired, or when the grants end, whichever is first. A connection that lasts longer must be
    /// authenticated again.
    package private(set) var expiry: Date
    /// The id of the root key that signed the certificate; `nil` if that is not proved. Not its number in the chain:
    /// chains that conflict have different keys with the same number.
    package internal(set) var root: KeyFingerprint?

    package init(_ standing: Standing, systemID: SystemID, expiry: Date) {
        self.standing = standing
        self.systemID = systemID
        self.expiry = expiry
    }

    /// Ends the trust at `date` unless it ends earlier.
    mutating func end(by date: Date) { self.expiry = min(self.expiry, date) }
}
