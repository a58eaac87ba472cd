// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// The command `remotesystems account revoke`.
struct AccountRevokeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke a system permanently, for example a lost or sold machine.",
        usage: "remotesystems account revoke <system> [<options>]",
        discussion: """
            Only the machine that holds the account's root key can revoke a system. The system's open connections end, \
            and the reachable systems of the account are notified. They notify other systems when they connect to \
            them. A system that connects to no other trusts the revoked system until the revoked system's certificate \
            expires, at most 90 days.

            The account gets a new discovery key: the revoked machine no longer recognises the others on a network. \
            Open invitations are withdrawn.

            To add the machine again, invite it. It then gets a new id.
            """
    )

    @Argument(
        help: "The system's id, at least the first four characters of it, or its name."
    )
    var system: String

    @Flag(
        name: .customLong("lost-list"),
        help: "Make a new revocation list if the stored one is lost. Revoke each revoked system again."
    )
    var listIsLost = false

    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func validate() throws { try self.names.validate(system: self.system) }

    func perform(_ output: Output) async throws -> Bool {
        try await interruptible { try await self.revoke(output) }
    }

    private func revoke(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "revoke", self.common)
        let account = RemoteSystemsAccount(configuration)
        let identity = try account.identity()
        if SystemID(self.system) == identity.systemID { throw Failure.ownSystem(self.system, identity) }
        guard identity.isAuthority else {
            let systems = try account.systems()
            if Self.isOnly(systems.filter(self.fits)) { throw Failure.ownSystem(self.system, identity) }
            throw IdentityError.notAuthority
        }
        // Without the list, no program of this machine runs under the account, so nothing can be searched either.
        if self.listIsLost, (try? account.revokedSystems()) == nil {
            return try self.revoke(try self.choose(fromKnownTo: account, identity), with: account, output)
        }
        let watcher = self.search.watcher(configuration)
        let events = watcher.events
        try await watcher.start()
        do {
            for await event in events {
                if case .error(let error) = event { output.note(error.message.printable.wrapped()) }
                if case .enumerationCompleted = event { break }
            }
            try Task.checkCancellation()
            let there = watcher.systems
            let revoked = try self.choose(from: there, account)
            let wasRevoked = try account.revokedSystems().contains(revoked)
            // In any case: it also completes a revocation during which a program has crashed.
            guard try account.revokeIfNeeded(revoked) else { throw Failure.revokedAlready(self.system, revoked) }
            let others = there.filter { $0.id != revoked && !$0.isLocal }.count
            try output.json(RevokedOutput(systemID: revoked, notified: others))
            let text =
                wasRevoked
                ? "The revocation of system \(revoked.short) had been interrupted, and is complete now."
                : "System \(revoked) was revoked from this account."
            try output.line(text)
            try output.line(Self.whoKnows(others))
            // The watcher loads the new revocation list and sends it to other systems within about 1 s.
            try await Task.sleep(for: .seconds(others > 0 ? 2.5 : 0))
            if others > 0 {
                // Nothing confirms that a system has it.
                try output.line("Systems that are off receive the revocation when they connect again.")
            }
        } catch {
            await watcher.stop()
            throw error
        }
        await watcher.stop()
        return true
    }

    /// Whether the argument may mean a system by its name or the beginning of its id.
    private func fits(_ system: AccountSystem) -> Bool {
        system.name == self.system
            || self.system.count >= NameSearch.minPrefix && system.id.description.hasPrefix(self.system)
    }

    /// Whether the only one of the systems is this machine.
    private static func isOnly(_ systems: [AccountSystem]) -> Bool {
        systems.count == 1 && systems.first?.isLocal == true
    }

    private func revoke(_ system: SystemID, with account: RemoteSystemsAccount, _ output: Output) throws -> Bool {
        try account.revoke(system, evenIfListIsLost: true)
        let count = try account.revokedSystems().count
        try output.json(RevokedOutput(systemID: system, notified: 0))
        try output.line("System \(system) was revoked from this account.")
        let text =
            "The revocation list now names \(count == 1 ? "only this system" : "\(count) systems"). Any other system "
            + "that was revoked before is trusted again until you revoke it again."
        try output.line(text.wrapped())
        return true
    }

    /// Returns the one system that the argument identifies among those that were met or joined, without a search.
    ///
    /// - Throws: ``Failure`` if no system or more than one fits.
    private func choose(fromKnownTo account: RemoteSystemsAccount, _ identity: SystemIdentity) throws -> SystemID {
        if let id = SystemID(self.system) { return id }
        let systems = try account.systems(evenIfListIsLost: true)
        let remembered = self.names.acceptsName ? nil : try account.system(named: self.system)
        let ids: Set<SystemID> = Set(systems.filter(self.fits).map(\.id) + [remembered].compactMap(\.self))
        if ids == [identity.systemID] { throw Failure.ownSystem(self.system, identity) }
        let others = ids.subtracting([identity.systemID]).sorted()
        guard let only = others.first else {
            let known = systems.filter { !$0.isLocal }.map { [$0.id.short, $0.name].compactMap(\.self) }
            throw Failure(
                "misuse",
                "No system of this account is known as \(self.system). Known here: "
                    + "\(NameList.text(known.map { $0.joined(separator: " ") })). A full id is always accepted."
            )
        }
        guard others.count == 1 else {
            throw Failure.ambiguous(others, among: NameSearch(self.system, remembered: nil))
        }
        return only
    }

    private static func whoKnows(_ others: Int) -> String {
        others == 0
            ? "No other system is reachable now. The others learn of it when one of their programs that lists systems "
                + "next meets this one, or 'remotesystems doctor ADDRESS' connects to it."
            : "Notifying \(others == 1 ? "the other reachable system" : "the \(others) other reachable systems") …"
    }

    /// Returns the one known system that the argument identifies.
    ///
    /// - Throws: ``Failure`` if no system or more than one fits.
    private func choose(from there: [RemoteSystem], _ account: RemoteSystemsAccount) throws -> SystemID {
        if let id = SystemID(self.system) { return id }
        let identity = try account.identity()
        let all = try account.systems()
        var search = NameSearch(
            self.system,
            remembered: self.names.acceptsName ? nil : try account.system(named: self.system),
            known: Set(try account.systemsThatJoined() + there.map(\.id)).subtracting([identity.systemID])
        )
        for system in there where !system.isLocal { search.saw(system.id, named: system.displayName) }
        search.enumerationCompleted()
        // Revoking cannot be undone, so a remembered name is not enough if several systems have it.
        let others = there.filter { !$0.isLocal && search.isNamed($0.id) }.map(\.id).sorted()
        guard others.count < 2 else { throw Failure.ambiguous(others, among: search) }
        // Those that are off, as a lost machine is. Their names are known if this machine has met them.
        let met = all.filter { $0.name == self.system && !$0.isLocal && search.name(of: $0.id) == nil }
        let away = met.filter { !$0.isRevoked }.map(\.id)
        switch search.finalDecision {
        case .system(let id):
            guard !search.isNamed(id) || away.isEmpty else {
                throw Failure.ambiguous(([id] + away).sorted(), among: search)
            }
            return id
        case .ambiguous(let ids):
            throw Failure.ambiguous(ids, among: search)
        case .changed(let id, let others):
            let isRevoked = all.contains { $0.id == id && $0.isRevoked }
            throw Failure.changed(from: id, isRevoked: isRevoked, to: others, search)
        case .undecided:
            if away.count > 1 { throw Failure.ambiguous(away, among: search) }
            if let only = away.first, only == search.remembered ?? only { return only }
            if let gone = met.first(where: { $0.isRevoked && $0.id == search.remembered ?? $0.id }) { return gone.id }
            if search.remembered.map({ $0 == identity.systemID }) ?? true, Self.isOnly(all.filter(self.fits)) {
                throw Failure.ownSystem(self.system, identity)
            }
            let meant = search.remembered.map { " This name meant the system \($0), which was not found." } ?? ""
            throw Failure(
                "misuse",
                "No system of this account is known as \(self.system).\(meant) 'remotesystems account systems' lists "
                    + "the systems that this machine knows of. A full id is always accepted."
            )
        }
    }
}

extension Failure {
    /// The error when the argument means this machine.
    fileprivate static func ownSystem(_ text: String, _ identity: SystemIdentity) -> Failure {
        let another =
            identity.isAuthority
            ? "To revoke it from another machine, move the root key there first ('remotesystems account export' here, "
                + "'remotesystems account import' there)."
            : "To revoke it, run this command on the machine with the account's root key."
        var failure = Failure(
            "misuse",
            "\(text.printable) is this machine itself, which cannot revoke itself. Nothing was changed. To take it out "
                + "of the account, run 'remotesystems account leave' here. \(another)"
        )
        failure.reason = "\(IdentityError.Code.accountInUse)"
        return failure
    }

    /// The error when a name or an id means a system that was revoked before.
    fileprivate static func revokedAlready(_ text: String, _ system: SystemID) -> Failure {
        let name = system.description.hasPrefix(text) ? "" : ", known as \(text),"
        var failure = Failure(
            "misuse",
            "The system \(system.short)\(name) was already revoked. Nothing was changed. To revoke another "
                + "system, name it by its id: 'remotesystems account systems' lists the ids."
        )
        failure.systemIDs = [system]
        return failure
    }
}

/// The output of `account revoke --json`.
private struct RevokedOutput: Encodable {
    let event = "revoked"
    var systemID: SystemID
    /// The number of other reachable systems, which are notified at once.
    var notified: Int
}
