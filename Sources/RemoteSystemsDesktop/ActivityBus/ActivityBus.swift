// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystems
internal import ServiceLifecycle

/// Offers hand-off to programs in any language on the session bus, while there is one (`Docs/dbus-activities.md`).
package struct ActivityBus: Service {
    private let configuration: RemoteSystemsConfiguration
    private let registry: ApplicationRegistry
    private let webpages: WebpageResolver?
    private let presenter: SessionPresenter?

    /// - Parameters:
    ///   - configuration: that of the host daemon.
    ///   - registry: vouches for the programs on the bus.
    ///   - webpages: finds the applications that show web pages. Defaults to `nil`: only the browser does.
    ///   - presenter: shows continuations that take long. Defaults to `nil`: they are not shown.
    package init(
        _ configuration: RemoteSystemsConfiguration,
        _ registry: ApplicationRegistry,
        webpages: WebpageResolver? = nil,
        presenter: SessionPresenter? = nil
    ) {
        self.configuration = configuration
        self.registry = registry
        self.webpages = webpages
        self.presenter = presenter
    }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        try await BusLoop.keepServing("Hand-off is not on the session bus", self.configuration.logger) {
            await BusObjectServer.serve(ActivityBusInterface.interface) { server in
                ActivityBusPrograms(self.configuration, self.registry, server, self.webpages, self.presenter)
            }
        }
    }
}
