// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Logging
import RemoteSystems

/// Options that every subcommand takes.
struct CommonOptions: ParsableArguments {
    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(name: .shortAndLong, help: "Log to standard error what happens underneath.")
    var verbose = false

    var output: Output { Output(isJSON: self.json) }

    /// - Parameter quietly: The least level that is logged without `--verbose`.
    func logger(quietly level: Logger.Level = .error) -> Logger {
        var logger = Logger(label: "remotesystems") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = self.verbose ? .debug : level
        return logger
    }
}

/// Where the account is kept.
struct StateOptions: ParsableArguments {
    @Option(
        name: .customLong("state-directory"),
        help: ArgumentHelp(
            "Keep the account there instead of in $REMOTE_SYSTEMS_STATE or $XDG_STATE_HOME/remote-systems.",
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

/// Which part of the network is used.
struct NetworkOptions: ParsableArguments {
    @Flag(help: "Stay on this machine: tell the network nothing and take nothing from it.")
    var loopback = false

    @Option(
        name: .customLong("interface"),
        help: ArgumentHelp("Use only this network interface; may be given several times.", valueName: "name")
    )
    var interfaces: [String] = []

    func validate() throws {
        guard !self.loopback || self.interfaces.isEmpty else {
            throw ValidationError("--loopback and --interface exclude each other.")
        }
        guard !self.interfaces.contains("") else { throw ValidationError("--interface is empty.") }
    }

    var network: RemoteSystemsConfiguration.Network {
        if self.loopback { return .loopback }
        return self.interfaces.isEmpty ? .all : .interfaces(self.interfaces)
    }
}

extension RemoteSystemsConfiguration {
    /// How the command takes part.
    init(_ command: String, _ network: NetworkOptions, _ state: StateOptions, logger: Logger) {
        self.init(
            applicationID: "remote-systems.command.\(command)",
            network: network.network,
            stateDirectory: state.directory,
            logger: logger
        )
    }

    /// For what needs the account and looks for nobody.
    init(state: StateOptions, logger: Logger) {
        self.init(applicationID: "remote-systems.command.account", stateDirectory: state.directory, logger: logger)
    }
}
