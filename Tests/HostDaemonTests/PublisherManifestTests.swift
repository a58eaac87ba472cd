// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import RemoteSystemsDesktop
import Testing

/// Signed manifests, and the comparison of processes with them.
@Suite struct PublisherManifestTests {
    private static let text = """
        {"id": "com.example.editor", "activityTypes": ["com.example.editing"], "executables": ["/usr/bin/editor"],
         "units": ["editor.service"], "flatpaks": ["com.example.Editor"], "start": {"dbus": "com.example.Editor"}}
        """

    private func manifest(_ text: String) throws -> ApplicationManifest {
        let path = "/applications/com.example.editor.json"
        return try ApplicationManifest(ConfigurationFile(path: path, bytes: Array(text.utf8)))
    }

    private func signed(_ key: PublisherKey = PublisherKey(), _ text: String = Self.text) throws -> String {
        String(decoding: try ManifestSignature.signed(Array(text.utf8), by: key), as: UTF8.self)
    }

    // MARK: Signatures

    @Test func `a manifest is signed as a whole, whatever its layout (H-05, H-46, B-03)`() throws {
        let key = try PublisherKey().successor()
        let signed = try self.signed(key)
        #expect(try self.manifest(signed).application.publisher == .proven(key.chain.id))
        #expect(try self.manifest(Self.text).application.publisher == .unsigned)
        // Another layout is the same manifest.
        let compact = signed.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.joined()
        #expect(try self.manifest(compact).application.publisher == .proven(key.chain.id))
        // A second signature replaces the first one.
        let other = PublisherKey()
        #expect(try self.manifest(self.signed(other, signed)).application.publisher == .proven(other.chain.id))
    }

    @Test(arguments: [
        ("com.example.editing", "com.example.stealing"), ("/usr/bin/editor", "/tmp/editor"),
        ("editor.service", "other.service"), ("\"units\"", "\"services\": [], \"units\""),
        ("\"keys\" : [", "\"keys\" : [\"AAAA\", "),
    ]) func `a manifest that was changed after it was signed is refused (H-06)`(old: String, new: String) throws {
        let signed = try self.signed()
        let changed = signed.replacing(old, with: new)
        try #require(changed != signed)
        let error = #expect(throws: ConfigurationFileError.self) { try self.manifest(changed) }
        #expect(error?.line != nil)
    }

    @Test func `the signature of another manifest, and a publisher without one, are refused (H-06)`() throws {
        let key = PublisherKey()
        let other = try ValueSet(json: self.signed(key, Self.text.replacing("editing", with: "reading")))
        var stolen = try ValueSet(json: Self.text)
        stolen["publisher"] = other["publisher"]
        #expect(throws: ConfigurationFileError.self) { try self.manifest(stolen.json()) }
        var own = try ValueSet(json: self.signed(key))
        for part in ["id", "keys", "signature"] {
            var publisher = own["publisher"]?.dictionary ?? [:]
            publisher[part] = nil
            var incomplete = own
            incomplete["publisher"] = .dictionary(publisher)
            #expect(throws: ConfigurationFileError.self, "\(part)") { try self.manifest(incomplete.json()) }
        }
        // The id of another publisher.
        var publisher = own["publisher"]?.dictionary ?? [:]
        publisher["id"] = .string("\(PublisherKey().chain.id)")
        own["publisher"] = .dictionary(publisher)
        #expect(throws: ConfigurationFileError.self) { try self.manifest(own.json()) }
    }

    @Test(arguments: try WireVectors.list("publishers"))
    func `a manifest's signature holds, or not, as its vector states`(vector: WireVectors.Vector) throws {
        let bytes = Array(try vector.required("text", \.string).utf8)
        guard vector.isValid else {
            #expect(throws: IdentityError.self) { _ = try ManifestSignature(of: bytes) }
            return
        }
        let signature = try #require(try ManifestSignature(of: bytes))
        #expect("\(signature.publisher)" == vector["json"]?["publisher"]?.string)
        #expect(UInt64(signature.keys) == vector["json"]?["keys"]?.unsigned)
    }

    // MARK: Programs

    @Test func `a process is the application by its unit, its sandbox or its program (H-05, H-46)`() {
        var programs = ManifestPrograms()
        programs.executables = ["/bin/true"]
        programs.units = ["editor.service"]
        programs.flatpaks = ["com.example.Editor"]
        var process = ProgramFacts()
        #expect(!programs.include(process))
        process.unit = "editor.service"
        #expect(programs.include(process))
        process.unit = "other.service"
        #expect(!programs.include(process))
        process = ProgramFacts()
        process.executable = ProcessInfo.resolved("/bin/true")
        #expect(!programs.include(process), "others can change the program")
        process.isProtected = true
        #expect(programs.include(process))
        process.executable = "/bin/false"
        #expect(!programs.include(process))
        // Paths in a sandbox mean other files.
        process.executable = ProcessInfo.resolved("/bin/true")
        process.flatpak = "com.example.Other"
        #expect(!programs.include(process))
        process.flatpak = ""
        #expect(!programs.include(process))
        process.flatpak = "com.example.Editor"
        #expect(programs.include(process))
    }

    @Test(arguments: [
        "/usr/bin/python3", "/usr/bin/python3.13", "/usr/bin/gjs", "/usr/bin/gjs-console", "/bin/sh", "/usr/bin/env",
        "/lib64/ld-linux-x86-64.so.2", "/usr/bin/node", "/usr/bin/perl5.40.1", "/usr/lib/jvm/java-21/bin/java",
        "/opt/pypy3", "/usr/bin/lua5.4",
    ]) func `an interpreter is not the application that it runs (H-46)`(path: String) throws {
        #expect(ManifestPrograms.isInterpreter(path))
        let named = #"{"id": "com.example.editor", "executables": ["\#(path)"], "start": {"dbus": "com.example.E"}}"#
        let error = #expect(throws: ConfigurationFileError.self) { try self.manifest(named) }
        #expect(error?.message.contains("interpreter") == true)
        // It may be started, and is not the application.
        let started = try self.manifest(
            #"{"id": "com.example.editor", "start": {"exec": ["\#(path)", "/usr/share/editor/main"]}}"#
        )
        #expect(started.programs == ManifestPrograms())
        var process = ProgramFacts()
        process.executable = path
        process.isProtected = true
        #expect(!started.programs.include(process))
    }

    @Test(arguments: ["/usr/bin/editor", "/usr/bin/shell", "/usr/bin/nodes", "/usr/bin/javascript-lint"])
    func `a program is not taken for an interpreter by a similar name`(path: String) {
        #expect(!ManifestPrograms.isInterpreter(path))
    }

    @Test func `what the manifest starts is the application, and its lists are bounded`() throws {
        let exec = try self.manifest(#"{"id": "com.example.editor", "start": {"exec": ["/usr/bin/editor", "-x"]}}"#)
        #expect(exec.programs.executables == ["/usr/bin/editor"])
        let unit = try self.manifest(#"{"id": "com.example.editor", "start": {"systemd": "editor.service"}}"#)
        #expect(unit.programs.units == ["editor.service"])
        for wrong in [
            #""executables": ["editor"]"#, #""executables": ["/a", "/a"]"#, #""units": ["editor"]"#,
            #""flatpaks": ["editor"]"#,
            #""executables": [\#((0...16).map { "\"/\($0)\"" }.joined(separator: ","))]"#,
        ] {
            let text = #"{"id": "com.example.editor", \#(wrong), "start": {"dbus": "com.example.E"}}"#
            #expect(throws: ConfigurationFileError.self, "\(wrong)") { try self.manifest(text) }
        }
    }

    @Test(
        arguments: [
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.service\n", "editor.service"),
            ("0::/system.slice/editor.service/inner/deeper\n", "editor.service"),
            ("0::/user.slice/user@1000.service/app.slice/app-gnome-editor-12.scope\n", nil),
            ("12:cpu:/editor.service\n0::/user.slice\n", nil), ("0::/\n", nil), ("", nil),
        ] as [(String, String?)]
    ) func `the unit of a process is the deepest one of its control group`(
        controlGroup: String,
        unit: String?
    ) {
        #expect(ProgramFacts.unit(in: controlGroup) == unit)
    }

    @Test func `facts are read of a process that runs, and only of that one`() throws {
        let own = ProgramProcess(pid: getpid())
        let facts = try #require(ProgramFacts(own))
        #expect(facts.executable == ProcessInfo.resolved("/proc/self/exe"))
        #expect(ProgramFacts(ProgramProcess(pid: 0)) == nil)
        // The id was given to another process meanwhile.
        let root = FileManager.default.temporaryDirectory.appending(path: "proc-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: root) }
        try FileManager.default.createDirectory(atPath: "\(root)/\(getpid())", withIntermediateDirectories: true)
        let stat = "\(getpid()) (a ) b) S " + (0..<18).map { "\($0)" }.joined(separator: " ") + " 4711 0"
        try stat.write(toFile: "\(root)/\(getpid())/stat", atomically: true, encoding: .utf8)
        let earlier = ProgramProcess(pid: getpid(), root: root)
        #expect(earlier.started == 4711 && earlier.isRunning(root: root))
        #expect(!earlier.isRunning() && ProgramFacts(earlier) == nil)
    }

    // MARK: The registry

    @Test func `the registry vouches for the program that a signed manifest names (H-05, H-06, B-05)`() async throws {
        let data = FileManager.default.temporaryDirectory.appending(path: "data-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: data) }
        let place = "\(data)/remote-systems/applications"
        try FileManager.default.createDirectory(
            atPath: place,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        let sleeping = Process()
        sleeping.executableURL = URL(filePath: "/bin/sleep")
        sleeping.arguments = ["60"]
        try sleeping.run()
        defer { sleeping.terminate() }
        let key = PublisherKey()
        func publisher(_ text: String?, id: String = "com.example.editor") async throws -> ApplicationPublisher {
            let path = "\(place)/\(id).json"
            try? FileManager.default.removeItem(atPath: path)
            if let text {
                try text.write(toFile: path, atomically: true, encoding: .utf8)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            }
            let registry = ApplicationRegistry(environment: ["XDG_DATA_HOME": data, "XDG_DATA_DIRS": "/nowhere"])
            // A damaged manifest counts, too: otherwise damaging it would switch developer mode on.
            #expect(registry.hasSignedManifests == (text?.contains("publisher") == true))
            return await registry.publisher(of: id, process: ProgramProcess(pid: sleeping.processIdentifier))
        }
        let sleep = Self.text.replacing("/usr/bin/editor", with: "/bin/sleep")
        let id = key.chain.id
        #expect(try await publisher(self.signed(key, sleep)) == .proven(id))
        // The successor of the key signs for the same publisher.
        #expect(try await publisher(self.signed(key.successor(), sleep)) == .proven(id))
        #expect(try await publisher(self.signed(key)) == .unproven(id))
        #expect(try await publisher(sleep) == .unsigned)
        #expect(try await publisher(nil) == .unsigned)
        #expect(try await publisher(self.signed(key, sleep).replacing("sleep", with: "true")) == .invalidSignature)
        // It is no JSON any more, and still says that it was signed.
        #expect(try await publisher(String(self.signed(key, sleep).dropLast(2))) == .unsigned)
    }

    // MARK: Advice

    @Test func `advice names what is probably not meant (H-47, H-49, B-04)`() throws {
        func advice(_ text: String) throws -> [String] {
            let file = ConfigurationFile(path: "/a/com.example.editor.json", bytes: Array(text.utf8))
            return ManifestLint.advice(about: try ApplicationManifest(file), in: file) { $0 == "/usr/bin/editor" }
                .map(\.message)
        }
        #expect(try advice(self.signed()) == [])
        #expect(try advice(Self.text).first?.contains("not signed") == true)
        let foreign = Self.text.replacing("com.example.editing", with: "org.other.editing")
        #expect(try advice(foreign).contains { $0.contains("does not begin with 'com.example.'") })
        let missing = Self.text.replacing("/usr/bin/editor", with: "/usr/bin/missing")
        #expect(try advice(missing).contains { $0.contains("not installed") })
        let unnamed = #"{"id": "com.example.editor", "start": {"dbus": "com.example.Editor"}}"#
        #expect(try advice(unnamed).contains { $0.contains("will not be proven") })
    }

    @Test func `advice names a script, as which no process counts, and what to do instead (H-46)`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "script-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let script = "\(directory)/editor"
        try Data("#!/bin/sh\nsleep 60\n".utf8).write(to: URL(filePath: script))
        func advice(_ keys: String) throws -> [ConfigurationFileError] {
            let text = "{\"id\": \"com.example.editor\",\n \(keys)}"
            let file = ConfigurationFile(path: "/a/com.example.editor.json", bytes: Array(text.utf8))
            return ManifestLint.advice(about: try ApplicationManifest(file), in: file)
                .filter { $0.message.contains("is a script") }
        }
        let started = try advice(#""start": {"exec": ["\#(script)", "--service"]}"#)
        #expect(started.map(\.line) == [2])
        #expect(
            started.first?.message
                == "\(script) is a script, which runs as its interpreter: the publisher will not be proven. Run it "
                + "in a service unit ('start': {'systemd': 'NAME.service'}) or as a Flatpak ('flatpaks'), or name a "
                + "compiled program in 'executables'."
        )
        let named = try advice(
            "\"executables\": [\"\(script)\"],\n \"start\": {\"dbus\": \"com.example.Editor\"}"
        )
        #expect(named.map(\.line) == [2])
        // The kernel names the interpreter as the program of the process.
        var facts = ProgramFacts()
        (facts.executable, facts.isProtected) = (ProcessInfo.resolved("/bin/sh"), true)
        #expect(!ManifestPrograms(executables: [script]).include(facts))
        // These are proven otherwise.
        let exec = #""start": {"exec": ["\#(script)"]}"#
        #expect(try advice("\"units\": [\"editor.service\"],\n \(exec)").isEmpty)
        #expect(try advice("\"flatpaks\": [\"com.example.editor\"],\n \(exec)").isEmpty)
        #expect(try advice("\"executables\": [\"/bin/sleep\"],\n \(exec)").isEmpty)
        #expect(try advice(#""start": {"exec": ["/bin/sleep", "60"]}"#).isEmpty)
    }
}

extension ProcessInfo {
    /// The path of a file without symbolic links.
    fileprivate static func resolved(_ path: String) -> String? {
        guard let real = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(real) }
        return unsafe String(cString: real)
    }
}
