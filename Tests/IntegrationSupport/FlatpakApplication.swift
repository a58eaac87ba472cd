// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A program as a real Flatpak application: in Flatpak's sandbox, and behind its proxy of the session bus.
package struct FlatpakApplication: Sendable {
    private let id: String
    /// The environment variables that name the installation of Flatpak.
    package let installation: [String: String]

    /// Packs a script, and installs it in an installation of its own.
    ///
    /// The runtime consists of links to the programs and libraries of this machine, which the sandbox sees because of
    /// `host-os`. Otherwise the sandbox is as usual: of the session bus it reaches the portals and the permitted names
    /// only.
    ///
    /// - Parameters:
    ///   - id: the id of the application.
    ///   - script: the path of the script.
    ///   - names: the bus names that the application may talk to.
    ///   - directories: further directories that the application may read.
    ///   - directory: where the installation is made.
    ///   - environment: the environment variables of the user.
    package init(
        _ id: String,
        packing script: String,
        talkingTo names: [String] = [],
        reading directories: [String] = [],
        in directory: String,
        environment: [String: String]
    ) async throws {
        self.id = id
        let directory = "\(directory)/flatpak"
        self.installation = ["FLATPAK_USER_DIR": "\(directory)/user", "FLATPAK_SYSTEM_DIR": "\(directory)/system"]
        let environment = environment.merging(self.installation) { $1 }
        let (runtime, application) = ("\(directory)/runtime", "\(directory)/application")
        for part in ["\(runtime)/files", "\(runtime)/usr", "\(application)/files/bin", "\(application)/export"] {
            try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
        }
        for part in ["bin", "lib", "lib64", "libexec", "local", "sbin", "share"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(runtime)/usr/\(part)",
                withDestinationPath: "/run/host/usr/\(part)"
            )
        }
        let said = try await run(["flatpak", "--default-arch"], environment: environment)
        // Flatpak may print advice before it.
        let architecture = said.split(separator: "\n").last ?? ""
        let base = "runtime=org.example.Host/\(architecture)/1\nsdk=org.example.Host/\(architecture)/1"
        try "[Runtime]\nname=org.example.Host\n\(base)\n"
            .write(toFile: "\(runtime)/metadata", atomically: true, encoding: .utf8)
        try """
        [Application]
        name=\(id)
        \(base)
        command=program

        [Context]
        filesystems=host-os;\(directories.map { "\($0):ro;" }.joined())

        [Session Bus Policy]
        \(names.map { "\($0)=talk\n" }.joined())
        """.write(toFile: "\(application)/metadata", atomically: true, encoding: .utf8)
        try await run(["install", "-m", "755", script, "\(application)/files/bin/program"])
        let repository = "\(directory)/repository"
        for arguments in [
            ["build-export", "--runtime", repository, runtime, "1"], ["build-export", repository, application, "1"],
            ["--user", "remote-add", "--no-gpg-verify", "here", repository],
            ["--user", "install", "--assumeyes", "--noninteractive", "here", id],
        ] {
            try await run(["flatpak"] + arguments, environment: environment)
        }
    }

    /// Makes an application of a built program. The program and the Swift libraries are too large to be packed quickly,
    /// so the application contains a script that runs the program where it was built.
    ///
    /// - Parameters:
    ///   - id: the id of the application.
    ///   - program: the name of the program.
    ///   - names: the bus names that the application may talk to.
    ///   - directory: where the installation is made.
    ///   - environment: the environment variables of the user.
    package static func running(
        _ program: String,
        as id: String,
        talkingTo names: [String] = [],
        in directory: String,
        environment: [String: String]
    ) async throws -> FlatpakApplication {
        let path = try builtProgram(program)
        let script = "\(directory)/\(program)"
        try writeProgram("#!/bin/sh\nexec '\(path)' \"$@\"\n", to: script)
        let own = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return try await FlatpakApplication(
            id,
            packing: script,
            talkingTo: names,
            reading: [own] + Self.libraries(of: path),
            in: directory,
            environment: environment
        )
    }

    /// The directories of a program's libraries, without those of the runtime.
    private static func libraries(of program: String) async throws -> [String] {
        // `libfoo.so.1 => /lib/libfoo.so.1 (0x00007f4a00000000)`
        let directories = try await run(["ldd", program]).split(separator: "\n").compactMap { line in
            line.firstMatch(of: /.* => (\/.*)\/[^\/]+ \(0x/).map { String($0.output.1) }
        }
        return Set(directories).filter { !$0.hasPrefix("/usr/") && !$0.hasPrefix("/lib") }.sorted()
    }

    /// A command line that runs the application until the process ends.
    ///
    /// - Parameters:
    ///   - arguments: the program's arguments.
    ///   - options: further options of `flatpak run`.
    package func command(_ arguments: [String] = [], options: [String] = []) -> [String] {
        ["flatpak", "run", "--die-with-parent", "--no-documents-portal", "--no-a11y-bus"] + options + [self.id]
            + arguments
    }

    /// Starts the application.
    ///
    /// - Parameters:
    ///   - arguments: the program's arguments.
    ///   - options: further options of `flatpak run`.
    ///   - environment: the environment variables of the user.
    package func start(
        _ arguments: [String],
        options: [String] = [],
        environment: [String: String]
    ) throws -> ChildProcess {
        try ChildProcess(
            self.command(arguments, options: options),
            environment: environment.merging(self.installation) { $1 },
            readsErrors: true
        )
    }
}
