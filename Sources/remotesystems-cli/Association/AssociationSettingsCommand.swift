// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import UserActivities
import WebAssociations

/// The command `remotesystems association settings`.
struct AssociationSettingsCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show and change how sites are asked: for sites of your own network, and for tests.",
        usage: "remotesystems association settings [<options>]",
        discussion: """
            Without settings, only sites with public addresses are asked, and only the authorities of the system are \
            trusted.
            """
    )

    @Option(
        help: ArgumentHelp(
            "A PEM file with authorities that are trusted, too. 'none' removes it.",
            valueName: "file"
        ),
        completion: .file()
    )
    var authorities: String?

    @Option(
        name: .customLong("private-site"),
        help: ArgumentHelp(
            "A site that may have private addresses: HOST, or HOST=ADDRESS:PORT for this address only. Repeatable.",
            valueName: "site"
        )
    )
    var privateSites: [String] = []

    @Option(
        name: .customLong("public-site"),
        help: ArgumentHelp("A site that must have a public address again. Repeatable.", valueName: "host")
    )
    var publicSites: [String] = []

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        _ = try self.parsedSites()
        if self.authorities?.isEmpty == true { throw ValidationError("--authorities is empty.") }
    }

    private func parsedSites() throws -> [(host: String, site: AssociationSettings.Site)] {
        try self.privateSites.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard AssociatedDomain.isHost(parts[0]) else {
                throw ValidationError("--private-site: '\(parts[0])' is no host such as intranet.example.com.")
            }
            guard parts.count == 2 else { return (parts[0], AssociationSettings.Site()) }
            guard let address = SystemAddress(parts[1]) else {
                throw ValidationError("--private-site: '\(parts[1])' is no address such as 192.168.1.2:443.")
            }
            return (
                parts[0],
                AssociationSettings.Site(address: .init(host: address.host, port: address.port ?? 443))
            )
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration(state: self.state, logger: self.common.logger())
        let sites = try self.parsedSites()
        let settings: AssociationSettings
        if self.authorities == nil, sites.isEmpty, self.publicSites.isEmpty {
            settings = try AssociationSettings.read(configuration)
        } else {
            let authorities = try self.authorities.map { try Self.path($0) }
            settings = try AssociationSettings.change(configuration) { settings in
                if let authorities { settings.authorities = authorities }
                for (host, site) in sites { settings.sites[host] = site }
                for host in self.publicSites { settings.sites[host] = nil }
            }
        }
        try Self.show(settings, output)
        return true
    }

    /// The absolute path of the authorities' file, which can be read now; `nil` for none.
    private static func path(_ text: String) throws -> String? {
        guard text != "none" else { return nil }
        var settings = AssociationSettings()
        settings.authorities = text.hasPrefix("/") ? text : "\(FileManager.default.currentDirectoryPath)/\(text)"
        guard try !settings.authorityCertificates().isEmpty else {
            throw AssociationFailure(.notTrusted, "\(text) has no certificates in PEM.")
        }
        return settings.authorities
    }

    private static func show(_ settings: AssociationSettings, _ output: Output) throws {
        let sites = settings.sites.sorted { $0.key < $1.key }.map { host, site in
            host + (site.address.map { "=\($0.host.contains(":") ? "[\($0.host)]" : $0.host):\($0.port)" } ?? "")
        }
        try output.json(AssociationSettingsOutput(authorities: settings.authorities, privateSites: sites))
        try output.line("Authorities: those of the system\((settings.authorities.map { ", \($0)" } ?? "").printable)")
        try output.line("Private sites: \(sites.isEmpty ? "none" : sites.joined(separator: ", ").printable)")
    }
}

/// The output of `association settings --json`.
private struct AssociationSettingsOutput: Encodable {
    let event = "association-settings"
    let time = Date.now
    var authorities: String?
    var privateSites: [String]
}
