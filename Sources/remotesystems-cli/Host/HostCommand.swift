// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `remotesystems host`
struct HostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Speak for this machine: its installed applications, its desktop.",
        discussion: """
            The host daemon lists the applications that are installed here, starts them when a system of the account calls them, opens URIs with this machine's default handlers, and answers pings. Applications that embed a host and the daemon appear as one system.

            'host run' is what a service manager runs; 'host install' writes systemd units for it. 'remotesystems topic host' describes its configuration, 'remotesystems topic manifest' the applications' manifests.
            """,
        subcommands: [
            HostRunCommand.self, HostCheckCommand.self, HostInstallCommand.self, HostUninstallCommand.self,
        ],
        defaultSubcommand: HostRunCommand.self
    )
}
