// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserNotifications

/// The command `remotesystems notifications permit`.
struct NotificationsPermitCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "permit",
        abstract: "Show and change whose notifications are shown on this system.",
        usage: "remotesystems notifications permit [<permission>] [<options>]",
        discussion: """
            Without arguments it lists what is not allowed or has a limit, and how many notifications of each sender \
            were not accepted since the host daemon started. 'silent' shows notifications without a sound. 'denied' \
            refuses them, and their sender learns it. '--per-hour' refuses those beyond a number.

              remotesystems notifications permit denied --application com.example.build
              remotesystems notifications permit allowed --per-hour 5

            Without --system and --application the permission concerns everything. 'allowed' removes a permission \
            with the same options; others stay, and the strictest one counts.

            The id of a system proves it, the id of an application is only claimed. The id of a linked account stands \
            for all its systems. The strictest permission counts.

            'remotesystems notifications list --json' prints the ids of applications. All scripts of a system that \
            use 'remotesystems notify' without '--sender-id' are one application, 'remote-systems.command.notify'.
            """
    )

    /// A permission as an argument.
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case allowed, silent, denied

        var permission: NotificationPermission? { NotificationPermission(rawValue: self.rawValue) }
    }

    @Argument(help: "The permission.")
    var permission: Choice?

    @Option(
        name: .customLong("per-hour"),
        parsing: .unconditional,
        help: ArgumentHelp(
            "The maximum number of notifications an hour. Defaults to any. Range: 1 to 1000.",
            valueName: "number"
        )
    )
    var perHour: Int?

    @Option(
        help: ArgumentHelp(
            "The name of a system of the account, or at least the first four characters of its id or of the id of a "
                + "linked account.",
            valueName: "system"
        )
    )
    var system: String?

    @Option(help: ArgumentHelp("The id of an application, not the name that is shown.", valueName: "id"))
    var application: String?

    @OptionGroup var options: LocalNotificationsOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard self.permission != nil || (self.system == nil && self.application == nil && self.perHour == nil) else {
            throw ValidationError("Give a permission, or no option of it to list all.")
        }
        guard (1...1000).contains(self.perHour ?? 1) else { throw ValidationError("--per-hour takes 1 to 1000.") }
        guard self.perHour == nil || self.permission != .denied else {
            throw ValidationError("--per-hour is used with allowed or silent.")
        }
        guard self.system?.isEmpty != true, self.application?.isEmpty != true else {
            throw ValidationError("An id is empty. Omit --system or --application to concern all.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let subjects = try PermissionSubjects(RemoteSystemsAccount(self.options.configuration(self.common)))
        // Otherwise a rule is removed, perhaps one of a system that is not known any more.
        let isRule = self.permission != .allowed || self.perHour != nil
        let system = try self.system.map { try subjects.id($0, mustBeKnown: isRule) }
        let (list, refused) = try await self.options.withNotifications(self.common) { notifications in
            if let permission = self.permission?.permission {
                try await notifications.permit(
                    permission,
                    perHour: self.perHour,
                    system: system,
                    application: self.application
                )
            }
            if let application = self.application, isRule {
                try await Self.noteUnknown(application, notifications, output)
            }
            return (try await notifications.permissions(), try await notifications.refused())
        }
        // It is kept nevertheless: the system may join, or the person may be linked, later.
        if let system, isRule, !subjects.contains(system) {
            output.note("No system of the account and no linked account has this id now.")
        }
        if list.isEmpty { output.note("Everything is allowed.") }
        for (system, application, permission, perHour) in list {
            try output.json(
                PermissionOutput(
                    systemID: system,
                    system: system.flatMap { subjects.name(of: $0) },
                    application: application,
                    permission: permission.rawValue,
                    perHour: perHour
                )
            )
            let subject = [
                application ?? "all applications", system.map { "of \(subjects.description(of: $0))" },
            ].compactMap(\.self)
            let limit = perHour.map { ", \($0) an hour" } ?? ""
            try output.line("\(permission.rawValue)\(limit)  \(subject.joined(separator: " "))".printable)
        }
        for sender in refused { try Self.report(sender, subjects, output) }
        return true
    }

    private static func report(
        _ sender: RefusedNotifications,
        _ subjects: PermissionSubjects,
        _ output: Output
    ) throws {
        try output.json(
            RefusedOutput(
                systemID: sender.systemID,
                application: sender.application,
                denied: sender.denied,
                limited: sender.limited,
                tooFast: sender.tooFast
            )
        )
        let counts = [
            ("denied", sender.denied), ("beyond the limit", sender.limited), ("sent too fast", sender.tooFast),
        ]
        let reasons = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
        let system = subjects.description(of: sender.systemID)
        try output.line("not accepted: \(reasons)  \(sender.application) of \(system)".printable)
    }

    /// The number of ended notifications in which an application is looked for.
    private static let lookedAt = 1000

    /// States that an application has sent nothing, and which ones show its text as their name.
    private static func noteUnknown(
        _ application: String,
        _ notifications: LocalNotifications,
        _ output: Output
    ) async throws {
        let ended = try await notifications.history(limit: Self.lookedAt).map(\.notification)
        let known = try await notifications.list() + ended
        let name = application.lowercased()
        guard !known.contains(where: { $0.application.lowercased() == name }) else { return }
        let senders = known.filter { $0.notification.applicationName?.lowercased() == name }.map(\.application)
        let hint =
            senders.isEmpty
            ? "'remotesystems notifications list --json' prints the ids of applications."
            : "This is the name that is shown for \(NameList.text(Set(senders).sorted())). Use the id."
        output.note("No notification of the application '\(application)' is known here. \(hint)".printable)
    }
}

private struct PermissionOutput: Encodable {
    let event = "permission"
    let time = Date.now
    var systemID: String?
    var system: String?
    var application: String?
    var permission: String
    var perHour: Int?
}

private struct RefusedOutput: Encodable {
    let event = "refused"
    let time = Date.now
    var systemID: String
    var application: String
    var denied: Int
    var limited: Int
    var tooFast: Int
}
