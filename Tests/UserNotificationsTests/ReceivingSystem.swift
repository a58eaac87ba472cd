// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import RemoteSystems
import RemoteSystemsTesting

@testable import UserNotifications

/// A staged system that receives notifications.
struct ReceivingSystem {
    let stage: DiscoveryStage
    let host: StagedSystem
    let screen: StagedNotificationPresenter
    let receiver: NotificationReceiver

    var request: RemoteSystemConnectionRequest {
        get async throws {
            RemoteSystemConnectionRequest(
                host: self.host.address,
                port: try await self.host.port(),
                systemID: self.host.id,
                configuration: self.stage.configuration
            )
        }
    }

    func connect() async throws -> RemoteNotificationConnection {
        let connection = RemoteNotificationConnection(try await self.request, systemName: "Laptop")
        try await connection.open()
        return connection
    }

    static func question(_ id: String = "q", expires: Int? = nil) -> RemoteNotification {
        var notification = RemoteNotification(
            NotificationRequest(
                identifier: id,
                content: NotificationContent(title: "Deploy?", body: "<b>1284</b>", categoryIdentifier: "c")
            ),
            category: NotificationCategory(
                identifier: "c",
                actions: [
                    NotificationAction(identifier: "yes", title: "Deploy"),
                    NotificationAction(TextInputNotificationAction(identifier: "comment", title: "Comment")),
                ],
                options: .customDismissAction
            )
        )
        notification.applicationName = "Build server"
        notification.expiration = expires.map { .seconds($0) }
        return notification
    }

    /// - Parameters:
    ///   - store: keeps everything else. Defaults to `nil`: nothing is kept.
    ///   - attachments: keeps the files of attachments. Defaults to `nil`: they are left out.
    ///   - scaler: makes small images. Defaults to `nil`.
    static func with(
        presents: Bool = true,
        store: (any NotificationStore)? = nil,
        attachments: AttachmentDirectory? = nil,
        scaler: (any ImageScaler)? = nil,
        _ body: (ReceivingSystem) async throws -> Void
    ) async throws {
        try await DiscoveryStage.with { stage in
            let screen = StagedNotificationPresenter()
            let receiver = NotificationReceiver(
                stage.configuration,
                presenter: presents ? screen : nil,
                store: store,
                attachmentDirectory: attachments,
                imageScaler: scaler
            ) { _ in "Server" }
            let host = try stage.system("Laptop", services: [receiver.service])
            try await stage.appears(host)
            let running = Task(executorPreference: stage.taskExecutor) { try await receiver.run() }
            defer { running.cancel() }
            try await body(ReceivingSystem(stage: stage, host: host, screen: screen, receiver: receiver))
        }
    }
}
