// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import IntegrationSupport
import Testing

extension DesktopTests.ActivityBus {
    @Test func `a program learns that its activity is returned, also when it has offered another one since`()
        async throws
    {
        try await TwoBuses.with { first, second in
            let offering = try first.start(["/usr/bin/python3", "-c", Self.offeringTwo])
            try await offering.prints("offered one")
            let record = "\(second.desktop.directory)/reader"
            let reader = try second.start([
                try builtProgram("activity-probe"), "test.reader", record, "lo", "org.example.note", "fail=restore",
                "hold=restore",
            ])
            let remotesystems = try builtProgram("remotesystems")
            // Fails with another reason before the activity and the application are listed.
            let continuing = try await eventually("the continuation", within: .seconds(60)) {
                () async throws -> ChildProcess? in
                let continuing = try second.start(
                    [remotesystems, "activities", "continue", "org.example.note", "--loopback", "--in", "test.reader"]
                )
                while continuing.exitCode == nil {
                    if offering.lines.contains("offered two") { return continuing }
                    try await Task.sleep(for: .milliseconds(20))
                }
                return nil
            }
            #expect(offering.lines == ["offered one", "Continued one", "offered two"])
            try Data().write(to: URL(filePath: "\(record).go"))
            try await offering.prints("Returned one")
            let code = try await continuing.exit(within: .seconds(60))
            #expect(code != 0, "\(continuing.lines)")
            await reader.stop()
            await offering.stop()
        }
    }

    /// Offers an activity, and another one when it was continued.
    private static let offeringTwo = """
        from gi.repository import Gio, GLib
        NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
        bus = Gio.bus_get_sync(Gio.BusType.SESSION)
        activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
        names = {}
        def offer(name):
            content = {"Text": GLib.Variant("s", name)}
            names[activities.Offer("(ssa{sv}a{sv})", "org.example.note", name, content, {})] = name
            print("offered", name, flush=True)
        def signalled(_proxy, _sender, signal, arguments):
            if signal in ("Continued", "Returned"):
                print(signal, names[arguments.unpack()[0]], flush=True)
            if signal == "Continued":
                offer("two")
        activities.connect("g-signal", signalled)
        activities.Register("(sas)", "org.example.notes", [])
        offer("one")
        GLib.MainLoop().run()
        """
}
