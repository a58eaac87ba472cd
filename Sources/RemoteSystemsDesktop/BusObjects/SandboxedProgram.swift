// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// What Flatpak says about a program (flatpak-metadata(5), `.flatpak-info`).
enum SandboxedProgram {
    /// The id of the Flatpak application in which a process runs.
    ///
    /// - Returns: `nil` for a process that is not sandboxed; an empty text for one whose sandbox does not say.
    static func application(ofProcess id: Int32) -> String? {
        let file = ["", "proc", "\(id)", "root", ".flatpak-info"].joined(separator: "/")
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            return FileManager.default.fileExists(atPath: file) ? "" : nil
        }
        return Self.application(in: text)
    }

    /// Reads the name in the group `Application`. Empty if there is none, as in a sandbox without an application.
    static func application(in text: String) -> String {
        var group = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("["), line.hasSuffix("]") {
                group = String(line.dropFirst().dropLast())
            } else if group == "Application", line.hasPrefix("name=") {
                return String(line.dropFirst("name=".count))
            }
        }
        return ""
    }
}
