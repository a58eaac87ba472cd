// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import RemoteSystems
import Testing

extension DesktopTests {
    /// Hand-off of programs in other languages, over the session bus of each system's host daemon.
    @Suite struct ActivityBus {
        @Test(arguments: [("note.py", "note.js"), ("note.js", "note.py")])
        func `a program in one language continues what one in another language offers`(
            origin: String,
            receiver: String
        ) async throws {
            try await TwoBuses.with { first, second in
                let offering = try first.note(origin, "offer", "Shopping", "milk & <bread>")
                try await offering.prints("offered: Shopping")
                let receiving = try second.note(receiver, "receive")
                try await receiving.prints("ready: continuing notes")
                let id = try await second.listed("Shopping", with: receiver)
                let continuing = try second.note(origin, "continue", id)
                #expect(try await continuing.exit(within: .seconds(60)) == 0, "\(continuing.lines)")
                #expect(continuing.lines == ["continued in org.example.notes"])
                try await receiving.prints("continued: Shopping: milk & <bread>")
                try await offering.prints("handed over to org.example.notes")
                #expect(try await offering.exit(within: .seconds(60)) == 0)
                let again = try second.note(receiver, "continue", id)
                #expect(try await again.exit(within: .seconds(60)) == 1)
                // Without the prefix that GLib puts before the error of another program.
                #expect(again.lines.last == "\(receiver): No other system offers this activity.", "\(again.lines)")
                await receiving.stop()
            }
        }

        @Test(arguments: [true, false])
        func `an offer whose id was copied is continued with its origin, or after the copy is gone`(
            statesOrigin: Bool
        ) async throws {
            try await TwoBuses.with { first, second in
                let offering = try first.note("note.py", "offer", "Shopping", "milk")
                try await offering.prints("offered: Shopping")
                let receiving = try second.note("note.py", "receive")
                try await receiving.prints("ready: continuing notes")
                let id = try await second.listed("Shopping", with: "note.py")
                let topic = ApplicationTopic("org.remotesystems.activities")
                try topic.put(
                    id,
                    [
                        "Type": "org.example.note", "Title": "Copied", "Lifetime": 600,
                        "Expires": .date(secondsSince1970: 4_000_000_000),
                    ]
                )
                var options = RemoteSystemHost.Options()
                options.features.append(HostFeature(topics: [topic]))
                let copying = RemoteSystemHost(
                    RemoteSystemsConfiguration(
                        applicationID: "org.example.copier",
                        network: .loopback,
                        stateDirectory: first.state
                    ),
                    services: [],
                    options: options
                )
                let running = Task { try await copying.run() }
                defer { running.cancel() }
                _ = try await second.listed("Copied", with: "note.py")
                let refused = try second.note("note.py", "continue", id)
                #expect(try await refused.exit(within: .seconds(60)) == 1, "\(refused.lines)")
                let message = refused.lines.joined(separator: " ")
                #expect(message.contains("  org.example.notes  ") && message.contains("  org.example.copier  "))
                #expect(message.contains("An id is unique unless a system copies it."), "\(message)")
                #expect(message.contains("'ContinueOffer'") && !message.contains("--from"), "\(message)")
                if statesOrigin {
                    let continuing = try second.start(["/usr/bin/python3", "-c", Self.exact, id])
                    #expect(try await continuing.exit(within: .seconds(60)) == 0, "\(continuing.lines)")
                    #expect(continuing.lines == ["org.example.notes"])
                } else {
                    topic.remove(id)
                    _ = try await eventually("the end of the copy", within: .seconds(60)) { () async throws -> Bool? in
                        let continuing = try second.note("note.py", "continue", id)
                        return try await continuing.exit(within: .seconds(60)) == 0 ? true : nil
                    }
                }
                try await receiving.prints("continued: Shopping: milk")
                await receiving.stop()
            }
        }

        @Test(arguments: ["note.py", "note.js"])
        func `without the host daemon, a program says how to start it`(program: String) async throws {
            let path = TwoBuses.path(ofSample: program)
            let listing = try ChildProcess(["dbus-run-session", "--", path, "list"], readsErrors: true)
            #expect(try await listing.exit(within: .seconds(60)) == 1)
            #expect(listing.lines.contains { $0.contains("'remotesystems host run'") }, "\(listing.lines)")
        }

        @Test(arguments: ["note.py", "note.js"])
        func `a program with a missing, unknown or superfluous argument states what it takes`(
            program: String
        ) async throws {
            let path = TwoBuses.path(ofSample: program)
            let mistakes = [
                [], ["contine", "id"], ["continue"], ["continue", "id", "more"], ["list", "all"], ["receive", "all"],
                ["offer", "Shopping"], ["offer", "Shopping", "milk", "bread"],
            ]
            for arguments in mistakes {
                let refused = try ChildProcess(["dbus-run-session", "--", path] + arguments, readsErrors: true)
                #expect(try await refused.exit(within: .seconds(60)) != 0)
                let lines = refused.lines
                #expect(lines.contains { $0.contains("offer TITLE TEXT") }, "\(arguments): \(lines)")
                #expect(!lines.contains { $0.contains("Traceback") }, "\(arguments): \(lines)")
            }
        }

        @Test
        func `an activity that the receiving program does not continue stays offered by its origin`()
            async throws
        {
            try await TwoBuses.with { first, second in
                let offering = try first.note("note.py", "offer", "Shopping", "milk")
                try await offering.prints("offered: Shopping")
                // It has no handler object, so each call of it fails.
                let failing = try second.start(["/usr/bin/python3", "-c", Self.withoutHandler])
                try await failing.prints("registered")
                let id = try await second.listed("Shopping", with: "note.py")
                let continuing = try second.note("note.py", "continue", id)
                #expect(try await continuing.exit(within: .seconds(60)) == 1, "\(continuing.lines)")
                await failing.stop()
                let receiving = try second.note("note.py", "receive")
                try await receiving.prints("ready: continuing notes")
                _ = try await second.listed("Shopping", with: "note.py")
                #expect(offering.lines == ["offered: Shopping"])
                await receiving.stop()
                await offering.stop()
            }
        }

        /// Registers for notes, and cannot continue any.
        private static let withoutHandler = """
            from gi.repository import Gio, GLib
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            activities.Register("(sas)", "org.example.notes", ["org.example.note"])
            print("registered", flush=True)
            GLib.MainLoop().run()
            """

        @Test func `a continuation that takes long is shown on the desktop until it ends (H-95)`() async throws {
            try await TwoBuses.with { first, second in
                try await OneDesktop.withScript("notification_server", ["plain"], second.environment) { server in
                    let offering = try first.note("note.py", "offer", "Shopping", "milk")
                    try await offering.prints("offered: Shopping")
                    let receiving = try second.start(["/usr/bin/python3", "-c", Self.slow])
                    try await receiving.prints("registered")
                    let id = try await second.listed("Shopping", with: "note.py")
                    let continuing = try second.note("note.py", "continue", id)
                    _ = try await eventually("the notification", within: .seconds(60)) {
                        server.lines.contains { $0.contains(#"Continuing \u201cShopping\u201d"#) } ? true : nil
                    }
                    #expect(continuing.exitCode == nil && !server.lines.contains { $0.contains("close") })
                    receiving.send(SIGUSR1)
                    let code = try await continuing.exit(within: .seconds(60))
                    #expect(code == 0, "\(continuing.lines)")
                    _ = try await eventually("the end of the notification", within: .seconds(60)) {
                        server.lines.contains(#"{"close": 1}"#) ? true : nil
                    }
                    await receiving.stop()
                }
            }
        }

        /// Registers for notes, and continues one when it receives SIGUSR1.
        private static let slow = """
            import signal
            from gi.repository import Gio, GLib
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            waiting = []
            def respond():
                while waiting:
                    waiting.pop().return_value(GLib.Variant("(b)", (True,)))
                return True
            handler = ("<node><interface name='org.remotesystems.ActivityHandler1'><method name='Continue'>"
                + "".join(f"<arg type='{kind}' direction='in'/>" for kind in ("s", "s", "a{sv}", "a{sv}"))
                + "<arg type='b' direction='out'/></method></interface></node>")
            bus.register_object("/org/remotesystems/ActivityHandler1",
                Gio.DBusNodeInfo.new_for_xml(handler).interfaces[0],
                lambda *arguments: waiting.append(arguments[-1]))
            GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, respond)
            activities.Register("(sas)", "org.example.notes", ["org.example.note"])
            print("registered", flush=True)
            GLib.MainLoop().run()
            """

        @Test func `a program that ends without a word withdraws its offer`() async throws {
            try await TwoBuses.with { first, second in
                let offering = try first.note("note.py", "offer", "Shopping", "milk")
                _ = try await second.listed("Shopping", with: "note.py")
                kill(offering.id, SIGKILL)
                _ = try await eventually("the offer has ended", within: .seconds(60)) { () async throws -> Bool? in
                    let list = try second.note("note.py", "list")
                    _ = try await list.exit(within: .seconds(60))
                    return list.lines.isEmpty ? true : nil
                }
            }
        }

        @Test func `a shell that has listed the offers is notified of each change (H-11)`() async throws {
            try await TwoBuses.with { first, second in
                let shell = try second.start(["/usr/bin/python3", "-u", "-c", Self.shell])
                try await shell.prints("offers: none")
                let offering = try first.note("note.py", "offer", "Shopping", "milk")
                try await shell.prints("offers: Shopping")
                let count = shell.lines.count
                await offering.stop()
                _ = try await eventually("the end of the offer", within: .seconds(60)) {
                    shell.lines.dropFirst(count).contains("offers: none") ? true : nil
                }
                await shell.stop()
            }
        }

        @Test func `wrong calls are errors with a name`() async throws {
            try await TwoBuses.with { first, _ in
                let caller = try first.start(["/usr/bin/python3", "-c", Self.caller])
                #expect(try await caller.exit(within: .seconds(60)) == 0, "\(caller.lines)")
                #expect(
                    caller.lines == [
                        "NotRegistered", "InvalidArgument", "Misuse", "registered", "Misuse", "PayloadTooLarge",
                        "PayloadTooLarge", "PayloadInvalid", "PayloadInvalid", "PayloadInvalid", "PayloadInvalid",
                        "PayloadInvalid", "done", "InvalidArgument", "InvalidArgument", "InvalidArgument",
                        "ActivityUnknown", "ActivityUnknown",
                        "InvalidArgument", "InvalidArgument", "ActivityUnknown", "1",
                    ]
                )
            }
        }

        @Test func `a continuation over the bus is measured beside one in the process`() async throws {
            try await TwoBuses.with { first, second in
                let offering = try first.start(["/usr/bin/python3", "-c", Self.measured, "offer"])
                let receiving = try second.start(["/usr/bin/python3", "-c", Self.measured, "continue", "11"])
                #expect(try await receiving.exit(within: .seconds(90)) == 0, "\(receiving.lines)")
                let probe = try second.start([
                    try builtProgram("activity-probe"), "org.example.probe", "\(second.desktop.directory)/probe", "lo",
                    "org.example.measured", "measure=11",
                ])
                #expect(try await probe.exit(within: .seconds(90)) == 0, "\(probe.lines)")
                let bus = try #require(receiving.lines.last.flatMap(Double.init))
                let process = try #require(probe.lines.last.flatMap(Double.init))
                print("MEASURED: continue to handler: \(bus) ms over the bus, \(process) ms in the process")
                await offering.stop()
            }
        }

        /// Offers an activity again as soon as it was continued, or continues so many and prints the median of the
        /// times until the handler had the content, in milliseconds.
        private static let measured = """
            import statistics, sys, time
            from gi.repository import Gio, GLib
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            KIND, loop, bus = "org.example.measured", GLib.MainLoop(), Gio.bus_get_sync(Gio.BusType.SESSION)
            activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            if sys.argv[1] == "offer":
                def offer(*signal):
                    if len(signal) > 2 and signal[2] != "Continued":
                        return
                    content = {"Text": GLib.Variant("s", "x" * 3000)}
                    activities.Offer("(ssa{sv}a{sv})", KIND, "Measured", content, {})
                activities.connect("g-signal", offer)
                activities.Register("(sas)", "org.example.source", [])
                offer()
            else:
                times, start, seen = [], [0], set()
                def handle(_connection, _sender, _path, _interface, _method, arguments, invocation):
                    times.append((time.monotonic() - start[0]) * 1000)
                    invocation.return_value(GLib.Variant("(b)", (True,)))
                def poll():
                    for offer in activities.List():
                        if offer["type"] == KIND and offer["id"] not in seen:
                            seen.add(offer["id"])
                            start[0] = time.monotonic()
                            arguments = GLib.Variant("(ss)", (offer["id"], "org.example.sink"))
                            activities.call("Continue", arguments, 0, 30000, None, ended)
                            return False
                    return True
                def ended(proxy, result):
                    proxy.call_finish(result)
                    if len(times) == int(sys.argv[2]):
                        print(statistics.median(times))
                        loop.quit()
                    else:
                        GLib.timeout_add(10, poll)
                handler = ("<node><interface name='org.remotesystems.ActivityHandler1'><method name='Continue'>"
                    + "".join(f"<arg type='{kind}' direction='in'/>" for kind in ("s", "s", "a{sv}", "a{sv}"))
                    + "<arg type='b' direction='out'/></method></interface></node>")
                bus.register_object("/org/remotesystems/ActivityHandler1",
                    Gio.DBusNodeInfo.new_for_xml(handler).interfaces[0], handle)
                activities.Register("(sas)", "org.example.sink", [KIND])
                GLib.timeout_add(10, poll)
            loop.run()
            """

        /// Continues the activity with an id that one of several applications offers.
        private static let exact = """
            import sys
            from gi.repository import Gio
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            offers = [offer for offer in activities.List() if offer["id"] == sys.argv[1]]
            offer = next(offer for offer in offers if offer["application"] == "org.example.notes")
            origin = offer["id"], offer["system"], offer["application"]
            print(activities.ContinueOffer("(ssss)", *origin, ""))
            """

        /// Prints the titles of the offers, and again after each signal.
        private static let shell = """
            from gi.repository import Gio, GLib
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            def show():
                titles = [offer["title"] for offer in activities.List()]
                print("offers:", ", ".join(titles) or "none")
            def signalled(_proxy, _sender, name, _parameters):
                if name == "OffersChanged":
                    show()
            activities.connect("g-signal", signalled)
            show()
            GLib.MainLoop().run()
            """

        /// Calls the daemon, and prints the last part of each error's name.
        private static let caller = """
            from gi.repository import Gio, GLib
            NAME, PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
            bus = Gio.bus_get_sync(Gio.BusType.SESSION)
            a = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
            def attempt(method, signature, *values):
                try:
                    a.call_sync(method, GLib.Variant(signature, values), 0, 30000, None)
                    print("registered" if method == "Register" else "done")
                except GLib.Error as error:
                    print(Gio.DBusError.get_remote_error(error).rsplit(".", 1)[1])
            offer = "(ssa{sv}a{sv})"
            note, text = "org.example.note", {"Text": GLib.Variant("s", "milk")}
            attempt("Offer", offer, "org.example.note", "T", {}, {})
            attempt("Register", "(sas)", "org.example.notes", ["nodot"])
            attempt("Register", "(sas)", "org.remotesystems.media-players", [])
            attempt("Register", "(sas)", "org.example.notes", ["org.example.note"])
            attempt("Register", "(sas)", "org.example.other", [])
            attempt("Offer", offer, "org.example.note", "T", {"Text": GLib.Variant("s", "x" * (65 << 10))}, {})
            attempt("Offer", offer, "org.example.note", "T" * 500, {"Text": GLib.Variant("s", "x" * 65400)}, {})
            uuid = {"Id": GLib.Variant("a{sv}", {"$uuid": GLib.Variant("s", "6f9619ff-8b86-d011-b42d-00cf4fc964ff")})}
            file = {"File": GLib.Variant("a{sv}", {"$url": GLib.Variant("s", "file:///etc/hosts")})}
            page = {"webpage": GLib.Variant("s", "https://example.com/")}
            for kind, content in ((note, uuid), (note, file), ("org.remotesystems.browsing-web", text)):
                attempt("Offer", offer, kind, "T", content, page)
            current = a.Offer(offer, note, "T", text, {})
            for content in (uuid, file, text):
                attempt("Update", "(ssa{sv})", current, "U", content)
            attempt("Offer", offer, "nodot", "T", {}, {})
            attempt("Offer", offer, "org.example.note", "T", {}, {"color": GLib.Variant("s", "red")})
            attempt("Offer", offer, "org.example.note", "T", {}, {"seconds": GLib.Variant("x", 0)})
            attempt("Withdraw", "(s)", "x")
            attempt("Continue", "(ss)", "x", "")
            attempt("ContinueFrom", "(sss)", "x", "no id", "")
            attempt("ContinueOffer", "(ssss)", "x", "no id", "org.example.notes", "")
            attempt("ContinueOffer", "(ssss)", "x", "a" * 52, "org.example.notes", "")
            print(a.get_cached_property("Version").unpack())
            """
    }
}

/// A system with a bus and a host daemon of its own.
struct TwoBuses {
    let desktop: Desktop
    let environment: [String: String]
    let state: String
    /// The host on which its programs run; `nil` for the loopback interface of this machine.
    let host: SimulatedHost?

    /// The options of commands for its network.
    var network: [String] { self.host == nil ? ["--loopback"] : [] }

    /// Runs `body` with two systems of one account.
    ///
    /// - Parameters:
    ///   - hosts: a host for each of them. Defaults to `nil`: the loopback interface of this machine.
    ///   - settings: the daemons' settings, as environment variables of each machine.
    static func with(
        on hosts: (SimulatedHost, SimulatedHost)? = nil,
        settings: (Desktop) throws -> [String: String] = { _ in [:] },
        _ body: (TwoBuses, TwoBuses) async throws -> Void
    ) async throws {
        try await Desktop.with { one in
            try await Desktop.with { two in
                try await createTwoSystems("\(one.directory)/state", "\(two.directory)/state")
                try await self.withDaemon(one, hosts?.0, try settings(one)) { first in
                    try await self.withDaemon(two, hosts?.1, try settings(two)) { second in
                        try await body(first, second)
                    }
                }
            }
        }
    }

    private static func withDaemon(
        _ desktop: Desktop,
        _ host: SimulatedHost?,
        _ settings: [String: String],
        _ body: (TwoBuses) async throws -> Void
    ) async throws {
        try await desktop.withBus { bus in
            let system = TwoBuses(
                desktop: desktop,
                environment: desktop.environment.merging(bus) { $1 }.merging(settings) { $1 },
                state: "\(desktop.directory)/state",
                host: host
            )
            let daemon = try system.start(
                [try builtProgram("remotesystems"), "host", "run", "--port", "0"] + system.network
            )
            do {
                try await daemon.prints("ready:")
                try await system.waitForDaemon()
                try await body(system)
            } catch {
                await daemon.stop()
                throw error
            }
            await daemon.stop()
        }
    }

    /// The daemon takes its name on the bus after it has printed that it is ready.
    private func waitForDaemon() async throws {
        _ = try await eventually("the daemon on the bus", within: .seconds(60)) { () async throws -> Bool? in
            let asking = try self.start(
                [
                    "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                    "org.freedesktop.DBus.NameHasOwner", "string:org.remotesystems.Activities1",
                ]
            )
            _ = try await asking.exit(within: .seconds(60))
            return asking.lines.contains { $0.contains("true") } ? true : nil
        }
    }

    func start(_ arguments: [String]) throws -> ChildProcess {
        guard let host else { return try ChildProcess(arguments, environment: self.environment, readsErrors: true) }
        return try host.start(arguments, environment: self.environment, readsErrors: true)
    }

    /// Runs one of the samples.
    func note(_ sample: String, _ arguments: String...) throws -> ChildProcess {
        try self.start([Self.path(ofSample: sample)] + arguments)
    }

    static func path(ofSample name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Samples/other-languages").appending(path: name).standardizedFileURL.path
    }

    /// Waits until an offer is listed, and returns its id.
    func listed(_ title: String, with sample: String) async throws -> String {
        try await eventually("the offer is listed", within: .seconds(60)) { () async throws -> String? in
            let list = try self.note(sample, "list")
            let code = try await list.exit(within: .seconds(60))
            #expect(code == 0, "\(list.lines)")
            return list.lines.first { $0.hasSuffix(": \(title)") }?.split(separator: " ").first.map(String.init)
        }
    }
}

extension ChildProcess {
    /// Waits until the program prints a line that begins with a text.
    func prints(_ text: String) async throws {
        _ = try await eventually("'\(text)'", within: .seconds(60)) {
            if let code = self.exitCode, !self.lines.contains(where: { $0.hasPrefix(text) }) {
                throw IntegrationError("it ended with \(code): \(self.lines)")
            }
            return self.lines.contains { $0.hasPrefix(text) } ? true : nil
        }
    }
}
