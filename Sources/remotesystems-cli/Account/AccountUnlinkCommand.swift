// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems

/// The command `remotesystems account unlink`.
struct AccountUnlinkCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "unlink",
        abstract: "Withdraw the link with another person's account.",
        usage: "remotesystems account unlink <account> [<options>]",
        discussion: """
            Only the machine that holds the account's root key can withdraw a link. Connections with systems of the \
            other account end within two seconds on this machine, and on other systems of this account when they \
            receive the change from this one.

            The reachable systems of the other account that grant this one anything are notified, and notify the \
            others of their account. The rest learn of it only when one of their programs connects to a system of this \
            account, and show the link as active until then. If none is reachable, ask the owner of the other account \
            to run 'remotesystems account unlink', too. To link the accounts again, use 'remotesystems pair --link'.
            """
    )

    @OptionGroup var selection: LinkSelection
    @OptionGroup var search: SearchOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        try await interruptible { try await self.unlink(output) }
    }

    private func unlink(_ output: Output) async throws -> Bool {
        let configuration = self.search.configuration(for: "unlink", self.common)
        let account = RemoteSystemsAccount(configuration)
        let link = try self.selection.choose(from: account)
        let watcher = self.search.watcher(
            configuration,
            filters: [.authorizationKind(.linked), .account(link.account)]
        )
        do {
            var reached = 0
            if link.state == .active {
                output.note("Looking for systems of the other account. The link is active until this has ended.")
                reached = await Self.connect(watcher)
            }
            try Task.checkCancellation()
            try account.unlink(link.account)
            if let changed = try account.links().first(where: { $0.account == link.account }) {
                try output.json(LinkOutput(event: "unlinked", changed))
            }
            try output.line("The link with \(link.name.quoted.printable) (\(link.account.short)) was withdrawn.")
            if link.state == .active { try await Self.report(reached, watcher, output) }
        } catch {
            await watcher.stop()
            throw error
        }
        await watcher.stop()
        return true
    }

    /// Connects to the systems of the linked account. The connections then end with the notice.
    ///
    /// - Returns: their number; 0 if it is not possible to search, which does not keep the link.
    private static func connect(_ watcher: RemoteSystemWatcher) async -> Int {
        let events = watcher.events
        do { try await watcher.start() } catch { return 0 }
        for await event in events {
            if case .enumerationCompleted = event { break }
        }
        return watcher.systems.count
    }

    private static func report(_ reached: Int, _ watcher: RemoteSystemWatcher, _ output: Output) async throws {
        let advice =
            "The other account's machines learn of it only when one of their programs connects to a system of this "
            + "account. Ask its owner to run 'remotesystems account unlink', too."
        guard reached > 0 else { return try output.line(advice.wrapped()) }
        let who = reached == 1 ? "the reachable system" : "the \(reached) reachable systems"
        try output.line("Notifying \(who) of the other account …")
        let isNotified = await Self.haveConnectionsEnded(watcher)
        try Task.checkCancellation()
        let sent = "The notice was sent. Systems that are off receive it when they connect to one that knows it."
        let late = "Not every connection has ended in time, so perhaps some did not receive the notice."
        try output.line((isNotified ? sent : "\(late) \(advice)").wrapped())
    }

    /// Waits for the end of the connections. The watcher loads the change, usually within 1 s, and closes them with the
    /// notice.
    ///
    /// - Returns: whether all have ended in time.
    private static func haveConnectionsEnded(_ watcher: RemoteSystemWatcher) async -> Bool {
        let events = watcher.events
        var connected = Set(watcher.systems.map(\.id))
        guard !connected.isEmpty else { return true }
        let stop = Task {
            try await Task.sleep(for: Self.noticeTime)
            // Ends the events.
            await watcher.stop()
        }
        defer { stop.cancel() }
        for await event in events {
            guard case .removed(let system) = event else { continue }
            connected.remove(system.id)
            if connected.isEmpty { return true }
        }
        return false
    }

    /// The maximum time for the connections to end.
    private static let noticeTime = Duration.seconds(10)
}
