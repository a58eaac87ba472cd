// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

/// What a program that is started here finds in its environment, be it an application, a handler of URIs or one that asks somebody:
/// what a program of this user needs, and nothing that is the host's own (`Docs/host-daemon.md`).
package enum ApplicationEnvironment {
    private static let names: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "JOURNAL_STREAM",
        "DESKTOP_SESSION", "XMODIFIERS",
    ]
    private static let prefixes = ["LC_", "XDG_", "GDK_", "GTK_", "QT_"]

    /// What of the host's environment is passed on.
    ///
    /// - Parameter stateDirectory: the host's own, so that both are the same system.
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
