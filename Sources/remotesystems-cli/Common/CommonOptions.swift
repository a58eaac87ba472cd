// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems

/// Options of every subcommand.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print one JSON object per line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log debug messages to standard error.")
    var verbose = false

    var output: Output { Output(isJSON: self.json) }

    /// Creates a logger that writes to standard error.
    ///
    /// - Parameter quietly: The minimum level that is logged without `--verbose`.
    func logger(quietly level: Logger.Level = .error) -> Logger {
        var logger = Logger(label: "remotesystems") { CommandLogHandler(label: $0) }
        logger.logLevel = self.verbose ? .debug : level
        return logger
    }
}

/// The state directory, where the account is stored.
struct StateOptions: ParsableArguments {
    @Option(
        name: .customLong("state-directory"),
        help: ArgumentHelp(
            "The directory of the account. Defaults to $REMOTE_SYSTEMS_STATE, then $XDG_STATE_HOME/remote-systems, "
                + "then ~/.local/state/remote-systems.",
            valueName: "directory"
        ),
        completion: .directory,
        transform: { $0.isEmpty || $0.hasPrefix("/") ? $0 : FileManager.default.currentDirectoryPath + "/" + $0 }
    )
    var directory: String?

    func validate() throws {
        if self.directory?.isEmpty == true { throw ValidationError("--state-directory is empty.") }
    }
}

/// The network interfaces that a subcommand uses.
struct NetworkOptions: ParsableArguments {
    @Flag(help: "Use only the loopback interface: send nothing to the network and accept nothing from it.")
    var loopback = false

    @Option(
        name: .customLong("interface"),
        help: ArgumentHelp("Use only this network interface. Repeatable. Defaults to all.", valueName: "name")
    )
    var interfaces: [String] = []

    func validate() throws {
        guard !self.loopback || self.interfaces.isEmpty else {
            throw ValidationError("--loopback and --interface cannot be combined.")
        }
        guard !self.interfaces.contains("") else { throw ValidationError("--interface is empty.") }
    }

    var network: RemoteSystemsConfiguration.Network {
        if self.loopback { return .loopback }
        return self.interfaces.isEmpty ? .all : .interfaces(self.interfaces)
    }
}

extension RemoteSystemsConfiguration {
    /// The configuration of a subcommand that uses the network.
    init(_ command: String, _ network: NetworkOptions, _ state: StateOptions, logger: Logger) {
        self.init(
            applicationID: "remote-systems.command.\(command)",
            network: network.network,
            stateDirectory: state.directory,
            logger: logger
        )
    }

    /// The configuration of a subcommand that uses only the account, not the network.
    init(state: StateOptions, logger: Logger) {
        self.init(applicationID: "remote-systems.command.account", stateDirectory: state.directory, logger: logger)
    }
}
