// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// Checks program files.
package enum ProgramFile {
    /// The reason why this user cannot run the file, as a sentence; `nil` if no problem is found without running it.
    package static func problem(with path: String) -> String? {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return "there is no file \(path)."
        }
        guard !isDirectory else { return "\(path) is a directory." }
        guard unsafe access(path, X_OK) == 0 else {
            return "\(path) is not executable for this user (chmod +x makes it so)."
        }
        return nil
    }
}
