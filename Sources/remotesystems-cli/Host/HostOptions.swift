// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop

/// The host's configuration file, and the options that override it.
struct HostOptions: ParsableArguments {
    @OptionGroup var file: HostFileOptions

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The port to listen on: 1 to 65535, or 0 for any free one. Defaults to the one of the configuration, or to "
                + "\(RemoteSystemHost.defaultPort). A socket that systemd passes takes its place.",
            valueName: "port"
        )
    )
    var port: Int?

    @Option(
        name: .customLong("uri-policy"),
        help: ArgumentHelp(
            "The rule for URIs that other systems open here: allow, ask or deny. Repeatable. The scheme '*' stands for "
                + "all schemes without a rule, except file, javascript, data, vbscript and about. Defaults to allow "
                + "for http, https, mailto, tel, sms and geo, and to deny for others.",
            valueName: "scheme=rule"
        )
    )
    var uriPolicy: [String] = []

    @OptionGroup var network: NetworkOptions
    @OptionGroup var state: StateOptions

    func validate() throws {
        guard (0...65_535).contains(self.port ?? 0) else { throw ValidationError("--port takes 0 to 65535.") }
        for text in self.uriPolicy where HostSettings.rule(text) == nil {
            throw ValidationError("--uri-policy takes scheme=allow, scheme=ask or scheme=deny, not '\(text)'.")
        }
    }

    /// The settings that the flags override.
    private var flags: [HostSetting: HostSetting.Value] {
        var flags: [HostSetting: HostSetting.Value] = [:]
        flags[.port] = self.port.map { .int($0) }
        // A relative path is relative to the current directory, as in every subcommand. Files and variables allow only
        // absolute paths.
        flags[.stateDirectory] = self.state.directory.map {
            .string($0.hasPrefix("/") ? $0 : "\(FileManager.default.currentDirectoryPath)/\($0)")
        }
        if !self.uriPolicy.isEmpty { flags[.uriPolicy] = .strings(self.uriPolicy) }
        switch self.network.network.kind {
        case .all: break
        case .loopback: flags[.network] = .string("loopback")
        case .interfaces(let names): flags[.network] = .string(names.joined(separator: ","))
        }
        return flags
    }

    /// Reads the settings. Flags override environment variables, which override the file.
    func settings(_ environment: [String: String] = ProcessInfo.processInfo.environment) async throws -> HostSettings {
        try await self.file.settings(overriddenBy: self.flags, environment)
    }
}

/// The options that name the configuration file of a host.
struct HostFileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The configuration file, which must exist. Defaults to $XDG_CONFIG_HOME/remote-systems/host.json, then "
                + "~/.config/remote-systems/host.json, which may be missing.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var config: String?

    @Option(
        name: .customLong("config-if-present"),
        help: ArgumentHelp("As --config, but the file may be missing.", valueName: "file")
    )
    var configIfPresent: String?

    func validate() throws {
        guard self.config == nil || self.configIfPresent == nil else {
            throw ValidationError("--config and --config-if-present cannot be combined.")
        }
    }

    /// Reads the settings. Flags override environment variables, which override the file.
    func settings(
        overriddenBy flags: [HostSetting: HostSetting.Value] = [:],
        _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> HostSettings {
        try await HostSettings.read(
            flags: flags,
            environment: environment,
            file: self.config ?? self.configIfPresent ?? Self.usualFile(environment),
            mustExist: self.config != nil
        )
    }

    private static func usualFile(_ environment: [String: String]) -> String? {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        let directory = absolute("XDG_CONFIG_HOME") ?? absolute("HOME").map { $0 + "/.config" }
        return directory.map { $0 + "/remote-systems/host.json" }
    }
}
