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

            'remotesystems account systems --json' prints whole ids.

            The id of a system proves it, the id of an application is only claimed. The id of a linked account stands \
            for all its systems. The strictest permission counts.
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

    @Option(help: ArgumentHelp("The whole id of a system or of a linked account.", valueName: "id"))
    var system: String?

    @Option(help: ArgumentHelp("The id of an application.", valueName: "id"))
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
        // A part of an id would match no sender. What is stored already can be removed.
        if let system, self.permission != .allowed, SystemID(system) == nil, AccountID(system) == nil {
            throw ValidationError(
                "--system takes the whole id of a system or of a linked account, not a part or a name."
            )
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let (list, refused) = try await self.options.withNotifications(self.common) { notifications in
            if let permission = self.permission?.permission {
                try await notifications.permit(
                    permission,
                    perHour: self.perHour,
                    system: self.system,
                    application: self.application
                )
            }
            return (try await notifications.permissions(), try await notifications.refused())
        }
        try self.noteUnknownSystem(output)
        if list.isEmpty { output.note("Everything is allowed.") }
        for (system, application, permission, perHour) in list {
            try output.json(
                PermissionOutput(
                    systemID: system,
                    application: application,
                    permission: permission.rawValue,
                    perHour: perHour
                )
            )
            let subject = [application ?? "all applications", system.map { "of \($0)" }].compactMap(\.self)
            let limit = perHour.map { ", \($0) an hour" } ?? ""
            try output.line("\(permission.rawValue)\(limit)  \(subject.joined(separator: " "))".printable)
        }
        for sender in refused { try Self.report(sender, output) }
        return true
    }

    private static func report(_ sender: RefusedNotifications, _ output: Output) throws {
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
        try output.line("not accepted: \(reasons)  \(sender.application) of \(sender.systemID)".printable)
    }

    /// The permission is kept nevertheless: the system may join, or the person may be linked, later.
    private func noteUnknownSystem(_ output: Output) throws {
        guard let system, self.permission != .allowed else { return }
        let (systemID, accountID) = (SystemID(system), AccountID(system))
        let account = RemoteSystemsAccount(self.options.configuration(self.common))
        let isKnown =
            try account.systems().contains { $0.id == systemID } || account.links().contains { $0.account == accountID }
        if !isKnown { output.note("No system of the account and no linked account has this id now.") }
    }
}

private struct PermissionOutput: Encodable {
    let event = "permission"
    let time = Date.now
    var systemID: String?
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
