// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems

/// Where and how long to look for systems, and as whom.
struct SearchOptions: ParsableArguments {
    @OptionGroup var network: NetworkOptions

    @Option(
        name: .customLong("wait"),
        parsing: .unconditional,
        help: ArgumentHelp("How long to look for systems that are there, at most.", valueName: "seconds")
    )
    var seconds = 5.0

    @OptionGroup var state: StateOptions

    var wait: Duration { .seconds(self.seconds) }

    func validate() throws {
        guard (0.1...3600).contains(self.seconds) else {
            throw ValidationError("--wait takes 0.1 to 3600 seconds, not \(self.seconds).")
        }
    }

    /// What a subcommand demands of the system that it is given.
    func validate(system: String?) throws {
        guard let system else { return }
        guard !system.isEmpty else { throw ValidationError("The system's name is empty.") }
        if let mistake = SystemAddress.mistake(in: system) { throw ValidationError(mistake) }
        guard let address = SystemAddress(system) else { return }
        do {
            try self.network.network.check(host: address.host)
        } catch {
            throw ValidationError("\(error.message) Leave --loopback out.")
        }
    }

    /// - Parameter command: The subcommand, as others see who calls.
    func configuration(for command: String, _ common: CommonOptions) -> RemoteSystemsConfiguration {
        RemoteSystemsConfiguration(command, self.network, self.state, logger: common.logger())
    }

    /// A watcher that has told what is there when the time is over.
    func watcher(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = []
    ) -> RemoteSystemWatcher {
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = self.wait
        // Subcommands look at what is listed after the loop over its events.
        options.stopsWithLastSequence = false
        return RemoteSystemWatcher(configuration, filters: filters, options: options)
    }
}

/// The one system that a subcommand tells of.
struct SystemOptions: ParsableArguments {
    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String

    @OptionGroup var search: SearchOptions

    func validate() throws {
        try self.search.validate(system: self.system)
    }

    /// The system with everything that is known of it.
    func find(for command: String, _ common: CommonOptions) async throws -> RemoteSystem {
        let configuration = self.search.configuration(for: command, common)
        let finder = SystemFinder(self.system, wait: self.search.wait, configuration)
        guard let system = try await untilInterrupted({ try await finder.findWhole() }) else {
            throw CancellationError()
        }
        return system
    }
}

/// Whose systems a subcommand calls.
struct NearbyOptions: ParsableArguments {
    @Flag(
        help: """
            Call a system of another account, one on the same network that lets anyone nearby call. Its name is what it says; \
            only its id cannot be another's.
            """
    )
    var anyoneNearby = false
}
