// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The command `remotesystems activities players`.
struct ActivitiesPlayersCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "players",
        abstract: "List the media players of this desktop, and whether they can be handed over.",
        usage: "remotesystems activities players [<options>]",
        discussion: """
            The host daemon hands over what media players with an MPRIS interface play, if its setting 'mediaPlayers' \
            is on. This command asks the same players and states the reason for each that cannot be handed over.

            Exit status: 1 if none can be.
            """
    )

    @OptionGroup var file: HostFileOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let settings = try await self.file.settings()
        guard let reports = await MediaPlayerReport.all(documents: settings.documents()) else {
            throw Failure(
                "\(RemoteSystemError.Code.unreachable)",
                "No session bus responds. Run this command in a desktop session, or set DBUS_SESSION_BUS_ADDRESS."
            )
        }
        if !settings.mediaPlayers {
            output.note(
                "The host daemon does not hand over media players: its setting 'mediaPlayers' is not on."
            )
        }
        if reports.isEmpty { output.note("No media player with an MPRIS interface runs in this session.") }
        for report in reports {
            try output.json(PlayerOutput(report, isOn: settings.mediaPlayers))
            let name = (report.identity ?? report.name).printable
            try output.line("\(report.isPlaying ? "plays " : "      ") \(name): \((report.title ?? "-").printable)")
            if let reason = report.reason { try output.line("       not handed over: \(reason.printable)") }
        }
        return reports.contains { $0.reason == nil }
    }
}

private struct PlayerOutput: Encodable {
    let event = "player"
    let time = Date.now
    var name: String
    var identity: String?
    var isPlaying: Bool
    var title: String?
    var reason: String?
    /// Whether the host daemon hands players over.
    var isOn: Bool

    init(_ report: MediaPlayerReport, isOn: Bool) {
        self.name = report.name
        self.identity = report.identity
        self.isPlaying = report.isPlaying
        self.title = report.title
        self.reason = report.reason
        self.isOn = isOn
    }
}
