// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystemsIdentity

extension RemoteSystemsAccount {
    /// Returns the systems of the account that this machine knows of: its own system first, then the others by id.
    ///
    /// This machine knows of
    /// - the systems that it admitted, by an invitation or by pairing;
    /// - the systems that this user's programs met in the last 400 days, with a ``RemoteSystemWatcher`` or by their
    ///   address;
    /// - the revoked systems, which stay in the list.
    ///
    /// The account may have other systems.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when the account's files cannot be
    ///   read. Its cause is an ``IdentityError``.
    public func systems() throws(RemoteSystemError) -> [AccountSystem] {
        try self.systems(evenIfListIsLost: false)
    }

    /// Returns the systems of the account that this machine knows of.
    ///
    /// - Parameter evenIfListIsLost: whether to return them without the revoked ones if the revocation list is lost.
    package func systems(evenIfListIsLost: Bool) throws(RemoteSystemError) -> [AccountSystem] {
        try self.withStore { store throws(IdentityError) in
            let (own, now) = (try store.identity(), Date())
            let list = evenIfListIsLost ? try? store.revocations() : try store.revocations()
            let revoked = Set(list?.allSystems ?? [])
            let file = try? store.contents(of: .knownEndpoints)
            let met = file.flatMap { try? KnownEndpoints(file: $0) }?.met ?? [:]
            let others = Set(try store.joinedSystems()).union(revoked).union(met.keys).subtracting([own.systemID])
            // The root key was replaced on another machine, and this one has no new certificate.
            let retirement = own.isAuthority ? nil : own.rootRetirement(at: now)
            let local = AccountSystem(
                id: own.systemID,
                name: self.name(in: store),
                lastMet: nil,
                certificateEnd: min(own.certificateValidity.upperBound, retirement ?? .distantFuture),
                isRevoked: revoked.contains(own.systemID),
                isLocal: true,
                mustJoinAgain: retirement != nil
            )
            // A certificate that was issued before the last stolen key was retired ends at this time or earlier.
            let invalid = own.isAuthority ? own.roots.lastTheft?.addingTimeInterval(CertificateLife.system) : nil
            let formerlyRevoked = own.isAuthority ? Set(try store.formerlyRevokedSystems()) : []
            let systems = others.union(formerlyRevoked).sorted().map { id -> AccountSystem in
                let end = met[id].map { Date(timeIntervalSince1970: TimeInterval($0.certificateEnd)) }
                let isRevoked = revoked.contains(id)
                let wasRevoked = !isRevoked && formerlyRevoked.contains(id)
                // A system that joins again is noted with its new certificate. Another machine, or this one before a
                // recovery, may have admitted one of which none is known.
                let isOutdated = if let invalid, let end { end <= invalid } else { false }
                let isUnknown = invalid != nil && end == nil
                return AccountSystem(
                    id: id,
                    name: met[id].flatMap { $0.name.isEmpty ? nil : $0.name },
                    lastMet: met[id].map { Date(timeIntervalSince1970: TimeInterval($0.time)) },
                    certificateEnd: end,
                    isRevoked: isRevoked,
                    isLocal: false,
                    mustJoinAgain: isOutdated && !isRevoked && !wasRevoked,
                    isUnknownSinceTheft: isUnknown && !isRevoked && !wasRevoked,
                    wasRevoked: wasRevoked
                )
            }
            return [local] + systems
        }
    }

    /// The name under which other systems list this system. Creates no account.
    package func systemName() throws(RemoteSystemError) -> String {
        try self.withStore { store throws(IdentityError) in self.name(in: store) }
    }

    private func name(in store: AccountStore) -> String {
        self.context.configuration.systemDisplayName ?? store.systemName() ?? MachineFacts.read().displayName
    }

    /// Changes the name under which other systems list this system. Running hosts publish it within two seconds, unless
    /// their configuration has a name of its own (``RemoteSystemsConfiguration/systemDisplayName``).
    ///
    /// - Parameter name: 1 to 256 bytes of UTF-8 without control, invisible or line-breaking characters; `nil` for the
    ///   machine's own name.
    /// - Throws: ``RemoteSystemError``: ``RemoteSystemError/Code/invalidArgument`` for a name of another form;
    ///   ``RemoteSystemError/Code/identity`` when the file cannot be written.
    public func rename(to name: String?) throws(RemoteSystemError) {
        if let name, !name.isName {
            throw .invalidArgument("A system's name has \(String.nameForm).")
        }
        try self.withStore { store throws(IdentityError) in try store.rename(to: name) }
    }
}
