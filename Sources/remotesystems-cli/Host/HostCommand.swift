// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command `remotesystems host`.
struct HostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Run and set up the host daemon, which offers this machine's applications and desktop.",
        discussion: """
            The host daemon lists the applications that are installed on this machine, starts them when a system of \
            the account calls them, opens URIs with this machine's default handlers, and responds to pings. \
            Applications that embed a host appear with the daemon as one system.

            A service manager runs 'host run'; 'host install' writes systemd units for it. 'remotesystems topic host' \
            describes the configuration, 'remotesystems topic manifest' the applications' manifests.
            """,
        subcommands: [
            HostRunCommand.self, HostCheckCommand.self, HostInstallCommand.self, HostUninstallCommand.self,
        ],
        defaultSubcommand: HostRunCommand.self
    )
}
