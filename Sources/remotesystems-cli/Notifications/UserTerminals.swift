// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The terminals of this user, for messages as of wall(1).
enum UserTerminals {
    /// Writes lines to all terminals of this user, except those that accept no messages (mesg(1)) and the one of this
    /// command.
    ///
    /// A terminal that does not take the lines at once, for example because its output is stopped, does not get them.
    ///
    /// - Parameter lines: the lines. Characters that could control a terminal are replaced.
    /// - Returns: how many have got them.
    static func write(_ lines: [String]) -> Int {
        let text = "\r\n" + lines.map { "\($0.printable)\r\n" }.joined()
        return self.paths().count { self.write(Array(text.utf8), to: $0) }
    }

    private static func paths() -> [String] {
        let pseudo = self.names(in: "/dev/pts") { Int($0) != nil }
        // A console without a login belongs to root.
        let used = Self.usedTerminals()
        let consoles = self.names(in: "/dev") { used.contains($0) && Int($0.dropFirst(3)) != nil }
        return pseudo + consoles
    }

    /// The names of the terminals on which a user has logged in.
    private static func usedTerminals() -> Set<String> {
        setutxent()
        defer { endutxent() }
        var names: Set<String> = []
        while let record = unsafe getutxent() {
            guard unsafe record.pointee.ut_type == USER_PROCESS else { continue }
            let line = unsafe withUnsafeBytes(of: &record.pointee.ut_line) { unsafe Array($0.prefix { $0 != 0 }) }
            names.insert(String(decoding: line, as: UTF8.self))
        }
        return names
    }

    private static func names(in directory: String, _ isWanted: (String) -> Bool) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter(isWanted).sorted().map { "\(directory)/\($0)" }
    }

    private static func write(_ bytes: [UInt8], to path: String) -> Bool {
        let terminal = unsafe open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        defer { close(terminal) }
        var (status, own) = (stat(), stat())
        // The terminal may have been given to another user since its name was read.
        guard unsafe fstat(terminal, &status) == 0, status.st_mode & S_IFMT == S_IFCHR, isatty(terminal) == 1,
            status.st_uid == geteuid(), status.st_mode & S_IWGRP != 0
        else { return false }
        guard unsafe fstat(STDOUT_FILENO, &own) != 0 || own.st_rdev != status.st_rdev else { return false }
        return unsafe bytes.withUnsafeBytes { unsafe Glibc.write(terminal, $0.baseAddress, $0.count) } == bytes.count
    }
}
