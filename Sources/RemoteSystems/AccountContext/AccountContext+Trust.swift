// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport

/// What a peer presents of an account's trust, not verified yet.
struct PresentedTrust: Sendable, Hashable {
    /// The chain of root keys; `nil` if the account has one root key.
    var roots: [UInt8]?
    /// The revocation lists, the newest first.
    var lists: [[UInt8]] = []
    /// The signed discovery key; `nil` for an account that never revoked a system.
    var discoveryKey: [UInt8]?
}

extension AccountContext {
    /// Installs root keys, revocations and a discovery key that a peer presented, for this process immediately and for
    /// other processes of this machine within about two seconds. Does nothing with what is not newer.
    ///
    /// In this order, since each may need the one before: a new root key may have signed the list, and a discovery key
    /// is used only together with its list. A list or key that is refused does not keep the others from being
    /// installed.
    ///
    /// - Parameter holder: the holder of the quota that the peer uses.
    /// - Throws: ``RemoteSystemError``, ``TrustError``, ``IdentityError``. The error of a refused list or key is thrown
    ///   after the others were installed.
    func take(_ presented: PresentedTrust, from holder: QuotaHolder) async throws {
        let store = try self.store()
        if let roots = presented.roots {
            let security = try self.security()
            if roots != security.trust.own.roots.bytes { try security.learn(roots: RootChain(roots)) }
        }
        guard try !self.isKnown(presented) else { return }
        try await self.accountQueue.run(for: holder) {
            // Verify the signatures before the store locks its files, since any peer can send a list. Another
            // connection may also have delivered the same list.
            let security = try self.security()
            let now = Date()
            let own = security.trust.own
            var rejection: TrustError?
            let lists = presented.lists.verified(&rejection) { (bytes) throws(TrustError) in
                try own.revocationList(bytes, now: now)
            }
            var key: DiscoveryKey?
            do throws(TrustError) {
                if let bytes = presented.discoveryKey { key = try own.discoveryKey(bytes, now: now) }
            } catch {
                rejection = rejection ?? error
            }
            let newLists = lists.filter { !self.isKnown($0, to: security) }
            let isNewKey = key.map { own.discoveryKey.map($0.isNewer) ?? true } ?? false
            if !newLists.isEmpty || isNewKey {
                // A root key that is not stored yet may have signed them.
                if own.roots.count > security.identity.roots.count { try store.install(roots: own.roots) }
                for list in newLists { try store.install(revocations: list.bytes, now: now) }
                if let key = presented.discoveryKey, isNewKey, try store.install(discoveryKey: key, now: now) {
                    self.logger.info("The account has a new discovery key")
                }
                self.reloadIdentity()
            }
            if let rejection { throw rejection }
        }
    }

    /// Whether nothing that a peer presents can be new. Verifies no signature.
    private func isKnown(_ presented: PresentedTrust) throws(RemoteSystemError) -> Bool {
        let security = try self.security()
        let own = security.trust.own
        if let key = presented.discoveryKey, key != own.discoveryKey?.signedBytes { return false }
        return presented.lists.allSatisfy { bytes in
            guard let list = own.revocations else { return false }
            if list.allBytes.contains(bytes) { return true }
            // Numbers are comparable only between lists of the same root key.
            guard list.root == own.roots.count, let number = RevocationList.number(in: bytes), number <= list.number,
                let systems = RevocationList.systems(in: bytes)
            else { return false }
            return systems.allSatisfy(list.contains)
        }
    }

    /// Whether a verified list adds nothing to the lists in use.
    private func isKnown(_ list: RevocationList, to security: TransportSecurity) -> Bool {
        guard let own = security.trust.own.revocations else { return false }
        guard own.merging(list) == own else { return false }
        // A machine with the root key also signs again what only a list of an older root key names.
        return !security.identity.isAuthority || list.systems.allSatisfy(own.contains)
    }

    /// Returns when the stored revocations differ from `list`, or when cancelled.
    func untilRevocations(differ list: RevocationList?) async {
        guard let store = try? self.store() else { return }
        var version: AccountStore.Version?
        repeat {
            let present = store.version()
            guard present != version else { continue }
            do {
                let position = try await self.accountQueue.run { try store.revocations()?.position }
                guard position == list?.position else { return }
                version = present
            } catch {
                // What cannot be read is not known to differ. It is read again at the next check.
            }
        } while (try? await self.environment.time.sleep(for: .seconds(1))) != nil
    }

    // MARK: Repairing

    /// Stores again what this process knows and the files lack, for example after a backup was restored. A running
    /// process never returns to older trust.
    ///
    /// - Returns: the revocations in force, and the error with which the files could not be repaired; `nil` if there is
    ///   none.
    func repair(
        _ store: AccountStore,
        _ identity: SystemIdentity,
        from known: TrustedAccount
    ) throws(IdentityError) -> (revocations: RevocationList?, failure: IdentityError?) {
        var stored: RevocationList?
        do throws(IdentityError) {
            stored = try store.revocations()
        } catch {
            guard known.revocations != nil, error.code == .revocationsLost || error.code == .damaged else {
                throw error
            }
        }
        guard let own = known.revocations else { return (stored, nil) }
        let merged = stored?.merging(own) ?? own
        let isKeyLost = known.discoveryKey.map { $0.isNewer(than: identity.discoveryKey) } ?? false
        guard merged != stored || isKeyLost || known.roots.count > identity.roots.count else {
            return (stored, nil)
        }
        do throws(IdentityError) {
            try store.install(roots: known.roots)
            if merged != stored {
                for bytes in own.allBytes { try store.install(revocations: bytes, now: Date()) }
                self.logger.notice("The stored revocation list was older than the one in use, and was repaired")
            }
            if isKeyLost, let bytes = known.discoveryKey?.signedBytes {
                try store.install(discoveryKey: bytes, now: Date())
            }
        } catch {
            return (merged, error)
        }
        return (merged, nil)
    }
}

extension [[UInt8]] {
    /// Returns what `verify` accepts.
    ///
    /// - Parameter rejection: the error of the first that it refuses, unless there is one already.
    func verified<Statement>(
        _ rejection: inout TrustError?,
        by verify: ([UInt8]) throws(TrustError) -> Statement
    ) -> [Statement] {
        self.compactMap { bytes in
            do throws(TrustError) {
                return try verify(bytes)
            } catch {
                rejection = rejection ?? error
                return nil
            }
        }
    }
}
