// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import RemoteSystemsTransport
internal import Synchronization

/// A failure to read the account's files again, or to repair them, as it was logged.
struct ReloadFailure: Sendable {
    /// The version of the files.
    var version: AccountStore.Version?
    var reason: String
    var time: ContinuousClock.Instant

    /// Whether to log this failure after another one.
    func isNoteworthy(after last: ReloadFailure) -> Bool {
        self.version != last.version || self.reason != last.reason || self.time >= last.time + .seconds(3600)
    }
}

// How a process follows the changes that it and other processes make to the account's files.
extension AccountContext {
    /// Reloads the account after this or another process changed it (renewed certificate, new revocation list).
    ///
    /// On the system that holds the account's root key, reading the identity also renews the certificate when it is
    /// due. Intended for long-running processes.
    func reloadIdentity() {
        let shouldReport = self.reloading.withLock { failure in
            do {
                return try self.reload(&failure)
            } catch {
                self.log(error, .warning, "The account could not be reloaded", after: &failure)
                return false
            }
        }
        if shouldReport { self.follower.notify() }
    }

    /// Logs why the account was not reloaded or repaired: once, then once an hour while files and reason stay the same.
    /// The files are read again every second, and before each connection.
    private func log(
        _ error: any Error,
        _ level: Logger.Level,
        _ message: Logger.Message,
        after last: inout ReloadFailure?
    ) {
        let failure = ReloadFailure(
            version: try? self.store().version(),
            reason: "\(error)",
            time: self.environment.time.now
        )
        guard last.map(failure.isNoteworthy(after:)) ?? true else { return }
        last = failure
        self.logger.log(level: level, message, metadata: ["reason": "\(failure.reason)"])
    }

    /// Runs ``reloadIdentity()`` on the account's queue, since it opens files and may sign a certificate.
    func reloadIdentityInBackground() async {
        // An identity in memory needs no file access.
        guard self.environment.identity == nil else { return self.reloadIdentity() }
        await self.accountQueue.run { self.reloadIdentity() }
    }

    /// Reads the account again, after this or another process changed it.
    ///
    /// - Parameter failure: the last failure that was logged. Reset if there is none now.
    /// - Returns: whether the revocations, the root keys, the discovery key, the links, this system's name or the
    ///   user's choices changed, or this system has left the account.
    private func reload(_ failure: inout ReloadFailure?) throws -> Bool {
        _ = try self.security()
        // The lock is not held while files are read, so that other users do not wait.
        guard let present = self.loaded.withLock({ $0 }) else { return false }
        guard try !self.noticeLeaving(present) else { return true }
        guard let account = try self.readStoredAccount(repairing: present.security.trust.own) else {
            guard try !self.noticeLeaving(present) else { return true }
            // The files were removed by hand. The account in memory stays in use until the process ends.
            self.loaded.withLock { $0?.version = try? self.store().version() }
            failure = nil
            return false
        }
        if let error = account.failedRepair {
            self.log(
                error,
                .error,
                "The stored account is older than the one in use, and could not be repaired",
                after: &failure
            )
        } else {
            failure = nil
        }
        // Older files stay different from what is in use, so a further attempt to repair them applies nothing again.
        let isUnrepaired = account.failedRepair != nil
        let isApplied = isUnrepaired && present.isUnrepaired && account.version == present.version
        // The store may hold another account now. A process keeps the old one until it is restarted.
        // An older list, for example from a backup, must not restore a withdrawn link.
        let links = account.links.isOlder(than: present.links) ? present.links : account.links
        let isSameAccount = account.identity.accountID == present.security.identity.accountID
        if isSameAccount { self.auditMembership(account) }
        let isTrustChanged =
            account.revocations != present.revocations || account.identity.roots != present.security.trust.own.roots
            || account.identity.discoveryKey != present.security.identity.discoveryKey
        let isDescriptionChanged = account.systemName != present.systemName || account.settings != present.settings
        let isChanged =
            isTrustChanged || isDescriptionChanged || links != present.links
            || account.identity.certificateValidity != present.security.identity.certificateValidity
        guard isSameAccount, isChanged, !isApplied else {
            self.loaded.withLock { loaded in
                loaded?.version = account.version
                loaded?.isUnrepaired = isUnrepaired
                loaded?.isReplaced = !isSameAccount
            }
            return false
        }
        // If the update fails, the version stays unchanged, so the next check tries again.
        try present.security.update(
            identity: account.identity,
            revocations: account.revocations,
            links: links == present.links ? nil : links.links
        )
        self.loaded.withLock { loaded in
            loaded?.version = account.version
            loaded?.isUnrepaired = isUnrepaired
            loaded?.systemName = account.systemName
            loaded?.settings = account.settings
            loaded?.revocations = present.security.trust.own.revocations
            loaded?.links = links
        }
        self.logger.debug("The account was reloaded")
        self.audit(links, after: present.links)
        return isTrustChanged || isDescriptionChanged || links != present.links
    }

    // MARK: Leaving

    /// Whether a new user would get the same account: not after this system left the account or joined another.
    var isCurrent: Bool {
        if self.loaded.withLock({ $0 }) != nil, self.isAccountChanged { self.reloadIdentity() }
        return self.loaded.withLock { !($0?.hasLeft ?? false) && !($0?.isReplaced ?? false) }
    }

    /// Whether this system has left the account.
    var hasLeft: Bool { self.loaded.withLock { $0?.hasLeft ?? false } }

    /// Checks that this system still belongs to its account.
    ///
    /// - Throws: ``RemoteSystemError`` with ``RemoteSystemError/Code/identity`` when this system has left the account.
    func checkMembership() throws(RemoteSystemError) {
        if self.hasLeft { _ = try self.security() }
    }

    /// Closes all connections under the account if this system has left it.
    private func noticeLeaving(_ present: Loaded) throws -> Bool {
        guard self.environment.identity == nil, try self.store().hasLeft(present.security.systemID) else {
            return false
        }
        self.loaded.withLock { $0?.hasLeft = true }
        present.security.end()
        AuditEvent(.systemLeft, of: present.security.identity.accountID, present.security.systemID).write(
            to: self.logger
        )
        return true
    }

    static func left(_ account: AccountID) -> IdentityError {
        IdentityError(
            .accountLeft,
            """
            This system has left account \(account.short). Start this program again: it then uses the account that is \
            stored, or creates a new one.
            """
        )
    }

    // MARK: Observing

    /// Reloads the account when other processes change it, and calls back when revocations must be sent to peers.
    /// Returns when cancelled, or when this system has left the account (``hasLeft``).
    func observeAccount(_ revoked: () async -> Void) async {
        // No other process changes an identity in memory.
        guard self.environment.identity == nil else { return }
        let (change, listener) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let holder = self.follower.hold(listener) { await self.lookAtAccountInBackground() }
        defer { self.follower.release(holder) }
        for await _ in change {
            guard !self.hasLeft else { return }
            await revoked()
        }
    }

    /// Observes the account while a connection is open, so that the connection is closed when its system is revoked.
    func observeAccount(whileOpen connection: any AuthenticatedConnection) {
        guard self.environment.identity == nil else { return }
        let holder = self.follower.hold { await self.lookAtAccountInBackground() }
        connection.onClose { _ in self.follower.release(holder) }
    }

    /// Loads all changes that other processes have made so far. Concurrent calls read the files once.
    func takeChangesIntoUse() async {
        // A read in progress may have begun before the change. Usually nothing has changed, and the files are looked at
        // once: that takes a fortieth of the time of opening a connection.
        for _ in 0..<2 {
            guard self.isAccountChanged else { return }
            let reading = self.changeReading.withLock { reading in
                if let reading { return reading }
                let new = Task(executorPreference: self.environment.taskExecutor) {
                    await self.reloadIdentityInBackground()
                    self.changeReading.withLock { $0 = nil }
                }
                reading = new
                return new
            }
            await reading.value
        }
    }

    /// Closes connections whose trust has ended by the wall clock, and reloads the account if another process changed
    /// it.
    private func lookAtAccountInBackground() async {
        let date = self.environment.time.date
        self.loaded.withLock { $0?.security }?.closeExpired(at: date)
        if self.isAccountChanged || self.isReadingDue(at: date) { await self.reloadIdentityInBackground() }
    }

    /// Whether to read files that have not changed, at most once a minute: to repair older ones, or to renew the
    /// certificate where the root key is stored. The clock may have been set since the last reading.
    private func isReadingDue(at date: Date) -> Bool {
        guard let identity = self.loaded.withLock({ $0?.security })?.identity else { return false }
        let isRenewalDue = identity.isAuthority && identity.isRenewalDue(at: date)
        let now = self.environment.time.now
        return self.loaded.withLock { loaded in
            guard var present = loaded, !present.hasLeft, present.isUnrepaired || isRenewalDue,
                present.nextReading.map({ $0 <= now }) ?? true
            else { return false }
            present.nextReading = now + .seconds(60)
            loaded = present
            return true
        }
    }

    private var isAccountChanged: Bool {
        guard !self.hasLeft, let store = try? self.store() else { return false }
        return self.loaded.withLock { $0?.version } != store.version()
    }
}
