// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import RemoteSystems
internal import UserNotifications

extension StagedApplication {
    /// The host daemon of a staged system with a desktop: it receives notifications, shows them, and sends back what
    /// the staged user responds.
    ///
    /// ```swift
    /// let desktop = StagedNotificationPresenter()
    /// let laptop = try stage.system("Laptop", applications: [.hostDaemon(showingNotificationsOn: desktop)])
    /// ```
    ///
    /// What the user answers or dismisses on one system disappears from the others, as between real daemons. When the
    /// system vanishes, its desktop becomes empty. When it appears again, it shows what the user has not answered
    /// meanwhile, without a sound. Extensions, views, files of attachments and locations are not staged.
    ///
    /// - Parameter desktop: The desktop of the system, which no other daemon or centre uses.
    public static func hostDaemon(showingNotificationsOn desktop: StagedNotificationPresenter) -> StagedApplication {
        var application = StagedApplication(RemoteSystemHost.machineApplicationID)
        application.daemon = StagedHostDaemon(desktop)
        return application
    }
}

/// The notifications of a staged system. They survive the daemon.
struct StagedHostDaemon: Sendable {
    private let desktop: StagedNotificationPresenter
    private let store = MemoryNotificationStore()

    init(_ desktop: StagedNotificationPresenter) { self.desktop = desktop }

    /// Creates what the host of one daemon offers, and what runs as long as the daemon does.
    func start(
        _ configuration: RemoteSystemsConfiguration
    ) -> (feature: HostFeature, run: @Sendable () async throws -> Void) {
        self.desktop.restart()
        let receiver = NotificationReceiver(configuration, presenter: self.desktop, store: self.store) { _ in nil }
        return (
            receiver.feature,
            { [store] in
                await receiver.restore(try await store.load())
                try await receiver.run()
            }
        )
    }
}
