// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// Links with other accounts: lists from other systems of the account, and what linked accounts publish.
extension AccountContext {
    /// Installs a list of links that a system of the account sent. Does nothing if the list is not newer.
    ///
    /// - Throws: ``RemoteSystemError``.
    func take(links bytes: [UInt8], from system: SystemID) async throws {
        guard bytes != self.links.list?.bytes else { return }
        let store = try self.store()
        try await self.accountQueue.run(for: .system(system)) {
            // Verify the signature before the store locks its files.
            let security = try self.security()
            let list = try security.trust.own.linkList(bytes, now: Date())
            guard !self.isKnown(list, isAuthority: security.identity.isAuthority) else { return }
            // A root key that is not stored yet may have signed the list.
            if list.root > security.identity.roots.count { try store.install(roots: security.trust.own.roots) }
            _ = try store.install(links: bytes, now: Date())
            self.reloadIdentity()
        }
    }

    /// Whether a list adds nothing to the one in use. On a system with the account's root key, an older list may hold
    /// entries that are newer.
    private func isKnown(_ list: LinkList, isAuthority: Bool) -> Bool {
        guard let own = self.links.list, !list.isNewer(than: own) else { return false }
        return !isAuthority || list.links.allSatisfy(own.supersedes)
    }

    /// Stores what another system of the account learned of a linked account. Does nothing if this system has no link
    /// with it: the list of links, which says so, arrives apart.
    ///
    /// - Throws: ``RemoteSystemError``.
    func take(linked bytes: [UInt8], from system: SystemID) async throws {
        guard !self.links.learned.contains(bytes), let account = LearnedLink.account(ofEncoded: bytes),
            let link = self.links[account], link.withdrawal == nil
        else { return }
        // A hundred signatures at most. Waiting here uses up the peer's credit, so it sends no more.
        while let delay = self.trustPace.withLock({ $0.delayOfLinked(from: system, at: self.environment.time.now) }) {
            try await self.environment.time.sleep(for: delay)
        }
        let store = try self.store()
        try await self.accountQueue.run(for: .system(system)) {
            // Verify the signatures before the store locks its files.
            let learned = try LearnedLink(encoded: bytes, of: self.security().identity.roots)
            guard try store.learn(learned, now: Date()) else { return }
            self.reloadIdentity()
        }
    }

    /// Stores a linked account's newer revocation lists and root keys, which one of its systems published. A list that
    /// is refused does not keep the others from being stored.
    ///
    /// - Throws: ``RemoteSystemError``, ``TrustError``. The error of a refused list is thrown after the others were
    ///   stored.
    func learn(of account: AccountID, revocations: [[UInt8]], roots bytes: [UInt8]?) async throws {
        guard let linked = try self.security().trust.linked[account]?.account else { return }
        let known = linked.revocations?.allBytes ?? []
        guard bytes.map({ $0 != linked.roots.bytes }) ?? false || revocations.contains(where: { !known.contains($0) })
        else { return }
        let store = try self.store()
        try await self.accountQueue.run(for: .account(account)) {
            var chain = linked.roots
            if let bytes { chain = try chain.extended(by: RootChain(bytes)) }
            // Verify the signatures before the store locks its files, since any system of a linked account can send
            // lists.
            let trusted = TrustedAccount(roots: chain)
            var rejection: TrustError?
            let lists = revocations.verified(&rejection) { (bytes) throws(TrustError) in
                try trusted.revocationList(bytes, now: Date())
            }
            .filter { linked.revocations?.gains(from: $0) ?? true }
            if !lists.isEmpty || chain != linked.roots {
                let learned = try LearnedLink(
                    roots: chain,
                    verified: lists,
                    of: self.security().identity.accountID
                )
                if try store.learn(learned, now: Date()) {
                    self.trustPace.withLock { $0.noteStored(of: account, at: self.environment.time.now) }
                    self.reloadIdentity()
                }
            }
            if let rejection { throw rejection }
        }
    }

    /// Stores the notice that another account has withdrawn its link, after verifying it.
    ///
    /// - Returns: the task that does it. A program that ends at once waits for it.
    @discardableResult
    func learnWithdrawal(_ withdrawal: (account: AccountID, notice: [UInt8])) -> Task<Void, Never> {
        Task(executorPreference: self.environment.taskExecutor) {
            guard let security = try? self.security(), let linked = security.trust.linked[withdrawal.account] else {
                return
            }
            do {
                let store = try self.store()
                try await self.accountQueue.run(for: .account(withdrawal.account)) {
                    let learned = try LearnedLink(
                        roots: linked.account.roots,
                        withdrawal: withdrawal.notice,
                        of: self.security().identity.accountID
                    )
                    guard try store.learn(learned, now: Date()) else { return }
                    self.reloadIdentity()
                }
            } catch {
                self.logger.notice(
                    "A notice that another account withdrew its link was rejected",
                    metadata: ["account": "\(withdrawal.account.short)", "reason": "\(error)"]
                )
            }
        }
    }

    /// Stores the notice with which a system of a linked account closed an open connection, after verifying it.
    func learnWithdrawal(_ notice: [UInt8], from peer: PeerIdentity) {
        guard case .linked(let account, _) = peer.standing else { return }
        // A signature to verify, and a place in the queue of the account's files. The link ends as well when a
        // connection is refused with the notice later.
        let delay = self.trustPace.withLock { $0.delay(of: peer.systemID, account, at: self.environment.time.now) }
        if delay == nil { self.learnWithdrawal((account, notice)) }
    }

    /// Records the changes of links in the log.
    func audit(_ links: AccountLinks, after old: AccountLinks) {
        for link in links.links {
            let before = old[link.account]
            guard before != link else { continue }
            let name: AuditEvent.Name? =
                switch (before?.state, link.state) {
                case (.withdrawn, .withdrawn), (nil, .withdrawn), (.withdrawnByOther, .withdrawnByOther): nil
                case (_, .withdrawn): .linkWithdrawn
                case (_, .withdrawnByOther): .linkWithdrawnByOther
                case (.active, .active): before?.granted == link.granted ? nil : .linkChanged
                case (_, .active): .linkMade
                }
            if let name { AuditEvent(name, link.account).write(to: self.logger) }
        }
    }
}
