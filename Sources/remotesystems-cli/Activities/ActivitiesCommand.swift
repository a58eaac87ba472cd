// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems activities`.
struct ActivitiesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activities",
        abstract: "List what can be continued from other systems, continue it, and offer something.",
        discussion: """
            An application offers what its user is doing now; an application on another system of the account \
            continues it. The content stays in the first application until then.
            """,
        subcommands: [
            ActivitiesListCommand.self, ActivitiesWatchCommand.self, ActivitiesCurrentCommand.self,
            ActivitiesContinueCommand.self, ActivitiesOfferCommand.self, ActivitiesWhyNotCommand.self,
            ActivitiesSettingsCommand.self, ActivitiesNotifyCommand.self, ActivitiesPlayersCommand.self,
            ActivitiesBrowserCommand.self,
        ]
    )
}
