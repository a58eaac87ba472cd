// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Logging
internal import RemoteSystemsIdentity
internal import Synchronization

/// The root keys and the systems of an account, as they were last read. The difference of two states is what the log
/// records.
struct AccountMembership: Sendable {
    let account: AccountID
    let roots: RootChain
    let revocations: RevocationList?
    /// The systems that this machine has admitted.
    let joined: Set<SystemID>

    /// - Parameter old: the state before, which holds the admitted systems if their record cannot be read now.
    init(_ account: AccountContext.Account, after old: AccountMembership? = nil) {
        self.init(
            roots: account.identity.roots,
            revocations: account.revocations,
            joined: account.joined.map { Set($0) } ?? old?.joined ?? []
        )
    }

    init(roots: RootChain, revocations: RevocationList?, joined: Set<SystemID>) {
        self.account = roots.accountID
        self.roots = roots
        self.revocations = revocations
        self.joined = joined
    }

    /// What has changed since another state, in ascending order of the systems' ids.
    func events(since old: AccountMembership) -> [AuditEvent] {
        typealias Key = AuditEvent.Key
        var events: [AuditEvent] = []
        if self.roots.count > old.roots.count {
            events.append(
                AuditEvent(
                    .rootKeyReplaced,
                    of: self.account,
                    nil,
                    [
                        Key.rootKey: "\(self.roots.count)",
                        Key.reason: self.roots.lastTheft == old.roots.lastTheft ? "replaced" : "stolen",
                    ]
                )
            )
        }
        for system in self.joined.subtracting(old.joined).sorted() {
            events.append(AuditEvent(.systemJoined, of: self.account, system))
        }
        if let list = self.revocations {
            for system in list.allSystems where old.revocations?.contains(system) != true {
                events.append(
                    AuditEvent(
                        .systemRevoked,
                        of: self.account,
                        system,
                        [Key.list: "\(list.number)", Key.rootKey: "\(list.root)"]
                    )
                )
            }
        }
        return events
    }
}

extension AccountContext {
    /// Records in the log what has changed of the account's systems and keys since its files were last read.
    func auditMembership(_ account: Account) {
        let events = self.loaded.withLock { loaded -> [AuditEvent] in
            guard let old = loaded?.membership else { return [] }
            let new = AccountMembership(account, after: old)
            loaded?.membership = new
            return new.events(since: old)
        }
        for event in events { event.write(to: self.logger) }
    }
}
