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
import UserNotifications
import UserNotificationsStore

/// The command `remotesystems host run`.
struct HostRunCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the host daemon until stopped.",
        usage: "remotesystems host run [<options>]",
        discussion: """
            Prints a line when it is ready. SIGHUP reloads configuration and manifests and drops no connection. Ctrl-C \
            and SIGTERM stop the daemon once it has responded to the requests in progress. Applications that it \
            started keep running.

            Under systemd, the daemon takes its listening socket from a socket unit (LISTEN_FDS), reports when it is \
            ready (NOTIFY_SOCKET), and notifies the watchdog (WATCHDOG_USEC).
            """
    )

    @OptionGroup var options: HostOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        // Trapped before anything that takes time: an untrapped SIGHUP ends the process.
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
        // The parent may have ignored SIGCHLD, which is inherited: the kernel would then discard the exit statuses of
        // started programs.
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
        let (notificationServices, notifications, presenter) = try await Self.notifications(settings, configuration)
        var hostOptions = await Self.hostOptions(settings, registry: registry, socket: socket, logger: logger)
        hostOptions.features = [notifications?.feature].compactMap(\.self)
        let host = RemoteSystemHost(
            configuration,
            services: [.ping],
            options: hostOptions
        )
        await notifications?.setWake { application in
            guard await registry.applications().contains(where: { $0.id == application }) else { return false }
            await host.bringUp(application)
            return true
        }
        let directory = try RemoteSystemsAccount(configuration).directory
        let starter = ExtensionStarter(registry, directory: "\(directory)/notification-extensions", logger: logger)
        await notifications?.setExtensions(DesktopServiceExtensions(starter))
        await notifications?.setCards(DesktopCards(starter))
        await notifications?.setSounds(DesktopSounds(registry, logger: logger))
        let systemID = try RemoteSystemsAccount(configuration).identity().systemID
        await notifications?.setSystem(systemID)
        let bus = RegistryBus(host: host, system: systemID, logger: logger)
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
        let services: [any Service] =
            [registry, host, supervision, reload, bus]
            + Self.desktopServices(settings, configuration, registry, presenter, logger)
            + notificationServices
            + Self.mirror(settings, notifications, systemID, logger)
        // By default, the log has everything that a service consists of.
        let named = services.map { service in
            ServiceGroupConfiguration.ServiceConfiguration(service: service, serviceName: "\(type(of: service))")
        }
        let group = ServiceGroupConfiguration(
            services: named,
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        try await ServiceGroup(configuration: group).run()
        try output.json(HostOutput(event: "stopped"))
        return true
    }

    /// What shows notifications of other systems, in the order in which it starts.
    private static func notifications(
        _ settings: HostSettings,
        _ configuration: RemoteSystemsConfiguration
    ) async throws -> (services: [any Service], receiver: NotificationReceiver?, presenter: SessionPresenter?) {
        guard settings.notifications else { return ([], nil, nil) }
        let presenter = DesktopNotifications.isPossible ? SessionPresenter(configuration) : nil
        let account = RemoteSystemsAccount(configuration)
        let directory = try account.directory
        let (store, loaded) = await Self.notificationStore(directory, configuration.logger)
        let idleTime: @Sendable () async -> Duration? = { await SessionIdleTime.read() }
        let receiver = NotificationReceiver(
            configuration,
            presenter: presenter,
            store: store,
            attachmentDirectory: AttachmentDirectory(path: "\(directory)/notification-attachments"),
            imageScaler: presenter == nil ? nil : DesktopImageScaler(environment: ProcessInfo.processInfo.environment),
            locationSource: GeoClueLocations(),
            idleTime: presenter == nil ? nil : idleTime
        ) { id in
            try? account.shownName(of: id)
        }
        if settings.snoozeMinutes > 0 { await receiver.setSnoozeButton(seconds: settings.snoozeMinutes * 60) }
        await receiver.restore(loaded)
        return ((presenter.map { [$0] } ?? []) + [receiver], receiver, presenter)
    }

    /// What shows this desktop's notifications on the other systems, if the user wants that.
    private static func mirror(
        _ settings: HostSettings,
        _ receiver: NotificationReceiver?,
        _ system: SystemID,
        _ logger: Logger
    ) -> [any Service] {
        guard let receiver, !settings.mirroredApplications.isEmpty else { return [] }
        let rules = MirrorRules(applications: settings.mirroredApplications)
        return [NotificationMirror(rules, receiver: receiver, system: system, logger: logger)]
    }

    /// The time for another program to release the store, or for the disk to have space, at the start. The daemon
    /// serves nothing before, and a call over D-Bus that has started it waits for 25 s by default.
    private static let storeTime = Duration.seconds(15)

    /// The store and what it has. Without a store the daemon runs, and programs that schedule notifications learn why
    /// it cannot.
    private static func notificationStore(
        _ directory: String,
        _ logger: Logger
    ) async -> (any NotificationStore, [NotificationRecord]) {
        do throws(NotificationError) {
            let store = try await NotificationDatabase.open(in: directory, within: Self.storeTime, logger: logger)
            return (store, try await store.load())
        } catch {
            logger.error(
                "Notifications are not kept while the daemon is off. Restart it when the store can be opened",
                metadata: ["reason": "\(error)"]
            )
            let store = UnavailableNotificationStore(error)
            return (store, (try? await store.load()) ?? [])
        }
    }

    /// What the daemon does for the desktop of the session bus, if there is one.
    private static func desktopServices(
        _ settings: HostSettings,
        _ configuration: RemoteSystemsConfiguration,
        _ registry: ApplicationRegistry,
        _ presenter: SessionPresenter?,
        _ logger: Logger
    ) -> [any Service] {
        let webpages = WebpageResolver(configuration, registry: registry)
        var services: [any Service] = [
            ActivityBus(configuration, registry, webpages: webpages, presenter: presenter)
        ]
        if settings.notifications { services.append(NotificationBus(configuration)) }
        if settings.mediaPlayers {
            services.append(MediaPlayers(configuration, documents: settings.documents()))
        }
        if settings.notifyOffers, DesktopNotifications.isPossible {
            let offers = OfferPresenter(configuration) { continued in
                guard let failure = continued.failure else { return }
                logger.notice(
                    "An activity that the user chose was not continued",
                    metadata: ["reason": "\(Failure(failure).message)"]
                )
            }
            services.append(HostOfferPresenter(configuration: configuration, presenter: offers))
        }
        return services
    }

    private static func role(_ configuration: RemoteSystemsConfiguration) throws -> HostRole {
        let account = RemoteSystemsAccount(configuration)
        // On first use this creates the state directory.
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

/// Reports that the host is ready.
struct HostReady: Sendable {
    let role: HostRole
    let configuration: RemoteSystemsConfiguration
    let output: Output

    /// Prints the port to standard output, and writes it to the lock file for the message of a second daemon.
    func report(port: Int) throws {
        self.role.note(port: port)
        let identity = try RemoteSystemsAccount(self.configuration).identity()
        try self.output.json(
            HostOutput(event: "ready", port: port, systemID: identity.systemID, accountID: identity.accountID)
        )
        try self.output.line(
            "ready: listening on port \(port) as system \(identity.systemID.short) of account "
                + "\(identity.accountID.short)"
        )
    }
}

/// The output of `host run --json`.
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
