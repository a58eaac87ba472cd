// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UnixSignals

/// Says that the host is ready, and from then on reads configuration and manifests again when SIGHUP comes. Connections go on; what cannot be changed while the host runs is
/// told, and so is a configuration that is not understood, instead of which the old one stays in force.
actor HostReload: Service {
    private let host: RemoteSystemHost
    private let ready: HostReady
    private let registry: ApplicationRegistry
    private let notifier: ServiceNotifier
    private let supervision: HostSupervision
    private let hangups: UnixSignalsSequence
    private let options: HostOptions
    /// In force, as far as it takes a restart to change them; and the port.
    private var settings: HostSettings
    /// `nil` when the command line says what is logged.
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
        guard let port = try? await self.host.port else {
            // The host has ended, and says why.
            try? await gracefulShutdown()
            return
        }
        // A SIGHUP that came before is answered after this: what ends a reload is readiness to the service manager, too.
        self.notifier.send(.ready, await self.supervision.status(port: port))
        try self.ready.report(port: port)
        for await _ in self.hangups.cancelOnGracefulShutdown() {
            await self.reload()
        }
    }

    /// Takes on what can change while the host runs. The rest of the settings stays what it was, so that it is told again.
    ///
    /// - Returns: what could not be taken on, and why.
    private func apply(_ new: HostSettings) async -> String? {
        var new = new
        // What handlers get is the state that is in use.
        new.stateDirectory = self.settings.stateDirectory
        self.logLevel?.value = new.logLevel
        await self.host.update(systemDisplayName: new.displayName)
        await self.host.update(startTimeout: new.startTimeout)
        self.host.update(isDiscoverable: new.advertise)
        // Also when nothing was changed: what is installed may have, and with it the schemes that others are told.
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
