// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import RemoteSystems
import RemoteSystemsDesktop

/// The directory of the unit files.
struct HostUnitOptions: ParsableArguments {
    @Flag(help: "Use units of the machine, in /etc/systemd/system, instead of units of this user.")
    var system = false

    @Flag(help: "Only print what would be done.")
    var dryRun = false

    @Option(
        help: ArgumentHelp(
            "The directory of the files. Defaults to the one that systemd reads.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var directory: String?

    func place(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure) -> String {
        if let directory { return directory }
        if self.system { return "/etc/systemd/system" }
        return try Self.base("XDG_CONFIG_HOME", ".config", environment) + "/systemd/user"
    }

    /// The directory of the file that the session bus reads.
    func busPlace(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure) -> String {
        if let directory { return directory }
        return try Self.base("XDG_DATA_HOME", ".local/share", environment) + "/dbus-1/services"
    }

    private static func base(
        _ variable: String,
        _ standard: String,
        _ environment: [String: String]
    ) throws(Failure) -> String {
        func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        guard let base = absolute(variable) ?? absolute("HOME").map({ "\($0)/\(standard)" }) else {
            throw Failure("misuse", "Neither \(variable) nor HOME is set. Give the directory with --directory.")
        }
        return base
    }

    var systemctl: String { self.system ? "systemctl" : "systemctl --user" }
}

/// The command `remotesystems host install`.
struct HostInstallCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "install",
        abstract: "Write systemd units for the host daemon.",
        usage: "remotesystems host install [<options>]",
        discussion: """
            Prints the files that it writes and the commands that activate them. It runs none of the commands and does \
            not overwrite files that it did not write.
            """
    )

    @Option(parsing: .unconditional, help: ArgumentHelp("The port of the socket unit.", valueName: "port"))
    var port = RemoteSystemHost.defaultPort

    @Option(help: ArgumentHelp("The absolute path of remotesystems. Defaults to this program.", valueName: "file"))
    var program: String?

    @OptionGroup var units: HostUnitOptions
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...65_535).contains(self.port) else {
            throw ValidationError("--port takes 1 to 65535, not \(self.port).")
        }
        guard self.program?.hasPrefix("/") ?? true else { throw ValidationError("--program takes an absolute path.") }
    }

    func perform(_ output: Output) async throws -> Bool {
        let place = try self.units.place()
        let program = try self.program ?? Self.ownPath()
        let units = HostUnits(program: program, isSystem: self.units.system, port: self.port)
        var files = units.files.map { (path: "\(place)/\($0.name)", text: $0.text) }
        for file in units.busFiles { files.append(("\(try self.units.busPlace())/\(file.name)", file.text)) }
        for (path, _) in files {
            guard UnitFile.isOurs(path) else {
                throw Failure("misuse", "\(path) was not written by this command and was not changed.")
            }
        }
        for (path, text) in files {
            if !self.units.dryRun { try UnitFile.write(text, to: path) }
            try output.json(UnitOutput(event: self.units.dryRun ? "would-write" : "wrote", file: path, text: text))
            try output.line("\(self.units.dryRun ? "would write" : "wrote") \(path):\n\n\(text)")
        }
        if program.split(separator: "/").contains(".build") {
            output.complain(
                "\(program) is in a build folder: the units stop working when that folder is cleaned or moved. Install "
                    + "the program elsewhere, or name another one with --program."
            )
        }
        try output.line("To activate the units, run:")
        if self.units.system {
            // Without this user the daemon runs, but the system bus may refuse it.
            try output.line("    \(HostUnits.makingUser)")
        }
        try output.line("    \(self.units.systemctl) daemon-reload")
        try output.line("    \(self.units.systemctl) enable --now \(HostUnits.name).socket \(HostUnits.name).service")
        if !self.units.system {
            try output.line("To keep the daemon running while you are not logged in, run: loginctl enable-linger")
        }
        return true
    }

    static func ownPath() throws(Failure) -> String {
        do {
            return try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        } catch {
            throw Failure("localResources", "The path of this program cannot be determined. Give it with --program.")
        }
    }
}

/// The command `remotesystems host uninstall`.
struct HostUninstallCommand: Subcommand {
    static let configuration = CommandConfiguration(
        commandName: "uninstall",
        abstract: "Remove the systemd units that 'host install' wrote.",
        usage: "remotesystems host uninstall [<options>]",
        discussion: "Does not remove files that 'host install' did not write. Prints the command that stops the daemon."
    )

    @OptionGroup var units: HostUnitOptions
    @OptionGroup var common: CommonOptions

    func perform(_ output: Output) async throws -> Bool {
        let place = try self.units.place()
        try output.line("To stop the daemon, run:")
        try output.line("    \(self.units.systemctl) disable --now \(HostUnits.name).socket \(HostUnits.name).service")
        var removed = false
        var paths = ["\(HostUnits.name).service", "\(HostUnits.name).socket"].map { "\(place)/\($0)" }
        if !self.units.system {
            let busPlace = try self.units.busPlace()
            paths += HostUnits.busFileNames.map { "\(busPlace)/\($0)" }
        }
        for path in paths {
            guard FileManager.default.fileExists(atPath: path) else { continue }
            guard UnitFile.isOurs(path) else {
                output.complain("\(path) was not written by 'host install' and was not removed.")
                continue
            }
            if !self.units.dryRun { try UnitFile.remove(path) }
            removed = true
            try output.json(UnitOutput(event: self.units.dryRun ? "would-remove" : "removed", file: path))
            try output.line("\(self.units.dryRun ? "would remove" : "removed") \(path)")
        }
        if !removed { output.note("There is nothing to remove in \(place).") }
        return removed
    }
}

/// Reads, writes and removes unit files.
enum UnitFile {
    /// Whether the file does not exist, or was written by `host install`.
    static func isOurs(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else { return true }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return false }
        return text.hasPrefix(HostUnits.mark)
    }

    /// - Parameter permissions: those of the file; `nil` for the usual ones.
    static func write(_ text: String, to path: String, permissions: Int? = nil) throws(Failure) {
        do {
            try FileManager.default.createDirectory(
                atPath: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
            if let permissions {
                try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
            }
        } catch {
            throw Failure("localResources", "\(path) cannot be written: \(error.localizedReason)")
        }
    }

    static func remove(_ path: String) throws(Failure) {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            throw Failure("localResources", "\(path) cannot be removed: \(error.localizedReason)")
        }
    }
}

extension Error {
    fileprivate var localizedReason: String {
        switch (self as? CocoaError)?.code {
        case .fileWriteNoPermission?, .fileReadNoPermission?:
            "permission denied. With --system, run the command as root."
        case .fileWriteOutOfSpace?: "the disk is full."
        case .fileWriteVolumeReadOnly?: "the file system is read-only."
        default:
            if let error = unsafe (self as? CocoaError)?.userInfo["NSUnderlyingError"] as? POSIXError {
                unsafe String(cString: strerror(error.code.rawValue)) + "."
            } else {
                "the reason is unknown."
            }
        }
    }
}

/// The output of `host install --json` and `host uninstall --json` for one unit file.
struct UnitOutput: Encodable {
    var event: String
    let time = Date.now
    var file: String
    var text: String?
}
