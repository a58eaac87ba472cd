// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import CRemoteSystemsGIO

/// Finds a terminal program that runs its further arguments as a command, without parsing them.
enum Terminal {
    private static let known = [
        ["xdg-terminal-exec"], ["gnome-terminal", "--"], ["konsole", "-e"], ["xfce4-terminal", "-x"], ["xterm", "-e"],
    ]

    /// Returns the first installed terminal program, with the arguments before the command.
    static func find() -> [String]? {
        Self.known.first { command in
            guard let program = command.first, let path = unsafe g_find_program_in_path(program) else { return false }
            unsafe g_free(path)
            return true
        }
    }
}
