// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserNotifications
import UserNotificationsStore

/// The findings of `doctor` about notifications.
struct NotificationFinding {
    let server: NotificationServerReport
    /// The paths of stores that were unreadable and were renamed.
    let unreadable: [String]
    let hasDaemon: Bool
    /// What the user has denied; `nil` if the host daemon does not receive notifications.
    let denied: [Denied]?

    /// The system and the application whose notifications are denied; `nil` stands for all.
    typealias Denied = (system: String?, application: String?)

    init(_ configuration: RemoteSystemsConfiguration) async {
        let directory = try? RemoteSystemsAccount(configuration).directory
        self.server = await NotificationServerReport.ask()
        self.unreadable = directory.map { NotificationDatabase.unreadable(in: $0) } ?? []
        self.hasDaemon = RemoteSystemsDiagnosis.isHostDaemonRunning(configuration)
        self.denied = await Self.denied(configuration)
    }

    /// Asks the host daemon. Empty if there is none.
    private static func denied(_ configuration: RemoteSystemsConfiguration) async -> [Denied]? {
        guard RemoteSystemsDiagnosis.isHostDaemonRunning(configuration) else { return [] }
        guard let notifications = try? await LocalNotifications.open(configuration, within: .seconds(5)) else {
            return nil
        }
        let permissions = try? await notifications.permissions()
        await notifications.close()
        return (permissions ?? []).filter { $0.2 == .denied }.map { (system: $0.system, application: $0.application) }
    }

    private static let why =
        "The host daemon shows notifications with the session's notification server, and keeps "
        + "those that wait in a store."

    var findings: [DiagnosisFinding] {
        let replaced = self.unreadable.last.map(Self.replacedStore)
        guard self.hasDaemon, !self.areAllDenied else {
            return [self.daemonProblem, replaced].compactMap(\.self)
        }
        return [self.daemonProblem, self.serverFinding, replaced].compactMap(\.self)
    }

    private var areAllDenied: Bool {
        self.denied?.contains { $0.system == nil && $0.application == nil } ?? false
    }

    private static func replacedStore(_ path: String) -> DiagnosisFinding {
        DiagnosisFinding(
            .notifications,
            .warning,
            "The store of notifications was unreadable and was replaced by an empty one. What was scheduled in it is "
                + "not shown. It was renamed to \(path).",
            why: Self.why,
            advice: "Schedule again what is needed, and delete the file: rm '\(path)'*."
        )
    }

    /// Why the host daemon does not show notifications; `nil` if it does.
    private var daemonProblem: DiagnosisFinding? {
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
        guard self.denied != nil else {
            return DiagnosisFinding(
                .notifications,
                .warning,
                "The host daemon of this system does not receive notifications, or has not responded within 5 s.",
                why: Self.why,
                advice: "If its setting 'notifications' is off, switch it on and restart the daemon."
            )
        }
        guard self.areAllDenied else { return nil }
        return DiagnosisFinding(
            .notifications,
            .warning,
            "All notifications are denied on this system. They are refused, and their senders learn it.",
            why: Self.why,
            advice: "Permit them with 'remotesystems notifications permit allowed'."
        )
    }

    private var serverFinding: DiagnosisFinding {
        switch self.server {
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
        case .running(let server, let capabilities, .off):
            self.running(server, capabilities)
        case .running(let server, _, .inhibited):
            Self.inhibited(server.name)
        case .running(_, _, .paused):
            Self.paused
        }
    }

    private static func inhibited(_ name: String) -> DiagnosisFinding {
        DiagnosisFinding(
            .notifications,
            .warning,
            "\(Self.printable(name)) does not disturb the user now. It shows notifications later, or only in its list.",
            why: Self.why,
            advice:
                "Switch off 'do not disturb' on the desktop, or list notifications with 'remotesystems notifications "
                + "list'."
        )
    }

    private static var paused: DiagnosisFinding {
        DiagnosisFinding(
            .notifications,
            .warning,
            "dunst does not disturb the user now, because it is paused. It keeps notifications, and shows them when it "
                + "is resumed.",
            why: Self.why,
            advice:
                "Resume it with 'dunstctl set-paused false', or list notifications with 'remotesystems notifications "
                + "list'."
        )
    }

    private func running(_ server: NotificationServerReport.Server, _ capabilities: Set<String>) -> DiagnosisFinding {
        let text = Self.description(server, capabilities) + self.descriptionOfDenied
        return DiagnosisFinding(.notifications, .ok, text, why: Self.why)
    }

    /// A sentence about the senders that are denied; empty if there are none.
    private var descriptionOfDenied: String {
        switch self.denied?.count ?? 0 {
        case 0: ""
        case 1: " One sender is denied: 'remotesystems notifications permit' lists it."
        case let count: " \(count) senders are denied: 'remotesystems notifications permit' lists them."
        }
    }

    private static func printable(_ name: String) -> String {
        name.isEmpty ? "A server without a name" : name.printable
    }

    private static func description(
        _ server: NotificationServerReport.Server,
        _ capabilities: Set<String>
    ) -> String {
        let missing = [
            ("actions", "buttons"), ("inline-reply", "text fields"),
            ("persistence", "list of what was shown"),
        ].filter { !capabilities.contains($0.0) }.map(\.1)
        var words = [Self.printable(server.name)]
        if !server.version.isEmpty { words.append(server.version.printable) }
        if !server.specification.isEmpty { words.append("(specification \(server.specification.printable))") }
        let text = "\(words.joined(separator: " ")) shows notifications"
        return missing.isEmpty ? "\(text)." : "\(text). It has no \(missing.joined(separator: ", no "))."
    }
}
