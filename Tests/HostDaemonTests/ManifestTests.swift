// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import RemoteSystems
import RemoteSystemsDesktop
import Testing

@Suite struct ManifestTests {
    private func manifest(_ text: String, name: String = "com.example.player.json") throws -> ApplicationManifest {
        try ApplicationManifest(ConfigurationFile(path: "/applications/\(name)", bytes: Array(text.utf8)))
    }

    @Test func `a manifest declares the services, their callers and the start method (R-20, R-28, X-34)`() throws {
        let manifest = try self.manifest(
            """
            {
              "id": "com.example.player", "displayName": "Player", "attributes": {"room": "kitchen"},
              "services": [
                {"name": "com.example.control", "supportsRemote": true, "callers": ["com.example.remote"],
                 "version": "2", "summary": "Plays and stops."},
                {"name": "com.example.private"}
              ],
              "schemes": ["Player", "album"],
              "start": {"exec": ["/usr/bin/player", "--service"]}
            }
            """
        )
        #expect(manifest.application.displayName == "Player")
        #expect(manifest.application.attributes == ["room": "kitchen"])
        #expect(manifest.application.uriSchemes == ["album", "player"])
        #expect(manifest.start == .exec(["/usr/bin/player", "--service"]))
        let services = manifest.application.services
        #expect(services.map(\.supportsRemote) == [true, false])
        #expect(services.map(\.callers) == [.applications(["com.example.remote"]), .account])
        #expect(services.first?.summary == "Plays and stops.")
    }

    @Test func `the types of activities and of documents are published together (H-13, H-64, H-65, H-66)`()
        throws
    {
        let manifest = try self.manifest(
            """
            {
              "id": "com.example.player", "activityTypes": ["com.example.listening"],
              "documentTypes": [
                {"mediaTypes": ["audio/flac", "Audio/Ogg"], "activityType": "com.example.editing"},
                {"mediaTypes": ["audio/midi"], "activityType": "com.example.editing"}
              ],
              "start": {"exec": ["/usr/bin/player"]}
            }
            """
        )
        let records = try #require(manifest.application.topics["org.remotesystems.activities"])
        #expect(records == ["handled-types": ["Types": ["com.example.editing", "com.example.listening"]]])
        // By this service it is started; other systems do not see it.
        let service = try #require(manifest.application.services.first)
        #expect(service.name == "org.remotesystems.activities" && !service.supportsRemote)
    }

    @Test(arguments: [
        (#""activityTypes": ["editing"]"#, "activity types such as"),
        (#""activityTypes": ["com.example.a", "com.example.a"]"#, "each once"),
        (#""documentTypes": [{"mediaTypes": ["text/plain"]}]"#, "'activityType' is missing"),
        (#""documentTypes": [{"mediaTypes": ["text"], "activityType": "com.example.a"}]"#, "media types such as"),
        (#""documentTypes": [{"mediaTypes": [], "activityType": "com.example.a"}]"#, "media types such as"),
        (
            #""documentTypes": [{"mediaTypes": ["a/b"], "activityType": "com.example.a"}, "#
                + #"{"mediaTypes": ["a/b"], "activityType": "com.example.b"}]"#,
            "each media type once"
        ),
    ])
    func `a document type without an activity type, or an invalid type, is an error (H-65)`(key: String, text: String)
        throws
    {
        let error = try #require(throws: ConfigurationFileError.self) {
            try self.manifest(#"{"id": "com.example.player", \#(key), "start": {"exec": ["/a"]}}"#)
        }
        #expect(error.message.contains(text), "\(error)")
    }

    @Test func `claimed domains are read, and the application can be started to show their pages (H-82)`() throws {
        let manifest = try self.manifest(
            """
            {"id": "com.example.player", "start": {"exec": ["/usr/bin/player"]},
             "associatedDomains": ["activitycontinuation:example.com", "activitycontinuation:*.example.org"]}
            """
        )
        #expect(
            Set(manifest.associatedDomains.map { "\($0)" })
                == ["activitycontinuation:example.com", "activitycontinuation:*.example.org"]
        )
        #expect(manifest.application.topics.isEmpty)
        #expect(manifest.application.services.map(\.name) == ["org.remotesystems.activities"])
    }

    @Test(arguments: [
        (#"["activitycontinuation:example.com", "applinks:example.com"]"#, 3, "takes entries such as"),
        (#"["activitycontinuation:https://example.com"]"#, 2, "a host only"),
        (#"["activitycontinuation:192.0.2.1"]"#, 2, "no IP address"),
        (#"["activitycontinuation:example.com","activitycontinuation:example.com"]"#, 2, "each once"),
        (
            "[" + (0...64).map { #""activitycontinuation:a\#($0).example""# }.joined(separator: ",") + "]", 2,
            "at most 64"
        ),
    ])
    func `an invalid claim is an error with its place (H-82)`(claims: String, line: Int, text: String) throws {
        let error = try #require(throws: ConfigurationFileError.self) {
            try self.manifest(
                "{\"id\": \"com.example.player\", \"start\": {\"exec\": [\"/a\"]},\n\"associatedDomains\": "
                    + claims.replacing(", ", with: ",\n") + "}"
            )
        }
        #expect(error.message.contains(text) && error.message.contains("'associatedDomains'"), "\(error)")
        #expect(error.line == line)
    }

    @Test func `a schema is read as it is published`() throws {
        let schema = AllowedValueSchema.appService.valueSet
        let json = try schema.json()
        let manifest = try self.manifest(
            #"{"id":"com.example.player","services":[{"name":"a.b","requestSchema":\#(json)}],"#
                + #""start":{"dbus":"com.example.P"}}"#
        )
        #expect(manifest.application.services.first?.requestSchema == .appService)
    }

    @Test(arguments: [
        (#"{"dbus": "com.example.Player"}"#, ApplicationStart.dbus(name: "com.example.Player")),
        (#"{"systemd": "player@1.service"}"#, .systemd(unit: "player@1.service")),
        (#"{"desktop": "com.example.Player.desktop"}"#, .desktop(id: "com.example.Player.desktop")),
        (#"{"exec": ["/bin/true"]}"#, .exec(["/bin/true"])),
    ])
    func `every start method is read`(start: String, expected: ApplicationStart) throws {
        #expect(try self.manifest(#"{"id":"com.example.player","start":\#(start)}"#).start == expected)
    }

    @Test(arguments: [
        ("{\n\"id\": \"com.example.player\",\n\"start\": {}\n}", 3, "exactly one of"),
        ("{\n\"id\": \"com.example.player\"\n}", 1, "'start' is missing"),
        (
            "{\n\"id\": \"com.example.player\",\n\n\"strat\": {}\n}", 1,
            "'start' is missing. Line 4: 'strat' is not known here and is ignored. Did you mean 'start'?"
        ),
        ("{\n\"id\": 7,\n\"start\": {\"exec\": [\"/a\"]}\n}", 2, "'id' must be a string"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": {\n\"exec\": [\"player\"]}\n}", 4, "absolute path"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": {\"exec\": []}\n}", 3, "takes a program"),
        (
            "{\n\"id\": \"com.example.player\",\n\"start\": {\"systemd\": \"../../x.service\"}\n}", 3,
            "name of a service unit"
        ),
        ("{\n\"id\": \"com.example.player\",\n\"start\": {\"dbus\": \"nodots\"}\n}", 3, "well-known bus name"),
        (
            "{\n\"id\": \"com.example.other\",\n\"start\": {\"exec\": [\"/a\"]}\n}", 2,
            "must be called com.example.other.json"
        ),
        ("{\n\"id\": \"a b\",\n\"start\": {\"exec\": [\"/a\"]}\n}", 2, "reverse-DNS"),
        ("{\n\"id\": \"-b\",\n\"start\": {\"exec\": [\"/a\"]}\n}", 2, "letter or digit first"),
        ("{\n\"id\": \"remote-systems.host\",\n\"start\": {\"exec\": [\"/a\"]}\n}", 2, "must not begin"),
        (
            "{\n\"id\": \"com.example.player\",\n\"id\": \"com.example.player\",\n\"start\": {\"exec\": [\"/a\"]}\n}",
            3, "there twice"
        ),
        (
            #"{"id": "com.example.player", "start": {"exec": ["/bin/true"], "\u0065xec": ["/tmp/other"]}}"#, 1,
            "'exec' is there twice"
        ),
        (
            "{\"st\\u0061rt\": {\"exec\": [\"/a\"]},\n\"id\": \"com.example.player\",\n\"start\": {}}",
            3, "'start' is there twice"
        ),
        ("{\n\"id\": \"com.example.player\",\n", 3, "not valid JSON: at line"),
        ("[1,\n2,,]", 2, "not valid JSON: at line"),
        ("[]", 1, "must be an object"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": tru}", 3, "not valid JSON: at line"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": 12abc}", 3, "not valid JSON: at line"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": 012}", 3, "not valid JSON: at line"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": \"\\x\"}", 3, "not valid JSON: at line"),
        ("{\n\"id\": \"com.example.player\",\n\"start\": \"\\u12\"}", 3, "not valid JSON: at line"),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [{"name": "a",
            "responseSchema": {"fields": {"x":
            {"type": "strnig"}}}}]}
            """,
            3, "'type' is one of any, array"
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [{"name": "a",
            "requestSchema": {"fields": {"x": {"required": 1}}}}]}
            """,
            2, "'requestSchema' is no schema: 'fields.x.required' is an integer and must be a bool."
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [{"name": "a",
            "requestSchema": {"fields": [1]}}]}
            """,
            2, "'fields' is an array and must be a dictionary."
        ),
        ("", 1, "not valid JSON: at line"),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]},
            "services": [
            {"name": "a"},
            {"name": "b", "callers": 7}]}
            """,
            4, "\"account\""
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]},
            "services": [
            {"name": "a", "supportsRemote": "yes"}]}
            """,
            3, "must be true or false"
        ),
        (
            "{\"id\": \"com.example.player\", \"start\": {\"exec\": [\"/a\"]},\n\"schemes\": [\"a:b\"]}", 2,
            "URI schemes"
        ),
        (
            """
            {
            "id": "com.example.player",
            "displayName": "a\\u001B[31m",
            "start": {"exec": ["/a"]}
            }
            """,
            3, "'displayName' takes no control characters"
        ),
        (
            "{\n\"id\": \"com.example.player\",\n\"displayName\": \"a\u{202E}b\",\n\"start\": {\"exec\": [\"/a\"]}\n}",
            3, "'displayName' takes no control characters"
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [
            {"name": "a\\u001B"}]}
            """,
            2, "'name' takes no control characters"
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [{"name": "a",
            "summary": "b\\nc"}]}
            """,
            2, "'summary' takes no control characters"
        ),
        (
            """
            {"id": "com.example.player", "start": {"exec": ["/a"]}, "services": [{"name": "a",
            "callers": ["b\\n"]}]}
            """,
            2, "application ids"
        ),
    ])
    func `an error is reported with its line`(text: String, line: Int, message: String) {
        #expect(throws: ConfigurationFileError.self) { try self.manifest(text) }
        var problems: [ConfigurationFileError] = []
        let file = ConfigurationFile(path: "/applications/com.example.player.json", bytes: Array(text.utf8))
        #expect(ApplicationManifest.read(file, problems: &problems) == nil)
        let error = problems.first { $0.line == line && $0.message.contains(message) }
        #expect(error != nil, "\(problems)")
        #expect(error.map { "\($0)" }?.hasPrefix("/applications/com.example.player.json:\(line): ") == true)
    }

    @Test func `a service extension is named by the absolute path of its program`() throws {
        func text(_ program: String) -> String {
            """
            {
              "id": "com.example.player",
              "start": {"exec": ["/usr/bin/player"]},
              "notificationServiceExtension": {
                "exec": ["\(program)", "--quick"]
              },
              "requires": ["notificationServiceExtension.exec"]
            }
            """
        }
        let manifest = try self.manifest(text("/usr/libexec/player"))
        #expect(manifest.serviceExtension == ["/usr/libexec/player", "--quick"] && manifest.warnings.isEmpty)
        // It is not the application: what it does does not prove the publisher.
        #expect(!manifest.programs.executables.contains("/usr/libexec/player"))
        do {
            _ = try self.manifest(text("player"))
            Issue.record("It was accepted.")
        } catch let error as ConfigurationFileError {
            #expect(error.line == 5 && error.message.contains("absolute path"), "\(error)")
        }
    }

    @Test func `content extensions name one category or several, and each category once (N-35, N-36, N-38)`() throws {
        func manifest(_ entries: String) throws -> ApplicationManifest {
            try self.manifest(
                """
                {
                  "id": "com.example.player",
                  "start": {"exec": ["/usr/bin/player"]},
                  "notificationContentExtensions": [\(entries)]
                }
                """
            )
        }
        let entry = #""exec": ["/usr/libexec/card", "--dark"], "#
        let read = try manifest(
            "{\(entry)\"categories\": \"event-invite\"},"
                + "{\(entry)\"categories\": [\"news\", \"chat\"], \"initialContentSizeRatio\": 1, "
                + "\"defaultContentHidden\": true}"
        ).contentExtensions
        #expect(read.map(\.categories) == [["event-invite"], ["news", "chat"]])
        #expect(read[0].exec == ["/usr/libexec/card", "--dark"])
        #expect(read[0].initialRatio == 0.5 && !read[0].hidesDefaultContent)
        #expect(read[1].initialRatio == 1 && read[1].hidesDefaultContent)
        let wrong = [
            "\"categories\": []", "\"categories\": [\"a\", \"a\"]", "\"categories\": 7",
            "\"initialContentSizeRatio\": 1",
            "\"categories\": \"a\", \"initialContentSizeRatio\": 0",
            "\"categories\": \"a\"}, {\(entry)\"categories\": \"a\"",
        ]
        for text in wrong {
            #expect(throws: ConfigurationFileError.self, "\(text)") { try manifest("{\(entry)\(text)}") }
        }
        #expect(throws: ConfigurationFileError.self) {
            try manifest(#"{"exec": ["card"], "categories": "a"}"#)
        }
    }

    @Test func `the directory of the sounds is an absolute path (N-05)`() throws {
        func manifest(_ path: String) throws -> ApplicationManifest {
            try self.manifest(
                #"{"id": "com.example.player", "start": {"exec": ["/a"]}, "notificationSounds": "\#(path)"}"#
            )
        }
        #expect(try manifest("/usr/share/player/sounds").soundDirectory == "/usr/share/player/sounds")
        for path in ["", "sounds", "/sou\\u0000nds"] {
            #expect(throws: ConfigurationFileError.self, "\(path)") { try manifest(path) }
        }
    }

    // MARK: Unknown keys

    @Test
    func `an unknown key is reported with its line and the probable name, and is ignored (X-34)`()
        throws
    {
        let manifest = try self.manifest(
            """
            {
              "id": "com.example.player",
              "icon": "player.svg",
              "services": [
                {"name": "com.example.control", "supportsRemote": true,
                 "suportsRemote": false,
                 "requestSchema": {"furtherKeys": true,
                                   "fields": {"Volume": {"type": "double",
                                                         "range": [0, 1]}}}}
              ],
              "start": {"exec": ["/usr/bin/player"],
                        "environment": {"A": "b"}}
            }
            """
        )
        #expect(
            manifest.warnings.map { "\($0.line ?? 0) \($0.message)" } == [
                "3 'icon' is not known here and is ignored. Known are: activityTypes, associatedDomains, attributes, "
                    + "displayName, documentTypes, executables, flatpaks, id, notificationContentExtensions, "
                    + "notificationServiceExtension, notificationSounds, publisher, requires, schemes, services, "
                    + "start, units.",
                "6 'suportsRemote' is not known here and is ignored. Did you mean 'supportsRemote'?",
                "9 'range' is not known here and is ignored. Known are: required, type.",
                "12 'environment' is not known here and is ignored. Known are: dbus, desktop, exec, systemd.",
            ]
        )
        #expect(manifest.warnings.allSatisfy { $0.path == "/applications/com.example.player.json" })
        #expect(manifest.application.services.first?.supportsRemote == true)
        #expect(manifest.application.services.first?.requestSchema?.fields.map(\.name) == ["Volume"])
        #expect(manifest.start == .exec(["/usr/bin/player"]))
    }

    @Test func `an unknown key sends no control characters to a terminal or a log, and is cut`() throws {
        let long = String(repeating: "x", count: 1_000)
        let manifest = try self.manifest(
            #"{"id":"com.example.player","start":{"dbus":"com.example.P"},"#
                + #""\u001b[2Jcleared\u202e":1,"\#(long)":2}"#
        )
        #expect(manifest.warnings.count == 2)
        for warning in manifest.warnings {
            #expect(warning.description.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x202E })
            #expect(warning.message.utf8.count < 600)
        }
        #expect(manifest.warnings.contains { $0.message.contains("[2Jcleared") })
    }

    @Test func `a manifest that requires an unknown key is refused with the key's name`() throws {
        func manifest(requiring names: String) throws -> ApplicationManifest {
            try self.manifest(
                "{\n\"id\": \"com.example.player\",\n\"start\": {\"exec\": [\"/a\"]},\n\"requires\": [\n\(names)]}"
            )
        }
        let known = #""schemes", "services.callers", "start.exec", "schema.furtherKeys""#
        #expect(try manifest(requiring: known).warnings.isEmpty)
        for (names, line, message) in [
            ("\"schemes\",\n\"icon\"", 6, "The manifest requires 'icon', which this version does not know"),
            ("\"services.calers\"", 5, "Did you mean 'services.callers'?"),
            ("7", 5, "must be a string"),
            ("\"\"", 4, "'requires' takes up to 256 names"),
        ] {
            let error = #expect(throws: ConfigurationFileError.self) { try manifest(requiring: names) }
            #expect(error?.line == line, "\(error.debugDescription)")
            #expect(error?.message.contains(message) == true, "\(error.debugDescription)")
        }
        // The missing requirement explains the other unknown keys.
        let error = #expect(throws: ConfigurationFileError.self) {
            try self.manifest(
                #"{"id":"com.example.player","requires":["start.flatpak"],"start":{"flatpak":"com.example.Player"}}"#
            )
        }
        #expect(error?.message.hasPrefix("The manifest requires 'start.flatpak'") == true)
    }

    @Test func `all errors are reported at once, by line`() {
        let text = """
            {
              "id": "com.example.player",
              "dispalyName": "x",
              "attributes": 7,
              "services": [
                {"name": "a", "supportsRemote": "yes"},
                {"nam": "b"}
              ],
              "schemes": ["a:b"],
              "start": {"exec": ["player"]}
            }
            """
        var problems: [ConfigurationFileError] = []
        let file = ConfigurationFile(path: "/applications/com.example.player.json", bytes: Array(text.utf8))
        #expect(ApplicationManifest.read(file, problems: &problems) == nil)
        #expect(problems.map(\.line) == [4, 6, 7, 9, 10], "\(problems)")
        #expect(problems.first?.message.contains("Did you mean 'displayName'?") == true)
    }

    @Test func `a program is checked before it is started`() throws {
        #expect(ProgramFile.problem(with: "/bin/sh") == nil)
        #expect(ProgramFile.problem(with: "/nonexistent/player")?.contains("there is no file") == true)
        #expect(ProgramFile.problem(with: "/usr")?.contains("is a directory") == true)
        let path = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID())").path
        try Data().write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(ProgramFile.problem(with: path)?.contains("not executable") == true)
    }

    @Test func `the directories are those of the XDG specification, in its order`() {
        #expect(
            ApplicationRegistry.directories(["XDG_DATA_HOME": "/h", "XDG_DATA_DIRS": "/a:relative:/b"])
                == ["/h", "/a", "/b"].map { $0 + "/remote-systems/applications" }
        )
        #expect(
            ApplicationRegistry.directories(["HOME": "/h"])
                == ["/h/.local/share", "/usr/local/share", "/usr/share"].map {
                    $0 + "/remote-systems/applications"
                }
        )
    }

    @Test func `a started application gets none of the host's own environment`() {
        let passed = ApplicationEnvironment.passedOn(
            from: [
                "HOME": "/h", "LC_ALL": "C", "XDG_RUNTIME_DIR": "/r", "NOTIFY_SOCKET": "/n", "LISTEN_FDS": "1",
                "REMOTE_SYSTEMS_HOST_PORT": "1", "API_TOKEN": "secret", "CREDENTIALS_DIRECTORY": "/c",
            ],
            stateDirectory: "/s"
        )
        #expect(Set(passed.keys) == ["HOME", "LC_ALL", "XDG_RUNTIME_DIR", "REMOTE_SYSTEMS_STATE", "PATH"])
        #expect(passed["REMOTE_SYSTEMS_STATE"] == "/s")
    }
}
