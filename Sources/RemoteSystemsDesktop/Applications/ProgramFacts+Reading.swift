// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import RemoteSystems
internal import RemoteSystemsDiscovery

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

extension ProgramFacts {
    /// Reads what is known about a process; `nil` if it has ended, or its id belongs to another process now.
    package init?(_ process: ProgramProcess) {
        guard process.isRunning() else { return nil }
        self.init()
        let directory = "/proc/\(process.pid)"
        self.flatpak = SandboxedProgram.application(ofProcess: process.pid)
        self.unit = SystemFile.text(of: "\(directory)/cgroup").flatMap(Self.unit)
        if let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/exe") {
            self.executable = path
            self.isProtected = Self.isProtected("\(directory)/exe", isAt: path)
        }
        // The id was not given to another process meanwhile, so all of this is about the same one.
        guard process.isRunning() else { return nil }
    }

    /// Whether an executed file is the one at a path, and can be changed by root and this user only.
    ///
    /// The process may see another file at the path, for example in a mount namespace of its own.
    private static func isProtected(_ link: String, isAt path: String) -> Bool {
        let descriptor = unsafe open(link, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard let executed = FileStatus(descriptor: descriptor), let there = FileStatus(path: path),
            executed.isRegularFile, executed.isSameFile(as: there),
            let protection = FileProtection(descriptor: descriptor)
        else { return false }
        return protection.objection(to: path) == nil && FileProtection.objection(toDirectoriesOf: path) == nil
    }
}
