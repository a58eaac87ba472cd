// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// What Flatpak says about a program (flatpak-metadata(5), `.flatpak-info`).
enum SandboxedProgram {
    /// The id of the Flatpak application in which a process runs.
    ///
    /// - Returns: `nil` for a process that is not sandboxed; an empty text for one that cannot be examined, or whose
    ///   sandbox does not say. A process can keep others from reading its files, so that is no sign of no sandbox.
    static func application(ofProcess id: Int32) -> String? {
        Self.application(inRoot: ["", "proc", "\(id)", "root"].joined(separator: "/"))
    }

    /// The id of the Flatpak application whose sandbox has this root directory.
    static func application(inRoot root: String) -> String? {
        let directory = unsafe open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return "" }
        defer { close(directory) }
        let file = unsafe openat(directory, ".flatpak-info", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return errno == ENOENT ? nil : "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: Self.maxSize)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        guard count > 0 else { return "" }
        return Self.application(in: String(decoding: bytes.prefix(count), as: UTF8.self))
    }

    /// The name comes first in the file.
    private static let maxSize = 64 << 10

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
