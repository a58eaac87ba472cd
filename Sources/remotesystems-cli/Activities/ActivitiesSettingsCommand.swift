// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

/// The command `remotesystems activities settings`.
struct ActivitiesSettingsCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show and change what may be handed over.",
        usage: "remotesystems activities settings [<options>]",
        discussion: """
            Without --sending, --receiving and --developer-mode, prints the settings.

            Without --application, the settings apply to all applications of this system; those of one application can \
            only restrict them further. A setting may precede the installation of its application; the command says \
            if no such application is installed or runs.

            In developer mode, applications that are not signed hand over, too, on systems of the same account. It \
            must be on on both systems. 'automatic', the default, means: on while no manifest of this system is \
            signed. It never lets applications of different publishers hand over to each other.

            Running applications apply a change within a second.
            """
    )

    /// Whether a direction is permitted.
    enum Choice: String, ExpressibleByArgument, CaseIterable {
        case on, off
    }

    /// When applications that are not signed hand over.
    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case automatic, on, off

        var setting: HandOffSettings.DeveloperMode? { HandOffSettings.DeveloperMode(rawValue: self.rawValue) }
    }

    @Option(help: ArgumentHelp("The application whose settings are changed.", valueName: "id"))
    var application: String?

    @Option(help: ArgumentHelp("Whether activities are offered to other systems.", valueName: "choice"))
    var sending: Choice?

    @Option(help: ArgumentHelp("Whether activities of other systems are continued.", valueName: "choice"))
    var receiving: Choice?

    @Option(
        name: .customLong("developer-mode"),
        help: ArgumentHelp("Whether applications that are not signed hand over.", valueName: "choice")
    )
    var developerMode: Mode?

    @OptionGroup var state: StateOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard let application else { return }
        guard self.developerMode == nil else {
            throw ValidationError("--developer-mode applies to all applications: omit --application.")
        }
        guard ActivityTypeName.isValid(application) else {
            throw ValidationError("--application takes an application's id, such as com.example.editor.")
        }
        guard self.sending != nil || self.receiving != nil else {
            throw ValidationError("--application needs --sending or --receiving.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let configuration = RemoteSystemsConfiguration(
            applicationID: "remote-systems.command.activities",
            stateDirectory: self.state.directory,
            logger: self.common.logger()
        )
        let settings: HandOffSettings
        if self.sending == nil, self.receiving == nil, self.developerMode == nil {
            settings = try HandOffSettings.read(configuration)
        } else {
            settings = try HandOffSettings.change(configuration) { settings in
                if let mode = self.developerMode?.setting { settings.developerMode = mode }
                guard let application = self.application else { return self.change(&settings.everything) }
                self.change(&settings.applications[application, default: HandOffSettings.Permission()])
            }
        }
        if let application, settings.applications[application] != nil {
            await Self.noteUnknown(application, configuration, output)
        }
        try Self.show(nil, settings.everything, output)
        let mode = DeveloperModeState(settings)
        try output.json(mode)
        try output.line(mode.line)
        for (application, permission) in settings.applications.sorted(by: { $0.key < $1.key }) {
            try Self.show(application, permission, output)
        }
        return true
    }

    private func change(_ permission: inout HandOffSettings.Permission) {
        if let sending { permission.sending = sending == .on }
        if let receiving { permission.receiving = receiving == .on }
    }

    /// Warns if no application has the id. The setting is kept nevertheless: the application may be installed later.
    private static func noteUnknown(
        _ application: String,
        _ configuration: RemoteSystemsConfiguration,
        _ output: Output
    ) async {
        let installed = await ApplicationRegistry.silent.applications().map(\.id)
        let own = [RemoteSystemHost.machineApplicationID, configuration.applicationID]
        let running = RemoteSystemsDiagnosis.runningApplications(configuration).filter { !own.contains($0) }
        let known = Set(installed + running + [BuiltInApplication.mediaPlayers])
        guard !known.contains(application), !BuiltInApplication.isBuiltIn(application) else { return }
        var hint = SimilarNames.question(for: application, among: known)
        if hint.isEmpty {
            let shown = known.sorted().prefix(Self.maxShown)
            hint = " There are: \(shown.joined(separator: ", "))\(known.count > shown.count ? ", …" : "")."
        }
        output.note(
            ("warning: No application '\(application)' is installed here or runs now.\(hint) The setting applies as "
                + "soon as there is one. '--sending on --receiving on' removes it.").printable
        )
    }

    /// The maximum number of ids in a warning.
    private static let maxShown = 8

    private static func show(
        _ application: String?,
        _ permission: HandOffSettings.Permission,
        _ output: Output
    ) throws {
        try output.json(
            SettingsOutput(application: application, sending: permission.sending, receiving: permission.receiving)
        )
        func text(_ isOn: Bool) -> String { isOn ? "on" : "off" }
        try output.line(
            "\(application?.printable ?? "All applications"): sending \(text(permission.sending)), receiving "
                + "\(text(permission.receiving))"
        )
    }
}

/// The output of `activities settings --json` for all applications or for one.
private struct SettingsOutput: Encodable {
    let event = "settings"
    let time = Date.now
    var application: String?
    var sending: Bool
    var receiving: Bool
}
