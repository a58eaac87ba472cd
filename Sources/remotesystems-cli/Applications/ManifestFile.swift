// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import RemoteSystems
import RemoteSystemsDesktop

/// A manifest that its author works on. Its directory may be writable by a group, unlike that of installed manifests.
struct ManifestFile {
    var path: String
    var bytes: [UInt8]

    private static let limit = 64 << 10

    init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }

    init(reading path: String) throws(Failure) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw Failure("localResources", "\(path) cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        guard FileStatus(descriptor: descriptor)?.isDirectory != true else {
            throw Failure(
                "\(RemoteSystemError.Code.invalidArgument)",
                "\(path) is a directory. State the file of the manifest, such as com.example.editor.json in it."
            )
        }
        self.init(path: path, bytes: try Input.readAll(descriptor, limit: Self.limit))
    }

    /// Reads the manifest and prints its problems, warnings and advice.
    ///
    /// - Parameter advises: Whether to print advice. Defaults to `true`.
    /// - Returns: `nil` if the manifest cannot be used.
    func report(_ output: Output, advises: Bool = true) throws -> ApplicationManifest? {
        let file = ConfigurationFile(path: self.path, bytes: self.bytes)
        var problems: [ConfigurationFileError] = []
        let manifest = ApplicationManifest.read(file, problems: &problems)
        for problem in problems {
            try output.json(FileProblemOutput(event: "problem", problem))
            try output.line("\(problem)".printable)
        }
        guard let manifest, problems.isEmpty else { return nil }
        for warning in manifest.warnings + (advises ? ManifestLint.advice(about: manifest, in: file) : []) {
            try output.json(FileProblemOutput(event: "warning", warning))
            var text = warning
            text.message = "warning: \(warning.message)"
            try output.line("\(text)".printable)
        }
        return manifest
    }

    /// Writes the file, which must not exist.
    func create() throws(Failure) {
        let descriptor = unsafe open(self.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw self.failed() }
        defer { close(descriptor) }
        do throws(Failure) {
            try self.write(to: descriptor)
        } catch {
            // A part of a manifest is of no use.
            _ = unsafe unlink(self.path)
            throw error
        }
    }

    /// Writes the file in place of the present one, at once or not at all. It keeps its permissions.
    func replace() throws(Failure) {
        // A link stays one.
        let target = FileManager.default.target(ofLink: self.path) ?? self.path
        let mode = FileStatus(path: target)?.permissions ?? 0o644
        let temporary = "\(target).\(getpid()).new"
        let file = ManifestFile(path: temporary, bytes: self.bytes)
        _ = unsafe unlink(temporary)
        try file.create()
        guard unsafe chmod(temporary, mode) == 0, unsafe rename(temporary, target) == 0 else {
            let failure = self.failed()
            _ = unsafe unlink(temporary)
            throw failure
        }
    }

    /// Writes the file so that the host daemon accepts it, and creates its directory if there is none.
    ///
    /// - Throws: ``Failure`` if the file cannot be written, or if the host daemon does not accept it there.
    func install() throws(Failure) {
        let directory = self.path.split(separator: "/").dropLast().joined(separator: "/")
        do {
            try FileManager.default.createDirectory(
                atPath: "/\(directory)",
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o755]
            )
        } catch {
            throw Failure("localResources", "/\(directory) cannot be created. Check its permissions.")
        }
        try self.replace()
        guard unsafe chmod(self.path, 0o644) == 0 else { throw self.failed() }
        // A directory that was there already may let other users change its files.
        do throws(ConfigurationFileError) {
            _ = try ConfigurationFile(path: self.path)
        } catch {
            throw Failure(
                "localResources",
                "The manifest was installed, but the host daemon does not use it. \(error.message)"
            )
        }
    }

    private func write(to descriptor: Int32) throws(Failure) {
        var rest = self.bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw self.failed() }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw self.failed() }
    }

    private func failed() -> Failure {
        Failure("localResources", "\(self.path) cannot be written: \(unsafe String(cString: strerror(errno))).")
    }
}

extension FileManager {
    /// The path that a symbolic link leads to; `nil` if the file is none.
    fileprivate func target(ofLink path: String) -> String? {
        guard let target = try? self.destinationOfSymbolicLink(atPath: path) else { return nil }
        guard !target.hasPrefix("/") else { return target }
        return (path.split(separator: "/", omittingEmptySubsequences: false).dropLast() + [target[...]])
            .joined(separator: "/")
    }
}

/// The output of `app` with `--json` for a manifest.
struct ManifestOutput: Encodable {
    var event: String
    let time = Date.now
    var application: String
    var file: String
    var publisher: PublisherID?
    var message: String?

    init(event: String, application: String, file: String, publisher: PublisherID? = nil, message: String? = nil) {
        self.event = event
        self.application = application
        self.file = file
        self.publisher = publisher
        self.message = message
    }

    init(event: String, _ manifest: ApplicationManifest, file: String) {
        self.init(
            event: event,
            application: manifest.application.id,
            file: file,
            publisher: manifest.application.publisher.id
        )
    }
}
