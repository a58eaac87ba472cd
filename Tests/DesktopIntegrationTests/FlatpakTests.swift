// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// The note sample as a real Flatpak application: in Flatpak's sandbox, and behind its proxy of the session bus.
    @Suite struct Flatpaks {
        private static let id = "org.example.notes"

        @Test func `a Flatpak is proven if the signed manifest names it, and its program outside is not (H-05, B-04)`()
            async throws
        {
            try await Desktop.with { builder in
                let flatpak = try await Flatpak(packing: "note.py", as: Self.id, in: builder)
                try await TwoBuses.with(settings: { _ in flatpak.settings }) { first, second in
                    let key = "\(builder.directory)/key"
                    try await run([try builtProgram("remotesystems"), "app", "keygen", key])
                    // Flatpak's id is not that which the publisher has signed.
                    try await first.register(Self.id, Self.manifest(flatpak: "org.example.Other"), key: key)
                    try await second.register(Self.id, Self.manifest(flatpak: Self.id), key: key)
                    let offering = try first.start(flatpak.command("offer", "Shopping", "milk"))
                    try await offering.prints("offered: Shopping")
                    try await second.lists("Shopping", proof: "unproven")
                    try await first.register(Self.id, Self.manifest(flatpak: Self.id), key: key)
                    try await second.lists("Shopping", proof: "proven")

                    // The same program outside of the sandbox is a script like any other.
                    let id = try await second.listed("Shopping", with: "note.py")
                    let outside = try second.note("note.py", "receive")
                    try await outside.prints("ready: continuing notes")
                    try await second.attempts(id) { $0.code == 1 && $0.lines.joined().contains("is not proven") }
                    #expect(!outside.lines.contains { $0.hasPrefix("continued:") })
                    await outside.stop()

                    let receiving = try second.start(flatpak.command("receive"))
                    try await receiving.prints("ready: continuing notes")
                    try await second.attempts(id) { $0.code == 0 }
                    try await receiving.prints("continued: Shopping: milk")
                    try await offering.prints("handed over to \(Self.id)")
                    await receiving.stop()
                    await offering.stop()
                }
            }
        }

        private static func manifest(flatpak: String) -> String {
            #""activityTypes": ["org.example.note"], "flatpaks": ["\#(flatpak)"], "start": {"dbus": "\#(Self.id)"}"#
        }
    }
}

/// An installation of Flatpak with one application.
private struct Flatpak {
    let id: String
    /// The environment variables that name the installation.
    let settings: [String: String]

    /// Packs one of the samples, and installs it.
    ///
    /// The runtime consists of links to the programs and libraries of this machine, which the sandbox sees because of
    /// `host-os`. Otherwise the sandbox is as usual: of the session bus it reaches the host daemon only.
    init(packing sample: String, as id: String, in desktop: Desktop) async throws {
        self.id = id
        let directory = "\(desktop.directory)/flatpak"
        self.settings = ["FLATPAK_USER_DIR": "\(directory)/user", "FLATPAK_SYSTEM_DIR": "\(directory)/system"]
        let environment = desktop.environment.merging(self.settings) { $1 }
        let (runtime, application) = ("\(directory)/runtime", "\(directory)/application")
        for part in ["\(runtime)/files", "\(runtime)/usr", "\(application)/files/bin", "\(application)/export"] {
            try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
        }
        for part in ["bin", "lib", "lib64", "sbin", "share"] {
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
        command=\(sample)

        [Context]
        filesystems=host-os;

        [Session Bus Policy]
        org.remotesystems.Activities1=talk

        """.write(toFile: "\(application)/metadata", atomically: true, encoding: .utf8)
        let samples = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Samples/other-languages")
        let source = samples.appending(path: sample).standardizedFileURL.path
        try await run(["install", "-m", "755", source, "\(application)/files/bin/\(sample)"])
        let repository = "\(directory)/repository"
        for arguments in [
            ["build-export", "--runtime", repository, runtime, "1"], ["build-export", repository, application, "1"],
            ["--user", "remote-add", "--no-gpg-verify", "here", repository],
            ["--user", "install", "--assumeyes", "--noninteractive", "here", id],
        ] {
            try await run(["flatpak"] + arguments, environment: environment)
        }
    }

    /// The command line that runs the application until the process ends.
    func command(_ arguments: String...) -> [String] {
        ["flatpak", "run", "--die-with-parent", "--no-documents-portal", "--no-a11y-bus", self.id] + arguments
    }
}

extension TwoBuses {
    /// Lets an application continue an activity, again until the result is the wanted one.
    fileprivate func attempts(
        _ id: String,
        until isWanted: ((code: Int32, lines: [String])) -> Bool
    ) async throws {
        var last: [String] = []
        do {
            _ = try await eventually("the result", within: .seconds(60), every: .seconds(1)) {
                () async throws -> Bool? in
                let continuing = try self.note("note.py", "continue", id)
                let code = try await continuing.exit(within: .seconds(60))
                last = continuing.lines
                return isWanted((code, last)) ? true : nil
            }
        } catch {
            throw IntegrationError("\(error); the last one: \(last)")
        }
    }
}
