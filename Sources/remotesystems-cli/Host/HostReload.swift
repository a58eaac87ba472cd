// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UnixSignals

/// Reads configuration and manifests again when SIGHUP comes. Connections go on; what cannot be changed while the host runs is
/// told, and so is a configuration that is not understood, instead of which the old one stays in force.
actor HostReload: Service {
    private let host: RemoteSystemHost
    private let registry: ApplicationRegistry
    private let notifier: ServiceNotifier
    private let supervision: HostSupervision
    private let options: HostOptions
    private var settings: HostSettings
    private let logger: Logger
    private let output: Output

    init(
        host: RemoteSystemHost,
        registry: ApplicationRegistry,
        notifier: ServiceNotifier,
        supervision: HostSupervision,
        options: HostOptions,
        settings: HostSettings,
        logger: Logger,
        output: Output
    ) {
        self.host = host
        self.registry = registry
        self.notifier = notifier
        self.supervision = supervision
        self.options = options
        self.settings = settings
        self.logger = logger
        self.output = output
    }

    func run() async throws {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            await self.reload()
        }
    }

    private func reload() async {
        self.notifier.send(.reloading(monotonic: ServiceNotifier.monotonicMicroseconds()))
        var problems: [String] = []
        var needsRestart: [HostSetting] = []
        do {
            let new = try await self.options.settings()
            needsRestart = self.settings.needsRestart(to: new)
            await self.host.update(systemDisplayName: new.displayName)
            await self.host.update(startTimeout: new.startTimeout)
            self.settings.displayName = new.displayName
            self.settings.startTimeout = new.startTimeout
        } catch {
            let text = (error as? Failure)?.message ?? "\(error)"
            problems.append(text)
            self.logger.error("The configuration was not read again", metadata: ["reason": "\(text)"])
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
        try? self.output.json(
            HostOutput(
                event: "reloaded",
                applications: applications,
                problems: problems,
                needsRestart: needsRestart.map(\.rawValue)
            )
        )
        try? self.output.line("reloaded: \(applications) installed applications, \(problems.count) problems")
        let port = (try? await self.host.port) ?? self.settings.port
        self.notifier.send(.ready, await self.supervision.status(port: port))
    }
}
