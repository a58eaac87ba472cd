// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Logging
package import RemoteSystems
internal import ServiceLifecycle
package import UserNotifications

/// Shows ordinary notifications of this desktop on the user's other systems. What is dismissed on one of them is gone
/// from all.
///
/// The programs know nothing of it: a monitor on the session bus sees what they show.
package actor NotificationMirror: Service {
    private let receiver: NotificationReceiver
    private let systemID: SystemID
    private let rules: MirrorRules
    private let logger: Logger
    private var table: MirrorTable

    /// The time in which the server closes a notification.
    private static let closeTime = Duration.seconds(5)

    package init(_ rules: MirrorRules, receiver: NotificationReceiver, system: SystemID, logger: Logger) {
        (self.rules, self.receiver, self.systemID, self.logger) = (rules, receiver, system, logger)
        self.table = MirrorTable(rules)
    }

    /// Serves until cancelled, or until a graceful shutdown. Does nothing where no session bus is known.
    package func run() async throws {
        let ends = await self.receiver.beginMirroring(as: self.systemID)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await BusLoop.keepServing("The desktop's notifications are not mirrored", self.logger) {
                    await self.serve()
                }
            }
            group.addTask { for await delivery in ends { await self.endedElsewhere(delivery) } }
            try await group.next()
            group.cancelAll()
        }
    }

    private func serve() async -> Result<Void, MessageBus.Failure> {
        let monitor = DesktopMonitor()
        let result = await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await message in monitor.messages { await self.received(message, monitor) } }
                return await BlockingCalls.run { Result { () throws(MessageBus.Failure) in try monitor.run() } }
            }
        } onCancel: {
            monitor.stop()
        }
        await self.received(.serverEnded)
        return result
    }

    private func received(_ message: MirrorTable.Message, _ monitor: DesktopMonitor) async {
        await self.received(message)
        guard monitor.takeLoss() else { return }
        self.logger.notice("Too much came at once on the session bus: what was mirrored before ends")
        await self.received(.serverEnded)
    }

    private func received(_ message: MirrorTable.Message) async {
        for action in self.table.received(message) {
            switch action {
            case .send(let call, let identifier, let delivery): await self.send(call, identifier, delivery)
            case .end(let identifier, let isDismissed):
                await self.receiver.endMirrored(Self.name(of: identifier), isDismissed: isDismissed)
            case .refused(let refusal):
                // Without the text, and without the name: the log is read by others than the user.
                self.logger.debug("A notification of the desktop is not mirrored", metadata: ["reason": "\(refusal)"])
            }
        }
    }

    private static func name(of identifier: UUID) -> String { "desktop-\(identifier.uuidString.lowercased())" }

    private func send(_ call: DesktopCall, _ identifier: UUID, _ delivery: UUID) async {
        let request = NotificationRequest(
            identifier: Self.name(of: identifier),
            content: self.rules.content(of: call)
        )
        var notification = RemoteNotification(request)
        notification.deliveryID = delivery
        notification.applicationName = call.applicationName
        await self.receiver.mirror(notification, of: call.application)
    }

    /// The user has dismissed it on another system.
    private func endedElsewhere(_ delivery: UUID) async {
        guard let (server, id) = self.table.endedElsewhere(delivery) else { return }
        let call = MessageBus.Call(
            // Not a later server, which may have given the number to another notification.
            destination: server,
            path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications",
            method: "CloseNotification",
            arguments: [.uint32(id)]
        )
        let result = await BlockingCalls.run(atMost: Self.closeTime) { cancellable in
            Result { () throws(MessageBus.Failure) in try MessageBus.session.perform(call, cancellable) }
        }
        // A server may say that it does not show it any more.
        guard case .failure(let failure) = result else { return }
        self.logger.debug(
            "A notification that was dismissed on another system was not closed",
            metadata: ["reason": "\(failure.message)"]
        )
    }
}
