// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The keys of a desktop entry that starting its application needs (Desktop Entry Specification 1.5).
struct DesktopEntry: Sendable, Hashable {
    /// The file name with its extension, such as `org.example.player.desktop`.
    var id: String
    var name: String
    /// `Exec`, split into arguments that still contain field codes. `nil` if the key is missing or malformed.
    var exec: [String]?
    var isDBusActivatable = false
    /// `Terminal`: whether the application runs in a terminal.
    var needsTerminal = false
    /// Whether the application needs a display. Defaults to `true`; `X-RemoteSystems-NeedsDisplay=false` clears it.
    var needsDisplay = true
    /// `Path`: the working directory.
    var directory: String?
    var icon: String?
    /// The path of the entry's file.
    var file: String?

    /// The application's id: the file name without its extension. Launch requests and results use this id.
    var applicationID: String {
        self.id.hasSuffix(".desktop") ? String(self.id.dropLast(8)) : self.id
    }

    /// The object path of a D-Bus activatable application, derived by the specification's rule.
    var objectPath: String {
        "/" + self.applicationID.map { $0 == "." ? "/" : $0 == "-" ? "_" : String($0) }.joined()
    }
}
