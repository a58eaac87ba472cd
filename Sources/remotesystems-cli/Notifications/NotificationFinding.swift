// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserNotificationsStore

/// The finding of `doctor` about notifications.
struct NotificationFinding {
    let server: NotificationServerReport
    /// The paths of stores that were unreadable and were renamed.
    let unreadable: [String]
    let hasDaemon: Bool

    init(server: NotificationServerReport, unreadable: [String], hasDaemon: Bool) {
        self.server = server
        self.hasDaemon = hasDaemon
        self.unreadable = unreadable
    }

    init(_ configuration: RemoteSystemsConfiguration) async {
        let directory = try? RemoteSystemsAccount(configuration).directory
        self.init(
            server: await NotificationServerReport.ask(),
            unreadable: directory.map { NotificationDatabase.unreadable(in: $0) } ?? [],
            hasDaemon: RemoteSystemsDiagnosis.isHostDaemonRunning(configuration)
        )
    }

    private static let why =
        "The host daemon shows notifications with the session's notification server, and keeps "
        + "those that wait in a store."

    var finding: DiagnosisFinding {
        if let path = self.unreadable.last {
            return DiagnosisFinding(
                .notifications,
                .warning,
                "The store of notifications was unreadable and was replaced by an empty one. What was scheduled in it "
                    + "is not shown. It was renamed to \(path).",
                why: Self.why,
                advice: "Schedule again what is needed, and delete the file: rm '\(path)'*."
            )
        }
        guard self.hasDaemon else {
            return DiagnosisFinding(
                .notifications,
                .warning,
                "No host daemon runs on this system. It receives no notifications and shows none that are scheduled.",
                why: Self.why,
                advice: "Start it with 'remotesystems host run', or install it as a service with 'remotesystems host "
                    + "install'."
            )
        }
        return switch self.server {
        case .noSession:
            DiagnosisFinding(
                .notifications,
                .ok,
                "There is no desktop session. Notifications wait for 'remotesystems notifications list'.",
                why: Self.why
            )
        case .notRunning:
            DiagnosisFinding(
                .notifications,
                .warning,
                "No notification server runs in this session. If the bus starts none, notifications are kept and not "
                    + "shown.",
                why: Self.why,
                advice: "Install a notification server, such as dunst, or list notifications with 'remotesystems "
                    + "notifications list'."
            )
        case .unresponsive:
            DiagnosisFinding(
                .notifications,
                .problem,
                "The notification server of this session does not respond.",
                why: Self.why,
                advice: "Restart the notification server, or log out and in again."
            )
        case .running(let name, let capabilities):
            DiagnosisFinding(.notifications, .ok, Self.description(name, capabilities), why: Self.why)
        }
    }

    private static func description(_ name: String, _ capabilities: Set<String>) -> String {
        let missing = [
            ("actions", "buttons"), ("inline-reply", "text fields"),
            ("persistence", "list of what was shown"),
        ].filter { !capabilities.contains($0.0) }.map(\.1)
        let text = "\(name.isEmpty ? "A server without a name" : name.printable) shows notifications"
        return missing.isEmpty ? "\(text)." : "\(text). It has no \(missing.joined(separator: ", no "))."
    }
}
