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
        let presenter = OfferPresenter(configuration, webpages: WebpageResolver(configuration)) { continued in
            try? Self.report(continued, output)
        }
        try output.json(NotifyingOutput())
        try output.line("ready: showing what can be continued here (Ctrl-C to stop)")
        try await ServiceGroup(
            services: [presenter],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: configuration.logger
        ).run()
        return true
    }

    private static func report(_ continued: OfferPresenter.Continued, _ output: Output) throws {
        if let error = continued.failure {
            try Failure(error).report(output)
            return
        }
        try output.json(ContinuedHereOutput(id: continued.offer.shownID, application: continued.application))
        try output.line("Continued in \(continued.application?.printable ?? "the browser").")
    }
}

private struct NotifyingOutput: Encodable {
    let event = "notifying"
    let time = Date.now
}
