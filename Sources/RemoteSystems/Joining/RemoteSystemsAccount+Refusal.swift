// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import RemoteSystemsIdentity

/// A refusal of this system by another one of its account, with the statement that it was revoked.
package struct RevokedRefusal: Sendable, Hashable {
    /// The system of the account that refused this one. Its certificate was verified.
    package let system: SystemID
    /// The time of the refusal, by this machine's clock.
    package let date: Date
    /// Whether this system holds the account's root key.
    package let isAuthority: Bool
}

extension RemoteSystemsAccount {
    /// Returns the time at which this system's certificate became invalid because the account's root key was replaced,
    /// at once or while this system was away; `nil` if it did not. This system has to join the account again.
    ///
    /// The old root key signed its successor, so no statement of another system has to be believed. A system learns the
    /// new key from the first system of the account that it reaches; before, nothing is returned. Creates no account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read.
    package func rootKeyReplacement() throws(RemoteSystemError) -> Date? {
        try self.withStore { store throws(IdentityError) -> Date? in
            let now = Date()
            guard let own = try store.storedIdentity(now: now), !own.isAuthority else { return nil }
            return own.rootRetirement(at: now)
        }
    }

    /// Returns the time at which this system's certificate expired, by this machine's clock; `nil` if it is valid, or
    /// if this system holds the root key and renews it. Creates no account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read.
    package func certificateExpiry() throws(RemoteSystemError) -> Date? {
        try self.withStore { store throws(IdentityError) -> Date? in
            let now = Date()
            guard let own = try store.storedIdentity(now: now), !own.isAuthority else { return nil }
            let end = own.certificateValidity.upperBound
            return end <= now ? end : nil
        }
    }

    /// Returns the refusal of this system as revoked that a ``RemoteSystemWatcher`` of this user received; `nil` if
    /// there was none since this system got its certificate, or if the system that refused was revoked or has accepted
    /// this one since. Of several refusals by day, returns the first.
    ///
    /// A revoked system does not receive the revocation list, so only a refusal shows that it was revoked. The same
    /// applies to a machine with the root key: after a recovery, two machines hold the key. Creates no account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read.
    package func refusalAsRevoked() throws(RemoteSystemError) -> RevokedRefusal? {
        try self.withStore { store throws(IdentityError) -> RevokedRefusal? in
            guard let own = try store.storedIdentity(now: Date()) else { return nil }
            let file = try? store.contents(of: .knownEndpoints)
            let known = file.flatMap { try? KnownEndpoints(file: $0) }
            guard let refusal = known?.refusal, let system = SystemID(refusal.system),
                refusal.certificateEnd == Int(own.certificateValidity.upperBound.timeIntervalSince1970),
                try store.revocations()?.allSystems.contains(system) != true
            else { return nil }
            return RevokedRefusal(
                system: system,
                date: Date(timeIntervalSince1970: TimeInterval(refusal.time)),
                isAuthority: own.isAuthority
            )
        }
    }
}
