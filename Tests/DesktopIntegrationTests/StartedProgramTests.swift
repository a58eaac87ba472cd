// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Programs on the session bus that are started when an activity is continued.
    @Suite struct StartedPrograms {
        private static let id = "org.example.notes"

        @Test func `a program that does not run is started by the session bus and gets the activity (H-12)`()
            async throws
        {
            try await TwoBuses.with(settings: Self.install) { first, second in
                let offering = try first.note("note.py", "offer", "Shopping", "milk")
                let id = try await second.listed("Shopping", with: "note.py")
                #expect(Self.printed(on: second.desktop) == nil)
                let continuing = try second.start([
                    try builtProgram("remotesystems"), "activities", "continue", id, "--loopback", "--json",
                ])
                #expect(try await continuing.exit(within: .seconds(60)) == 0, "\(continuing.lines)")
                let event = continuing.lines.first { $0.contains(#""event":"continued""#) }
                #expect(event?.contains(#""application":"\#(Self.id)""#) == true, "\(continuing.lines)")
                // One start, and one content.
                let printed = Self.printed(on: second.desktop)
                #expect(printed == "ready: continuing notes\ncontinued: Shopping: milk\n")
                #expect(Self.printed(on: first.desktop) == nil)
                try await offering.prints("handed over to \(Self.id)")
            }
        }

        /// Installs the program before the bus and the daemon start: its service file of the bus, and its manifest.
        private static func install(on desktop: Desktop) throws -> [String: String] {
            let directory = desktop.directory
            try desktop.write(Self.program, to: "notes.py")
            try desktop.installService(
                Self.id,
                exec:
                    "/usr/bin/python3 \(directory)/notes.py \(directory)/printed \(TwoBuses.path(ofSample: "note.py"))"
            )
            try FileManager.default.createDirectory(
                atPath: "\(directory)/data/remote-systems/applications",
                withIntermediateDirectories: true
            )
            try desktop.write(
                #"{"id": "\#(Self.id)", "activityTypes": ["org.example.note"], "start": {"dbus": "\#(Self.id)"}}"#,
                to: "data/remote-systems/applications/\(Self.id).json"
            )
            return [:]
        }

        /// What the started program has printed; `nil` if it was not started.
        private static func printed(on desktop: Desktop) -> String? {
            try? String(contentsOfFile: "\(desktop.directory)/printed", encoding: .utf8)
        }

        /// Runs the sample as the owner of its bus name. Its output goes to a file, since the bus starts it.
        private static let program = """
            import runpy, sys
            from gi.repository import Gio
            sys.stdout = open(sys.argv[1], "a")
            Gio.bus_own_name(Gio.BusType.SESSION, "\(id)", Gio.BusNameOwnerFlags.NONE, None, None, None)
            sys.argv = [sys.argv[2], "receive"]
            runpy.run_path(sys.argv[0], run_name="__main__")

            """
    }
}
