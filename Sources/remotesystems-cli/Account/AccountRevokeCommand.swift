// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems

/// `remotesystems account revoke`
struct AccountRevokeCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Put a system out of the account, for ever: a machine that was lost or sold.",
        usage: "remotesystems account revoke <system> [<options>]",
        discussion: """
            Only the machine that holds the account's key can do so. Its open connections end, and the systems of the \
            account that can be reached now are told. Others are told by those as soon as they meet; one that meets \
            nobody trusts the revoked system until that one's certificate ends, at most 90 days.

            To let the machine in again, invite it: it gets a new id then.
            """
    )

    @Argument(
        help: "The system's id or the beginning of it, at least four characters; or its name, if it can be reached."
    )
    var system: String

    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "revoke", self.common)
        let account = RemoteSystemsAccount(configuration)
        guard try account.identity().isAuthority else { throw IdentityError.notAuthority }
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
            try account.revoke(revoked)
            let others = there.filter { $0.id != revoked && !$0.isLocal }.count
            try output.json(RevokedOutput(systemID: revoked, notified: others))
            try output.line("\(revoked) is no system of this account any more.")
            try output.line(Self.whoKnows(others))
            // The watcher takes a new list into use, and shows it around, within a second or so.
            try await Task.sleep(for: .seconds(others > 0 ? 2.5 : 0))
        } catch {
            await watcher.stop()
            throw error
        }
        await watcher.stop()
        return true
    }

    private static func whoKnows(_ others: Int) -> String {
        others == 0
            ? "No other system can be reached now; they are told when they meet this one."
            : "Telling \(others == 1 ? "the other system" : "the \(others) other systems") that can be reached now …"
    }

    /// The one system that is meant, of all that can be known here.
    private func choose(from there: [RemoteSystem], _ account: RemoteSystemsAccount) throws -> SystemID {
        if let id = SystemID(self.system) { return id }
        let known = try Set(account.systemsThatJoined() + there.map(\.id)).subtracting([account.identity().systemID])
        let named = Set(there.filter { $0.displayName == self.system && !$0.isLocal }.map(\.id))
        let isPrefix = self.system.count >= 4
        let fitting = named.union(known.filter { isPrefix && $0.description.hasPrefix(self.system) }).sorted()
        guard let only = fitting.first else {
            throw Failure(
                "misuse",
                "No system of this account is known as \(self.system). 'remotesystems account show' has the ids of those "
                    + "that joined, 'remotesystems list' the names of those that can be reached. A whole id is always taken."
            )
        }
        guard fitting.count == 1 else {
            throw Failure(
                "misuse",
                "\(self.system) fits \(fitting.count) systems: \(fitting.map(\.short).joined(separator: ", ")). Name one by "
                    + "more of its id ('remotesystems account show' has them)."
            )
        }
        return only
    }
}

private struct RevokedOutput: Encodable {
    let event = "revoked"
    var systemID: SystemID
    /// How many other systems are there to be told at once.
    var notified: Int
}
