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
        Self.choices(await Self.offers(words).map(\.service.name).filter(Self.isPlain), prefix)
    }

    /// Applications that offer the service that is named already; all of them when none is.
    static let applications = CompletionKind.custom { words, _, prefix in
        let offers = await Self.offers(words)
        let named = offers.filter { words.contains($0.service.name) }
        return Self.choices((named.isEmpty ? offers : named).map(\.application).filter(Self.isPlain), prefix)
    }

    /// Fields that the named service says it takes, as ``MessageField`` reads them, without those that are there already.
    static let fields = CompletionKind.custom { words, _, prefix in
        let application = Self.value(of: "--application", in: words)
        let there = words.compactMap { MessageField(argument: $0)?.key }
        let fields = await Self.offers(words)
            .filter { words.contains($0.service.name) && (application ?? $0.application) == $0.application }
            .flatMap { $0.service.requestSchema?.fields ?? [] }
            .filter { Self.isPlain($0.name) && !there.contains($0.name) }
        return Self.choices(fields.map { $0.name + "=" }, prefix)
    }

    /// What the system that is named already offers; all of them when none is.
    private static func offers(
        _ words: [String]
    ) async -> [(application: String, service: RemoteSystemApplication.Service)] {
        let systems = await Self.look(words)
        let named = systems.filter { words.contains($0.displayName) || words.contains($0.completion) }
        return (named.isEmpty ? systems : named).flatMap(\.applications).flatMap { application in
            application.services.map { (application.id, $0) }
        }
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

    private static func value(of option: String, in words: [String]) -> String? {
        words.firstIndex(of: option).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
    }

    private static func look(_ words: [String]) async -> [RemoteSystem] {
        let directory = Self.value(of: "--state-directory", in: words)
        // Pressing a key makes no account.
        let store = directory.map { AccountStore(directory: $0) } ?? (try? AccountStore())
        guard (try? store?.holdsAccount()) == true else { return [] }
        let network: RemoteSystemsConfiguration.Network =
            words.contains("--loopback")
            ? .loopback : Self.value(of: "--interface", in: words).map { .interfaces([$0]) } ?? .all
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = .seconds(2)
        options.stopsWithLastSequence = false
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
