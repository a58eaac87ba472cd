// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UnixSignals

/// `remotesystems host run`
struct HostRunCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the host daemon until stopped.",
        usage: "remotesystems host run [<options>]",
        discussion: """
            Prints a line when it is ready. SIGHUP reads configuration and manifests again and drops no connection; Ctrl-C and SIGTERM stop it once the requests under way are answered. Applications that it has started go on.

            Under systemd it takes its port from a socket unit (LISTEN_FDS), tells when it is ready (NOTIFY_SOCKET) and answers the watchdog (WATCHDOG_USEC).
            """
    )

    @OptionGroup var options: HostOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        // Before anything that takes time: a SIGHUP that nobody waits for ends the process.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let environment = ProcessInfo.processInfo.environment
        let notifier = ServiceNotifier(environment: environment, pid: getpid())
        let settings = try await self.options.settings(environment)
        let socket: Int32?
        do {
            socket = try ActivationSockets(environment: environment, pid: getpid()).listeningSocket()
        } catch {
            throw Failure("\(RemoteSystemError.Code.cannotListen)", "\(error)")
        }
        ServiceManagerEnvironment.clear()
        // Ignoring it is inherited, and takes from us how the programs end that we start.
        signal(SIGCHLD, SIG_DFL)

        let logLevel = HostLogLevel(self.common.verbose ? .debug : settings.logLevel)
        let logger = logLevel.logger()
        var configuration = RemoteSystemsConfiguration(
            applicationID: RemoteSystemHost.machineApplicationID,
            network: settings.network,
            stateDirectory: settings.stateDirectory,
            logger: logger
        )
        configuration.systemDisplayName = settings.displayName
        let role = try Self.role(configuration)
        let registry = ApplicationRegistry(
            environment: environment,
            stateDirectory: settings.stateDirectory,
            logger: logger
        )
        let host = RemoteSystemHost(
            configuration,
            services: [.ping],
            options: await Self.hostOptions(settings, registry: registry, socket: socket, logger: logger)
        )
        let supervision = HostSupervision(host: host, registry: registry, notifier: notifier, logger: logger)
        let reload = HostReload(
            host: host,
            ready: HostReady(role: role, configuration: configuration, output: output),
            registry: registry,
            notifier: notifier,
            supervision: supervision,
            hangups: hangups,
            options: self.options,
            settings: settings,
            logLevel: self.common.verbose ? nil : logLevel,
            logger: logger,
            output: output
        )
        try await ServiceGroup(
            services: [registry, host, supervision, reload],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        ).run()
        try output.json(HostOutput(event: "stopped"))
        return true
    }

    private static func role(_ configuration: RemoteSystemsConfiguration) throws -> HostRole {
        let account = RemoteSystemsAccount(configuration)
        // On first use this makes the directory.
        _ = try account.identity()
        return try HostRole(stateDirectory: account.directory)
    }

    private static func hostOptions(
        _ settings: HostSettings,
        registry: ApplicationRegistry,
        socket: Int32?,
        logger: Logger
    ) async -> RemoteSystemHost.Options {
        var options = RemoteSystemHost.Options()
        options.port = settings.port
        options.displayName = "Host daemon"
        options.isDiscoverable = settings.advertise
        options.installedApplications = registry
        options.startTimeout = settings.startTimeout
        options.listeningSocket = socket
        options.launchURIProvider = await settings.launcher(logger: logger)
        return options
    }
}

/// Says where the host can be reached.
struct HostReady: Sendable {
    let role: HostRole
    let configuration: RemoteSystemsConfiguration
    let output: Output

    /// On standard output, and to a daemon that finds this one in its place.
    func report(port: Int) throws {
        self.role.note(port: port)
        let identity = try RemoteSystemsAccount(self.configuration).identity()
        try self.output.json(
            HostOutput(event: "ready", port: port, systemID: identity.systemID, accountID: identity.accountID)
        )
        try self.output.line(
            "ready: speaking for this machine on port \(port) as system \(identity.systemID.short) of account "
                + "\(identity.accountID.short)"
        )
    }
}

/// What `host run --json` prints.
struct HostOutput: Encodable {
    var event: String
    let time = Date.now
    var port: Int?
    var systemID: SystemID?
    var accountID: AccountID?
    var applications: Int?
    var problems: [String]?
    var needsRestart: [String]?
}
