// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Browser
import Foundation
import SampleSystem
import UserActivities

/// A browser of four tabs in the terminal. It takes commands as arguments, then from its standard input.
@main
struct TabHopper: AsyncParsableCommand {
    @Option(help: "Run as this system, which 'Samples/two-systems/create' has made.")
    var on: String?

    @Argument(help: "Commands to begin with.")
    var commands: [String] = []

    func run() async throws {
        let configuration = SampleSystem.configuration(of: "org.example.tab-hopper", on: self.on)
        let browser = Browser(show: SampleSystem.say)
        let host = UserActivityHost(configuration, activityTypes: TabStrip.activityTypes, handler: browser)
        let watcher = UserActivityWatcher(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run() }
            _ = try await host.host.port
            try await watcher.start()
            SampleSystem.say("ready: '1 ADDRESS' to '4 ADDRESS' opens a page, 'd' scrolls, 'c' continues, 'q' quits")
            group.addTask { await Self.showOffers(watcher) }
            for await command in Self.commands(self.commands) {
                guard command != "q" else { break }
                do {
                    try await Self.perform(command, browser, host, watcher)
                } catch {
                    SampleSystem.say("failed: \((error as? ContinuationError)?.message ?? "\(error)")")
                }
            }
            group.cancelAll()
        }
    }

    private static func perform(
        _ command: String,
        _ browser: Browser,
        _ host: UserActivityHost,
        _ watcher: UserActivityWatcher
    ) async throws {
        let words = command.split(separator: " ").map(String.init)
        switch words.first {
        case "d": await browser.scroll(by: 10)
        case "c":
            // The newest list comes first, then each change: this waits for an offer.
            for await offers in watcher.changes {
                guard let offer = offers.first(where: { TabStrip.activityTypes.contains($0.activityType) }) else {
                    continue
                }
                return try await host.continue(offer)
            }
        case let number?:
            guard words.count == 2, let tab = Int(number), (1...4).contains(tab), let address = URL(string: words[1])
            else { fallthrough }
            try await browser.open(address, in: tab - 1)
        case nil: SampleSystem.say("There is no command '\(command)'.")
        }
    }

    /// Shows which pages the user's other machines offer.
    private static func showOffers(_ watcher: UserActivityWatcher) async {
        var shown: Set<UUID> = []
        for await offers in watcher.changes {
            for offer in offers where !shown.contains(offer.id) {
                SampleSystem.say("★ \(offer.system.displayName) shows \(offer.title ?? offer.activityType)")
            }
            shown = Set(offers.map(\.id))
        }
    }

    /// The given commands, then those of the standard input. Does not end when the input does.
    private static func commands(_ first: [String]) -> AsyncStream<String> {
        let (commands, feed) = AsyncStream.makeStream(of: String.self)
        for command in first { feed.yield(command) }
        Thread.detachNewThread {
            while let line = readLine() { feed.yield(line) }
        }
        return commands
    }
}
