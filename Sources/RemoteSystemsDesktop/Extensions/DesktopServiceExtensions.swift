// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

package import UserNotifications

/// The service extensions that the manifests of applications name.
package struct DesktopServiceExtensions: ServiceExtensionPrograms {
    private let starter: ExtensionStarter

    package init(_ starter: ExtensionStarter) { self.starter = starter }

    package func hasExtension(_ application: String) -> Bool {
        self.starter.registry.serviceExtension(of: application) != nil
    }

    package func start(_ application: String) async throws(NotificationError) -> (any ExtensionProgram)? {
        guard let arguments = self.starter.registry.serviceExtension(of: application) else { return nil }
        return try await self.starter.start(arguments, of: application, .service)
    }

    package func stop() async { await self.starter.stop() }
}
