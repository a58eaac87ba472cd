// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import RemoteSystems
import RemoteSystemsDesktop
import UserActivities

/// The command `remotesystems app init`.
struct AppInitCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write the manifest of a new application.",
        usage: "remotesystems app init <id> --exec <program> [<options>]",
        discussion: "Writes the file ID.json. 'remotesystems topic manifest' explains its keys."
    )

    @Argument(help: "The application's id, in the form com.company.appname.")
    var id: String

    @Option(
        name: .customLong("exec"),
        help: ArgumentHelp("The absolute path of the program that the host daemon starts.", valueName: "program"),
        completion: .file()
    )
    var program: String

    @Option(
        name: .customLong("name"),
        help: ArgumentHelp("The name that users see. Defaults to the last part of the id.", valueName: "name")
    )
    var displayName: String?

    @Option(
        name: .customLong("activity-type"),
        help: ArgumentHelp("A type of activities that the application continues. Repeatable.", valueName: "type")
    )
    var types: [String] = []

    @Option(
        name: .customLong("directory"),
        help: ArgumentHelp("The directory of the file; '.' is the current one.", valueName: "directory"),
        completion: .directory
    )
    var directory = "."

    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard ActivityTypeName.isValid(self.id) else {
            throw ValidationError("An application's id is a reversed domain name, such as com.example.editor.")
        }
        for type in self.types where !ActivityTypeName.isValid(type) {
            throw ValidationError("--activity-type takes a reversed domain name, such as com.example.editing.")
        }
    }

    func perform(_ output: Output) async throws -> Bool {
        let path = "\(self.directory)/\(self.id).json"
        var manifest: ValueSet = [
            "id": .string(self.id),
            "displayName": .string(self.displayName ?? self.id.split(separator: ".").last.map(String.init) ?? self.id),
            "start": ["exec": [.string(self.program)]],
        ]
        if ManifestPrograms.isInterpreter(self.program) || ManifestPrograms.isScript(self.program) {
            manifest["units"] = []
        } else {
            manifest["executables"] = [.string(self.program)]
        }
        if !self.types.isEmpty { manifest["activityTypes"] = .array(self.types.map { .string($0) }) }
        let bytes = Array(try manifest.json(prettyPrinted: true).utf8) + [UInt8(ascii: "\n")]
        // Nothing is written that the host daemon would not accept.
        _ = try ApplicationManifest(ConfigurationFile(path: path, bytes: bytes))
        try ManifestFile(path: path, bytes: bytes).create()
        try output.json(ManifestOutput(event: "wrote", application: self.id, file: path))
        try output.line("wrote \(path.printable)")
        return true
    }
}
