// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems

/// Completions that look at the network: for two seconds at the most, and silent whatever goes wrong.
enum NetworkCompletion {
    static let systems = CompletionKind.custom { words, _, prefix in
        Self.choices(await Self.look(words).map(\.completion), prefix)
    }

    static let services = CompletionKind.custom { words, _, prefix in
        let systems = await Self.look(words)
        // Those of the system that is named already, if one is.
        let named = systems.filter { words.contains($0.displayName) || words.contains($0.completion) }
        let services = (named.isEmpty ? systems : named).flatMap(\.applications).flatMap(\.services).map(\.name)
        return Self.choices(services.filter(Self.isPlain), prefix)
    }

    private static func choices(_ all: [String], _ prefix: String) -> [String] {
        Array(Set(all).filter { $0.hasPrefix(prefix) }.sorted().prefix(256))
    }

    /// What can stand on a command line, and in a list of completions, as it is: names come from other machines.
    fileprivate static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 256
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
            && !text.hasPrefix("-")
    }

    private static func look(_ words: [String]) async -> [RemoteSystem] {
        func value(of option: String) -> String? {
            words.firstIndex(of: option).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
        }
        let directory = value(of: "--state-directory")
        // Pressing a key makes no account.
        let store = directory.map { AccountStore(directory: $0) } ?? (try? AccountStore())
        guard (try? store?.holdsAccount()) == true else { return [] }
        let network: RemoteSystemsConfiguration.Network =
            words.contains("--loopback") ? .loopback : value(of: "--interface").map { .interfaces([$0]) } ?? .all
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = .seconds(2)
        let watcher = RemoteSystemWatcher(
            RemoteSystemsConfiguration(
                applicationID: "remote-systems.command.completion",
                network: network,
                stateDirectory: directory,
                logger: Logger(label: "remotesystems") { _ in SwiftLogNoOpLogHandler() }
            ),
            options: options
        )
        let events = watcher.events
        guard (try? await watcher.start()) != nil else { return [] }
        for await event in events {
            if case .enumerationCompleted = event { break }
        }
        return watcher.systems
    }
}

extension RemoteSystem {
    /// How it is named on a command line: by its name, or by its id where the name would need quotes.
    fileprivate var completion: String {
        NetworkCompletion.isPlain(self.displayName) ? self.displayName : self.id.short
    }
}
