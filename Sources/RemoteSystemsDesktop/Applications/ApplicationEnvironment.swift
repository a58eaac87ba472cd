// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// The environment of programs that the host daemon starts: applications, URI handlers and the program that asks the
/// user.
///
/// It contains what a program of this user needs, and nothing that concerns only the daemon (`Docs/host-daemon.md`).
package enum ApplicationEnvironment {
    private static let names: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "JOURNAL_STREAM",
        "DESKTOP_SESSION", "XMODIFIERS",
    ]
    private static let prefixes = ["LC_", "XDG_", "GDK_", "GTK_", "QT_"]

    /// Returns the variables of the host's environment that are passed on.
    ///
    /// - Parameter stateDirectory: The host's state directory, so that started programs act as the same system.
    package static func passedOn(
        from environment: [String: String],
        stateDirectory: String?
    ) -> [String: String] {
        var passed = environment.filter { name, _ in
            self.names.contains(name) || self.prefixes.contains { name.hasPrefix($0) }
        }
        passed["REMOTE_SYSTEMS_STATE"] = stateDirectory ?? environment["REMOTE_SYSTEMS_STATE"]
        if passed["PATH"] == nil { passed["PATH"] = "/usr/local/bin:/usr/bin:/bin" }
        return passed
    }
}
