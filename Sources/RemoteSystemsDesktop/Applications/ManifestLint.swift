// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import RemoteSystems
internal import UserActivities

/// Advice about a valid manifest: what is probably not meant, or will not work as its author expects.
package enum ManifestLint {
    /// Returns the advice, in the order of the file's lines.
    ///
    /// - Parameters:
    ///   - programExists: whether there is a file at a path.
    ///   - isScript: whether the file at a path is a script.
    package static func advice(
        about manifest: ApplicationManifest,
        in file: ConfigurationFile,
        programExists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) },
        isScript: (String) -> Bool = ManifestPrograms.isScript
    ) -> [ConfigurationFileError] {
        var advice: [ConfigurationFileError] = []
        func add(_ path: [String], _ text: String) { advice.append(file.error(at: path, text)) }
        let id = manifest.application.id
        let labels = id.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count < 3 || labels.contains(where: \.isEmpty) {
            add(["id"], "'\(id)' is not in the form com.company.appname, so it may collide with another application.")
        }
        // A company has two labels: com.example. An application may also be called by its company alone.
        let own = labels.prefix(2).joined(separator: ".")
        for type in manifest.activityTypes.sorted()
        where !type.hasPrefix("\(own).") && type != UserActivity.browsingWeb {
            add(
                ["activityTypes"],
                "'\(type)' does not begin with '\(own).', the application's own prefix. Types of one application are "
                    + "called \(id).ACTIVITY, those of several applications \(own).ACTIVITY."
            )
        }
        for program in manifest.programs.executables.sorted() where !programExists(program) {
            add(["executables"], "The program \(program) is not installed on this machine.")
        }
        if manifest.programs == ManifestPrograms() {
            add(
                ["start"],
                "The manifest names no program that is the application: its publisher will not be proven. Name it in "
                    + "'executables', 'units' or 'flatpaks'. An interpreter is not the application that it runs."
            )
        }
        // A script may also start another one of the programs.
        let executables = manifest.programs.executables.sorted()
        if manifest.programs == ManifestPrograms(executables: Set(executables)), executables.allSatisfy(isScript) {
            for script in executables {
                var key = "executables"
                if case .exec(let arguments) = manifest.start, arguments.first == script { key = "start" }
                add(
                    [key],
                    "\(script) is a script, which runs as its interpreter: the publisher will not be proven. Run it in "
                        + "a service unit ('start': {'systemd': 'NAME.service'}) or as a Flatpak ('flatpaks'), or name "
                        + "a compiled program in 'executables'."
                )
            }
        }
        if manifest.application.publisher == .unsigned {
            add(
                [],
                "The manifest is not signed. Where a signed application is installed, an unsigned one hands nothing "
                    + "over. Sign it: 'remotesystems app sign'."
            )
        }
        return advice.enumerated().sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
            .map(\.element)
    }
}
