// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems app`.
struct AppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Sign an application as its publisher, and make it known to this system.",
        discussion: """
            Activities are continued only between applications of one publisher. The publisher signs each \
            application's manifest; the host daemon of each machine compares the running program with it.

              remotesystems app keygen ~/publisher.key
              remotesystems app init com.company.appname --exec /usr/bin/appname
              remotesystems app validate com.company.appname.json
              remotesystems app sign com.company.appname.json --key ~/publisher.key
              remotesystems app register com.company.appname.json
            """,
        subcommands: [
            AppKeygenCommand.self, AppInitCommand.self, AppValidateCommand.self, AppSignCommand.self,
            AppVerifyCommand.self, AppRegisterCommand.self,
        ]
    )
}
