// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Logging
package import RemoteSystems
internal import ServiceLifecycle

/// Lets programs in any language notify the user over the session bus, while there is one
/// (`Docs/dbus-notifications.md`).
package struct NotificationBus: Service {
    private let configuration: RemoteSystemsConfiguration

    /// - Parameter configuration: that of the host daemon, which keeps the notifications.
    package init(_ configuration: RemoteSystemsConfiguration) { self.configuration = configuration }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        try await BusLoop.keepServing("Notifications are not on the session bus", self.configuration.logger) {
            await BusObjectServer.serve(NotificationBusInterface.interface) { server in
                NotificationBusPrograms(self.configuration, server)
            }
        }
    }
}
