// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Logging
import RemoteSystems

/// The network, time limit and account of a search for systems.
struct SearchOptions: ParsableArguments {
    @OptionGroup var network: NetworkOptions

    @Option(
        name: [.customLong("wait"), .customLong("search-time")],
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum time to look for systems, such as 10 or 500ms. Range: 0.1 to 3600 seconds.",
            valueName: "time"
        )
    )
    var time = EnteredTime(seconds: 5)

    @OptionGroup var state: StateOptions

    var wait: Duration { self.time.duration }

    func validate() throws {
        guard (0.1...3600).contains(self.time.seconds) else {
            throw ValidationError("--wait takes 0.1 to 3600 seconds, not \(self.time).")
        }
    }

    /// Checks the system argument of a subcommand.
    func validate(system: String?) throws { try self.network.validate(system: system) }

    /// Returns the configuration for a search by a subcommand.
    ///
    /// - Parameter command: The subcommand, which becomes part of the caller's application id.
    func configuration(for command: String, _ common: CommonOptions) -> RemoteSystemsConfiguration {
        RemoteSystemsConfiguration(command, self.network, self.state, logger: common.logger())
    }

    /// Creates a watcher whose enumeration completes within ``wait``.
    func watcher(
        _ configuration: RemoteSystemsConfiguration,
        filters: [RemoteSystemFilter] = []
    ) -> RemoteSystemWatcher {
        var options = RemoteSystemWatcher.Options()
        options.enumerationTime = self.wait
        // Subcommands read the watcher's systems after the loop over its events.
        options.stopsWithLastSequence = false
        return RemoteSystemWatcher(configuration, filters: filters, options: options)
    }
}

extension NetworkOptions {
    /// Checks the system argument of a subcommand.
    func validate(system: String?) throws {
        guard let system else { return }
        guard !system.isEmpty else { throw ValidationError("The system's name is empty.") }
        if let mistake = SystemAddress.mistake(in: system) { throw ValidationError(mistake) }
        guard let address = SystemAddress(system) else { return }
        do {
            try self.network.check(host: address.host)
        } catch {
            throw ValidationError("\(error.message) Omit --loopback.")
        }
    }
}

/// The system that a subcommand reports on.
struct SystemOptions: ParsableArguments {
    @Argument(help: "The system: \(SystemFinder.help).", completion: NetworkCompletion.systems)
    var system: String

    @OptionGroup var names: NameOptions
    @OptionGroup var search: SearchOptions

    func validate() throws {
        try self.search.validate(system: self.system)
        try self.names.validate(system: self.system)
    }

    /// Finds the system, with everything that is known about it.
    func find(for command: String, _ common: CommonOptions) async throws -> RemoteSystem {
        let configuration = self.search.configuration(for: command, common)
        let finder = SystemFinder(
            self.system,
            wait: self.search.wait,
            configuration,
            acceptsName: self.names.acceptsName
        )
        return try await interruptible { try await finder.findWhole() }
    }
}

/// Whether a name may mean another system than before.
struct NameOptions: ParsableArguments {
    @Flag(
        name: .customLong("accept-name"),
        help: """
            Accept that the name leads to another system than before, and remember the new one. Check its id first \
            with 'remotesystems list'.
            """
    )
    var acceptsName = false

    /// Checks that the flag is used with a name.
    func validate(system: String?) throws {
        guard self.acceptsName else { return }
        guard let system, SystemAddress(system) == nil, SystemID(system) == nil else {
            throw ValidationError("--accept-name requires a system's name. Addresses and ids always mean the same.")
        }
    }
}

/// Whether a subcommand calls systems of other accounts.
struct NearbyOptions: ParsableArguments {
    @Flag(
        help: """
            Call a system of another account on the same network that accepts callers of other accounts. Its name is \
            not verified; only its id is.
            """
    )
    var anyoneNearby = false
}
