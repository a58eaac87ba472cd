// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications pending`.
struct NotificationsPendingCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "pending",
        abstract: "List the scheduled notifications of this or another system, the next first.",
        usage: "remotesystems notifications pending [<system>] [<options>]",
        discussion: """
            Prints the date or the place, the id and the texts of each, and its attachments. The id of one that \
            another system has scheduled is for 'notifications cancel' on that system.

            Exit status: 1 if there is none.
            """
    )

    @Argument(
        help: "Another system of the account: \(SystemFinder.help). Defaults to this system.",
        completion: NetworkCompletion.systems
    )
    var system: String?

    @OptionGroup var names: NameOptions
    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        try self.options.network.validate(system: self.system)
        try self.names.validate(system: self.system)
    }

    /// Connects to the host daemon of the system.
    private func open() async throws -> LocalNotifications {
        guard let system else { return try await self.options.open(self.common) }
        let finder = SystemFinder(
            system,
            wait: self.options.searchTime.duration,
            self.options.configuration(self.common),
            acceptsName: self.names.acceptsName,
            program: .hostDaemon
        )
        let found = try await finder.find(offering: RemoteNotificationConnection.service)
        let notifications = LocalNotifications()
        try await notifications.open(RemoteSystemConnectionRequest(system: found))
        return notifications
    }

    func perform(_ output: Output) async throws -> Bool {
        let list = try await interruptible {
            let notifications = try await self.open()
            let list = try await notifications.pending()
            await notifications.close()
            return list
        }
        guard !list.isEmpty else {
            output.note("No notification is scheduled.")
            return false
        }
        for scheduled in list {
            let (request, content) = (scheduled.notification.request, scheduled.notification.request.content)
            try output.json(
                ScheduledOutput(
                    event: "pending",
                    id: request.identifier,
                    date: scheduled.dateOfDelivery,
                    application: scheduled.application,
                    sender: scheduled.notification.applicationName,
                    title: content.title,
                    subtitle: content.subtitle,
                    body: content.body,
                    repeats: request.trigger?.repeats ?? false,
                    region: request.trigger?.region.map { RegionOutput($0) },
                    attachments: content.attachments.map { AttachmentOutput($0) }
                )
            )
            let texts = [content.title, content.subtitle, content.body].filter { !$0.isEmpty }.joined(separator: " – ")
            let source = [scheduled.notification.applicationName, scheduled.application].compactMap(\.self)
            let marks = source + (request.trigger?.repeats == true ? ["repeats"] : [])
            let place = request.trigger?.region?.text ?? "at a place"
            let time = scheduled.dateOfDelivery.map { LocalTime.text($0) } ?? place
            let line = "\(time)  \(request.identifier)  \(texts)"
            try output.line("\(line)  (\(marks.joined(separator: ", ")))".printable)
            for line in content.attachmentLines { try output.line(line.printable) }
        }
        return true
    }
}

extension NotificationRegion {
    /// What it waits for, such as `on leaving 52.52,13.405 (100 m)`.
    fileprivate var text: String {
        let crossings = [self.notifiesOnEntry ? "entering" : nil, self.notifiesOnExit ? "leaving" : nil]
        let radius = Int(exactly: self.radius.rounded()).map { "\($0)" } ?? "\(self.radius)"
        return "on \(crossings.compactMap(\.self).joined(separator: " or ")) \(self.latitude),\(self.longitude) "
            + "(\(radius) m)"
    }
}
