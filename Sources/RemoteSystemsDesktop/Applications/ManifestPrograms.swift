// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc

/// The programs that are an application, as its manifest names them.
package struct ManifestPrograms: Sendable, Hashable {
    /// The absolute paths of programs.
    package var executables: Set<String> = []
    /// The names of service units.
    package var units: Set<String> = []
    /// The ids of Flatpak applications.
    package var flatpaks: Set<String> = []

    package init(executables: Set<String> = [], units: Set<String> = [], flatpaks: Set<String> = []) {
        self.executables = executables
        self.units = units
        self.flatpaks = flatpaks
    }

    /// The maximum number of entries of each kind.
    static let maxEntries = 16

    /// Adds what a manifest starts: the program or the unit. An interpreter is not the application.
    mutating func include(_ start: ApplicationStart) {
        switch start {
        case .exec(let arguments):
            if let program = arguments.first, !Self.isInterpreter(program) { self.executables.insert(program) }
        case .systemd(let unit): self.units.insert(unit)
        case .dbus, .desktop: break
        }
    }

    /// Whether a process is the application.
    ///
    /// A sandboxed process is judged by its sandbox only: paths mean other files there. An interpreter runs any script,
    /// so its path proves nothing.
    package func include(_ process: ProgramFacts) -> Bool {
        if let flatpak = process.flatpak { return self.flatpaks.contains(flatpak) }
        if let unit = process.unit, self.units.contains(unit) { return true }
        guard let path = process.executable, process.isProtected, !Self.isInterpreter(path) else { return false }
        return self.executables.contains { ProgramFacts.resolved($0) == path }
    }

    /// Whether a program runs what its arguments name, so that its path does not identify an application.
    package static func isInterpreter(_ path: String) -> Bool {
        let name = path.split(separator: "/").last.map { $0.lowercased() } ?? ""
        if name.hasPrefix("ld-linux") || name.hasPrefix("ld-musl") || name.hasPrefix("ld.so") { return true }
        let stem = name.prefix { !$0.isNumber && $0 != "." }
        return Self.interpreters.contains(String(stem.last == "-" ? stem.dropLast() : stem))
    }

    /// Whether a file is a script. The kernel runs its interpreter (execve(2)), so `/proc/PID/exe` never leads to it.
    package static func isScript(_ path: String) -> Bool {
        let descriptor = unsafe open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var bytes: [UInt8] = [0, 0]
        let count = unsafe read(descriptor, &bytes, bytes.count)
        return count == bytes.count && bytes == Array("#!".utf8)
    }

    private static let interpreters: Set<String> = [
        "ash", "awk", "bash", "bun", "busybox", "bwrap", "csh", "dash", "deno", "dotnet", "electron", "env", "erl",
        "fish", "flatpak", "gawk", "gjs", "gjs-console", "guile", "java", "julia", "ksh", "lua", "luajit", "mawk",
        "mksh", "mono", "node", "nodejs", "octave", "perl", "php", "pypy", "python", "qemu", "qml", "rscript", "ruby",
        "sh", "snap", "tclsh", "tcsh", "wine", "wish", "zsh",
    ]
}

/// What this system's kernel and sandboxes say about a process.
package struct ProgramFacts: Sendable, Hashable {
    /// The path of the file that the process executes.
    package var executable: String?
    /// Whether that file is the one at this path here, and only root and this user can change it.
    package var isProtected = false
    /// The service unit in which the process runs.
    package var unit: String?
    /// The Flatpak application in whose sandbox the process runs; empty for a sandbox that names none.
    package var flatpak: String?

    package init() {}

    /// The path of a file without symbolic links; `nil` if it does not exist.
    static func resolved(_ path: String) -> String? { FileProtection.realPath(path) }

    /// The deepest unit in a process's control group, if that is a service (cgroups(7), systemd.unit(5)).
    package static func unit(in controlGroup: String) -> String? {
        // `0::/user.slice/user-1000.slice/user@1000.service/app.slice/player.service`
        guard let line = controlGroup.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        let units = line.dropFirst(3).split(separator: "/").filter {
            $0.hasSuffix(".service") || $0.hasSuffix(".scope") || $0.hasSuffix(".slice")
        }
        return units.last.flatMap { $0.hasSuffix(".service") ? String($0) : nil }
    }
}
