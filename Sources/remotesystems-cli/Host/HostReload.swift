// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UnixSignals

/// Reports that the host is ready, then reloads configuration and manifests on every SIGHUP.
///
/// Connections stay open. Settings that need a restart are reported. If the new configuration is invalid, its problems
/// are reported and the old configuration stays in force.
actor HostReload: Service {
    private let host: RemoteSystemHost
    private let ready: HostReady
    private let registry: ApplicationRegistry
    private let notifier: ServiceNotifier
    private let supervision: HostSupervision
    private let hangups: UnixSignalsSequence
    private let options: HostOptions
    /// The settings in force: those that need a restart to change, and the port.
    private var settings: HostSettings
    /// `nil` if the command line sets the log level.
    private let logLevel: HostLogLevel?
    private let logger: Logger
    private let output: Output

    init(
        host: RemoteSystemHost,
        ready: HostReady,
        registry: ApplicationRegistry,
        notifier: ServiceNotifier,
        supervision: HostSupervision,
        hangups: UnixSignalsSequence,
        options: HostOptions,
        settings: HostSettings,
        logLevel: HostLogLevel?,
        logger: Logger,
        output: Output
    ) {
        self.host = host
        self.ready = ready
        self.registry = registry
        self.notifier = notifier
        self.supervision = supervision
        self.hangups = hangups
        self.options = options
        self.settings = settings
        self.logLevel = logLevel
        self.logger = logger
        self.output = output
    }

    func run() async throws {
        guard let port = await self.host.listeningPort() else { return }
        // An earlier SIGHUP is handled after this message: the end of a reload also reports readiness to the service
        // manager.
        self.notifier.send(.ready, await self.supervision.status(port: port))
        try self.ready.report(port: port)
        for await _ in self.hangups.cancelOnGracefulShutdown() {
            await self.reload()
        }
    }

    /// Applies the settings that can change while the host runs.
    ///
    /// The others keep their old values in ``settings``, so that every reload reports them again.
    ///
    /// - Returns: The reason why a setting could not be applied; `nil` if all were.
    private func apply(_ new: HostSettings) async -> String? {
        var new = new
        // URI handlers get the state directory that is in use.
        new.stateDirectory = self.settings.stateDirectory
        self.logLevel?.value = new.logLevel
        await self.host.update(systemDisplayName: new.displayName)
        await self.host.update(startTimeout: new.startTimeout)
        self.host.update(isDiscoverable: new.advertise)
        // Needed also if no setting changed: installed applications may have changed, and with them the advertised
        // schemes.
        await self.host.update(launchURIProvider: new.launcher(logger: self.logger))
        guard new.port != self.settings.port else { return nil }
        do throws(RemoteSystemError) {
            try await self.host.update(port: new.port)
        } catch {
            return error.message
        }
        self.settings.port = new.port
        if let port = try? await self.host.port { self.ready.role.note(port: port) }
        return nil
    }

    private func reload() async {
        self.notifier.send(.reloading(monotonic: ServiceNotifier.monotonicMicroseconds()))
        var problems: [String] = []
        var needsRestart: [HostSetting] = []
        let new: Result<HostSettings, any Error>
        do {
            new = .success(try await self.options.settings())
        } catch {
            new = .failure(error)
        }
        switch new {
        case .success(let new):
            needsRestart = self.settings.needsRestart(to: new)
            if let problem = await self.apply(new) {
                problems.append(problem)
                self.logger.error("The port was not changed", metadata: ["reason": "\(problem)"])
            }
        case .failure(let error):
            for error in (error as? HostSettingsProblems)?.problems ?? [error] {
                let text = (error as? Failure)?.message ?? "\(error)"
                problems.append(text)
                self.logger.error("The configuration was not read again", metadata: ["reason": "\(text)"])
            }
        }
        if !needsRestart.isEmpty {
            self.logger.warning(
                "Some settings take effect only when the host starts again",
                metadata: ["settings": "\(needsRestart.map(\.rawValue).joined(separator: ", "))"]
            )
        }
        self.registry.reload()
        problems += self.registry.problems.map(\.description)
        let applications = await self.registry.applications().count
        let port = (try? await self.host.port) ?? self.settings.port
        try? self.output.json(
            HostOutput(
                event: "reloaded",
                port: port,
                applications: applications,
                problems: problems,
                needsRestart: needsRestart.map(\.rawValue)
            )
        )
        try? self.output.line(
            "reloaded: \(applications) installed application\(applications == 1 ? "" : "s"), "
                + "\(problems.count) problem\(problems.count == 1 ? "" : "s")"
        )
        self.notifier.send(.ready, await self.supervision.status(port: port))
    }
}
