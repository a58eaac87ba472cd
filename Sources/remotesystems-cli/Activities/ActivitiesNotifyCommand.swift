// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import ServiceLifecycle
import UnixSignals
import UserActivities

/// The command `remotesystems activities notify`.
struct ActivitiesNotifyCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Show what can be continued here as notifications of the desktop.",
        usage: "remotesystems activities notify [<options>]",
        discussion: """
            Runs until Ctrl-C. Each activity that an application or the browser of this system can continue has a \
            quiet notification, with which it is continued. The notification ends with the offer. A locked screen \
            shows only the name of the offering application.

            One process of a system shows this: a second one, or this command beside a host daemon with the setting \
            'notifyOffers', ends with an error. Without a notification server, the command prints a warning, and shows \
            the notifications as soon as a server runs.
            """
    )

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        guard DesktopNotifications.isPossible else {
            throw Failure(
                "\(RemoteSystemError.Code.unreachable)",
                "There is no session bus. Run this command in a desktop session, or set DBUS_SESSION_BUS_ADDRESS."
            )
        }
        let configuration = RemoteSystemsConfiguration(
            "activities",
            self.network,
            self.state,
            logger: self.common.logger()
        )
        _ = try OfferRole(configuration, "'remotesystems activities notify'")
        let problem = Self.problem(await NotificationServerReport.ask(startsServer: true))
        if let problem { output.note("warning: \(problem)") }
        let presenter = OfferPresenter(configuration, webpages: WebpageResolver(configuration)) { continued in
            try? Self.report(continued, output)
        }
        try output.json(NotifyingOutput(problem: problem))
        try output.line(
            problem == nil
                ? "ready: showing what can be continued here (Ctrl-C to stop)"
                : "waiting for a notification server, to show what can be continued here (Ctrl-C to stop)"
        )
        try await ServiceGroup(
            services: [presenter],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
        return true
    }

    /// Why nothing is shown now, and what to do; `nil` if a server runs.
    private static func problem(_ server: NotificationServerReport) -> String? {
        switch server {
        case .running: nil
        case .noSession:
            "The session bus cannot be reached, so nothing is shown. Check DBUS_SESSION_BUS_ADDRESS. What can be "
                + "continued is shown when the bus and a notification server run."
        case .notRunning:
            "No notification server runs in this session, and the bus can start none, so nothing is shown until one "
                + "runs. Start one, such as dunst, or list what can be continued with 'remotesystems activities list'."
        case .unresponsive:
            "The notification server of this session does not respond, so nothing is shown until it does. Restart it, "
                + "or log out and in again."
        }
    }

    private static func report(_ continued: OfferPresenter.Continued, _ output: Output) throws {
        if let error = continued.failure {
            var failure = Failure(error)
            failure.id = continued.offer.shownID
            failure.type = continued.offer.activityType
            failure.systemID = continued.offer.system.id
            failure.system = continued.offer.system.displayName
            try failure.report(output)
            return
        }
        try output.json(ContinuedHereOutput(id: continued.offer.shownID, application: continued.application))
        try output.line("Continued on this machine in \(continued.application?.printable ?? "the browser").")
    }
}

private struct NotifyingOutput: Encodable {
    let event = "notifying"
    let time = Date.now
    /// Why nothing is shown now; `nil` if a notification server runs.
    var problem: String?
}
