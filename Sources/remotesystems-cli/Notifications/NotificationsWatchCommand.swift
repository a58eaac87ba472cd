// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications watch`.
struct NotificationsWatchCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show the notifications of this system, and every change.",
        usage: "remotesystems notifications watch [<options>]",
        discussion: """
            Prints each notification that is delivered (+), read (=), or snoozed or gone (-, and the word that says \
            how), until Ctrl-C. When the host daemon is restarted, it connects again. With --terminals, it also \
            writes each new one to the other terminals on which this user is logged in, and the command that answers \
            it.
            """
    )

    @Flag(help: "Also write each new notification to this user's other terminals that accept messages (see mesg(1)).")
    var terminals = false

    @OptionGroup var selection: NotificationSelection
    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        _ = try await untilInterrupted {
            var notifications = try await self.options.open(self.common)
            var list = try await notifications.watch()
            // The dates of those that were reported: one that replaces another has its key.
            var reported: [String: Date] = [:]
            var isFirst = true
            while true {
                for notification in list where !Self.isReported(notification, reported) {
                    try self.report("delivered", notification, isFirst: isFirst, output)
                    reported[notification.key] = notification.date
                }
                isFirst = false
                for await change in notifications.changes {
                    try self.report(change.event, change.notification, isFirst: false, output)
                    let waits = ["delivered", "read", "snoozed"].contains(change.event)
                    reported[change.notification.key] = waits ? change.notification.date : nil
                }
                guard !Task.isCancelled else { return }
                output.note("The host daemon has ended. The command waits until it is back.")
                (notifications, list) = try await self.reopen()
                let gone = Set(reported.keys).subtracting(list.map(\.key))
                if !gone.isEmpty { try await self.reportEnds(of: gone, notifications, output) }
                for key in gone { reported[key] = nil }
            }
        }
        return true
    }

    /// - Parameter isFirst: whether it was there when the command has started.
    private func report(_ event: String, _ notification: ListedNotification, isFirst: Bool, _ output: Output) throws {
        guard self.selection.includes(notification) else { return }
        let sign =
            switch event {
            case "delivered": output.style(.green, "+")
            case "read": "="
            // How it has ended, or that it is hidden.
            default: output.style(.red, "-") + " \(event.printable)"
            }
        try notification.report(event, isFirst ? "\(sign) " : "\(LocalTime.now) \(sign) ", output)
        guard self.terminals, event == "delivered", !isFirst else { return }
        let answer = "Answer: remotesystems notifications answer \(notification.key) ACTION"
        _ = UserTerminals.write(notification.lines + [answer])
    }

    /// Whether a notification was reported, and was not replaced since. The store rounds dates.
    private static func isReported(_ notification: ListedNotification, _ reported: [String: Date]) -> Bool {
        reported[notification.key].map { abs($0.timeIntervalSince(notification.date)) < 1 } ?? false
    }

    /// Reports how notifications have ended while there was no connection.
    private func reportEnds(of keys: Set<String>, _ notifications: LocalNotifications, _ output: Output) async throws {
        // If the connection is lost again, it is opened again.
        let history = (try? await notifications.history(limit: 512)) ?? []
        for ended in history.reversed() where keys.contains(ended.notification.key) {
            try self.report(ended.event, ended.notification, isFirst: false, output)
        }
    }

    /// Connects again, at intervals of 500 ms at first and up to 10 s, until the host daemon responds.
    private func reopen() async throws -> (LocalNotifications, [ListedNotification]) {
        var pause = Duration.milliseconds(500)
        while true {
            // Without a daemon nothing can report that one has started. The user ends the wait with Ctrl-C.
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(10))
            do {
                let notifications = try await self.options.open(self.common)
                return (notifications, try await notifications.watch())
            } catch let error as NotificationError {
                // It is back, and refuses.
                throw error
            } catch {
                try Task.checkCancellation()
            }
        }
    }
}
