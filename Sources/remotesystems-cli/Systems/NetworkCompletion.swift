// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems
import UserActivities

/// Completions from the network. They take at most 2 s and report no errors.
enum NetworkCompletion {
    static let systems = CompletionKind.custom { words, _, prefix in
        Self.choices(await Self.look(words).map(\.completion), prefix)
    }

    static let services = CompletionKind.custom { words, _, prefix in
        Self.choices(await Self.offers(words).map(\.service.name).filter(Self.isPlain), prefix)
    }

    /// The applications that offer the service on the command line, or all applications if there is none.
    static let applications = CompletionKind.custom { words, _, prefix in
        let offers = await Self.offers(words)
        let named = offers.filter { words.contains($0.service.name) }
        return Self.choices((named.isEmpty ? offers : named).map(\.application).filter(Self.isPlain), prefix)
    }

    /// The declared fields of the service on the command line that the command line does not yet contain, in the form
    /// that ``MessageField`` parses.
    static let fields = CompletionKind.custom { words, _, prefix in
        let application = Self.value(of: "--application", in: words)
        let there = words.compactMap { MessageField(argument: $0)?.key }
        let fields = await Self.offers(words)
            .filter { words.contains($0.service.name) && (application ?? $0.application) == $0.application }
            .flatMap { $0.service.requestSchema?.fields ?? [] }
            .filter { Self.isPlain($0.name) && !there.contains($0.name) }
        return Self.choices(fields.map { $0.name + "=" }, prefix)
    }

    /// The services of the system on the command line, or of all systems if there is none.
    private static func offers(
        _ words: [String]
    ) async -> [(application: String, service: RemoteSystemApplication.Service)] {
        let systems = await Self.look(words)
        let named = systems.filter { words.contains($0.displayName) || words.contains($0.completion) }
        return (named.isEmpty ? systems : named).flatMap(\.applications).flatMap { application in
            application.services.map { (application.id, $0) }
        }
    }

    /// The addresses at which machines on the network wait for a pairing.
    static let waitingMachines = CompletionKind.custom { words, _, prefix in
        let account = RemoteSystemsAccount(Self.configuration(words))
        let places = (try? await account.pairingsNearby(within: .seconds(2))) ?? []
        // Brackets around IPv6 would need quotes.
        return Self.choices(places.flatMap(\.addresses).filter { !$0.hasPrefix("[") }, prefix)
    }

    private static func choices(_ all: [String], _ prefix: String) -> [String] {
        Array(Set(all).filter { $0.hasPrefix(prefix) }.sorted().prefix(256))
    }

    /// Whether the text needs no quotes on a command line. Names come from other machines, so everything else is left
    /// out.
    fileprivate static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 256
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) }
            && !text.hasPrefix("-")
    }

    private static func value(of option: String, in words: [String]) -> String? {
        words.firstIndex(of: option).flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
    }

    /// The offers of other systems, by the beginning of their ids.
    static let offers = CompletionKind.custom { words, _, prefix in
        await Self.activities(words, prefix) { $0.offers }
    }

    /// The offers of all systems, with those of this one.
    static let allOffers = CompletionKind.custom { words, _, prefix in
        await Self.activities(words, prefix) { $0.offers + $0.ownOffers }
    }

    private static func activities(
        _ words: [String],
        _ prefix: String,
        _ select: (UserActivityWatcher) -> [UserActivityOffer]
    ) async -> [String] {
        guard let configuration = Self.accountConfiguration(words) else { return [] }
        let watcher = UserActivityWatcher(configuration, filters: .withLinkedAccounts)
        guard (try? await watcher.start()) != nil else { return [] }
        await watcher.enumerate(within: Self.time)
        let offers = select(watcher)
        await watcher.stop()
        return Self.choices(offers.flatMap { [String($0.shownID.prefix(8)), $0.activityType] }, prefix)
    }

    /// The time that a completion takes at most.
    private static let time = Duration.seconds(2)

    /// The configuration for the options on the command line; `nil` if there is no account, which completion must not
    /// create.
    private static func accountConfiguration(_ words: [String]) -> RemoteSystemsConfiguration? {
        let directory = Self.value(of: "--state-directory", in: words)
        let store = directory.map { AccountStore(directory: $0) } ?? (try? AccountStore())
        return (try? store?.holdsAccount()) == true ? Self.configuration(words) : nil
    }

    private static func look(_ words: [String]) async -> [RemoteSystem] {
        guard let configuration = Self.accountConfiguration(words) else { return [] }
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = Self.time
        options.stopsWithLastSequence = false
        let watcher = RemoteSystemWatcher(configuration, options: options)
        let events = watcher.events
        guard (try? await watcher.start()) != nil else { return [] }
        for await event in events {
            if case .enumerationCompleted = event { break }
        }
        return watcher.systems
    }

    private static func configuration(_ words: [String]) -> RemoteSystemsConfiguration {
        RemoteSystemsConfiguration(
            applicationID: "remote-systems.command.completion",
            network: words.contains("--loopback")
                ? .loopback : Self.value(of: "--interface", in: words).map { .interfaces([$0]) } ?? .all,
            stateDirectory: Self.value(of: "--state-directory", in: words),
            logger: Logger(label: "remotesystems") { _ in SwiftLogNoOpLogHandler() }
        )
    }
}

extension RemoteSystem {
    /// The system's name, or its id if the name would need quotes on a command line.
    fileprivate var completion: String {
        NetworkCompletion.isPlain(self.displayName) ? self.displayName : self.id.short
    }
}
