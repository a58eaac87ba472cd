// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What starting an application takes, of its desktop entry (Desktop Entry Specification 1.5).
struct DesktopEntry: Sendable, Hashable {
    /// The file's name with its extension, `org.example.player.desktop`.
    var id: String
    var name: String
    /// `Exec`, taken apart into arguments; field codes are still in it. `nil` when there is none that can be read.
    var exec: [String]?
    var isDBusActivatable = false
    /// `Terminal`: it needs one.
    var needsTerminal = false
    /// Whether it must have a display, as is assumed unless the entry says `X-RemoteSystems-NeedsDisplay=false`.
    var needsDisplay = true
    /// `Path`: the directory that it is started in.
    var directory: String?
    var icon: String?
    /// The entry's own file.
    var file: String?

    /// The application's id: what the launcher may prefer, and is told.
    var applicationID: String {
        self.id.hasSuffix(".desktop") ? String(self.id.dropLast(8)) : self.id
    }

    /// Where a D-Bus activatable application takes calls, by the specification's rule.
    var objectPath: String {
        "/" + self.applicationID.map { $0 == "." ? "/" : $0 == "-" ? "_" : String($0) }.joined()
    }
}
