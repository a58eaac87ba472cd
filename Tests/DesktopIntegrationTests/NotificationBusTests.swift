// This source file is part of the RemoteSystems open source project
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IntegrationSupport
import Testing

extension DesktopTests {
    /// Notifications of programs in other languages, over the session bus of the host daemon.
    @Suite struct NotificationBus {
        @Test func `a program in Python asks, the user clicks, and it gets the response, also one from before`()
            async throws
        {
            try await OneDesktop.withBusInterface { desktop in
                let receiving = try desktop.invite("receive")
                try await receiving.prints("ready:")
                let other = try desktop.call("org.example.other", "")
                try await other.prints("registered")
                // One program is the application at a time.
                let second = try desktop.invite("invite", "lunch", "Lunch")
                #expect(try await second.exit(within: .seconds(60)) == 1)
                #expect(second.lines == ["invite.py: Another program is registered as org.example.calendar."])
                await receiving.stop()
                let inviting = try desktop.invite("invite", "lunch", "Lunch")
                #expect(try await inviting.exit(within: .seconds(60)) == 0, "\(inviting.lines)")
                let shown = try await desktop.notified("Lunch")
                #expect(shown.contains(#""Invitation\nAnna invites you."#), "\(shown)")
                #expect(shown.contains(#""accept", "Accept", "default", "Open""#), "\(shown)")
                let listing = try desktop.invite("list")
                #expect(try await listing.exit(within: .seconds(60)) == 0)
                #expect(listing.lines == ["lunch: Lunch"])
                // The program is away. A second one that does not acknowledge the response does not take it away.
                desktop.server.send(SIGUSR1)
                try await desktop.eventually("it is answered") {
                    try await !desktop.system.command("notifications", "list").contains("Lunch")
                }
                let ignoring = try desktop.call("org.example.calendar", "loop(2)")
                try await ignoring.prints("lunch accept")
                #expect(try await ignoring.exit(within: .seconds(60)) == 0)
                let again = try desktop.invite("receive")
                try await again.prints("lunch: accept")
                // Once, and to this application only.
                #expect(again.lines.count { $0 == "lunch: accept" } == 1)
                #expect(other.lines == ["registered"])
                await again.stop()
                // It may have been stopped between its line and its acknowledgement. Then the response comes once more.
                try await desktop.eventually("no response is left") {
                    let empty = try desktop.invite("receive")
                    try await empty.prints("ready:")
                    // Time for what waits to come, and to be acknowledged.
                    try await Task.sleep(for: .milliseconds(500))
                    let lines = empty.lines
                    await empty.stop()
                    return lines == ["ready: receiving responses"]
                }
                await other.stop()
            }
        }

        @Test func `a shell script asks with one call, and its question ends with it`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let deploying = try desktop.sample("deploy", "1284")
                _ = try await desktop.notified("Build 1284 has passed.")
                // A program with another id is not concerned.
                let other = try desktop.call("org.example.other", "print(n.List())", "loop(1)")
                desktop.server.send(SIGUSR1)
                #expect(try await deploying.exit(within: .seconds(60)) == 0, "\(deploying.lines)")
                #expect(deploying.lines == ["deploying build 1284"])
                #expect(try await other.exit(within: .seconds(60)) == 0)
                #expect(other.lines == ["registered", "[]"])
                let stopped = try desktop.call(
                    "",
                    "question = GLib.Variant('(sssa(ss)a{sv})', ('org.example.x', 'Stop?', '', [], {}))",
                    "n.call('Ask', question, 0, -1, None)",
                    "loop(600)"
                )
                _ = try await desktop.notified("Stop?")
                kill(stopped.id, SIGKILL)
                try await desktop.eventually("the question is withdrawn") {
                    try await !desktop.system.command("notifications", "list").contains("Stop?")
                }
            }
        }

        @Test func `a program on the bus schedules a notification, and removes one that waits`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let add = { (id: String, delay: String) in
                    "attempt('Add', '(sssa(ss)a{sv})', '\(id)', '\(id)', '', [], "
                        + "{'delay': GLib.Variant('d', \(delay)), 'badge': GLib.Variant('u', 3)})"
                }
                let caller = try desktop.call("org.example.caller", add("soon", "0.5"), add("later", "3600"))
                #expect(try await caller.exit(within: .seconds(60)) == 0, "\(caller.lines)")
                #expect(caller.lines == ["registered", "done", "done"])
                _ = try await desktop.notified("soon")
                let pending = try await desktop.system.command("notifications", "pending")
                #expect(pending.contains("later") && !pending.contains("soon"), "\(pending)")
                let removing = try desktop.call(
                    "org.example.caller",
                    "attempt('Remove', '(as)', ['soon', 'later'])",
                    "attempt('Ask', '(sssa(ss)a{sv})', '', 'T', '', [], {'delay': GLib.Variant('d', 1)})"
                )
                #expect(try await removing.exit(within: .seconds(60)) == 0, "\(removing.lines)")
                #expect(removing.lines == ["registered", "done", "InvalidArgument"])
                let left = try await desktop.system.command("notifications", "pending")
                #expect(!left.contains("later"), "\(left)")
            }
        }

        @Test func `a program in Python receives responses also from a daemon that was restarted`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let inviting = try desktop.invite("invite", "lunch", "Lunch")
                #expect(try await inviting.exit(within: .seconds(60)) == 0, "\(inviting.lines)")
                let receiving = try desktop.invite("receive")
                try await receiving.prints("ready:")
                await desktop.daemon.stop()
                let daemon = try await desktop.system.startDaemon()
                let list = try await desktop.system.command("notifications", "list", "--json")
                let key = String(try #require(list.firstMatch(of: /"key":"([0-9]+)"/)).output.1)
                _ = try await desktop.system.command("notifications", "answer", key, "accept")
                try await receiving.prints("lunch: accept")
                await receiving.stop()
                await daemon.stop()
            }
        }

        @Test func `a question whose application the user denies ends with the reason`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let asking = try desktop.call(
                    "",
                    "print('asking', flush=True)",
                    "try: n.call_sync('Ask', GLib.Variant('(sssa(ss)a{sv})', ('org.example.x', 'Go?', '', [], {})),"
                        + " 0, GLib.MAXINT, None)",
                    "except GLib.Error as error: print(name(error))",
                    "attempt('Register', '(ss)', 'org.example.x', '')"
                )
                _ = try await desktop.notified("Go?")
                _ = try await desktop.system.command(
                    "notifications",
                    "permit",
                    "denied",
                    "--application",
                    "org.example.x"
                )
                // A question whose notification is only missed ends after a minute.
                #expect(try await asking.exit(within: .seconds(50)) == 0, "\(asking.lines)")
                #expect(asking.lines == ["asking", "NotAuthorized", "done"])
            }
        }

        @Test func `a daemon that stops withdraws the questions of calls, and keeps notifications`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let inviting = try desktop.invite("invite", "lunch", "Lunch")
                #expect(try await inviting.exit(within: .seconds(60)) == 0, "\(inviting.lines)")
                let deploying = try desktop.sample("deploy", "1284")
                _ = try await desktop.notified("Build 1284 has passed.")
                await desktop.daemon.stop()
                #expect(desktop.daemon.exitCode == 0)
                #expect(try await deploying.exit(within: .seconds(60)) != 0)
                let daemon = try await desktop.system.startDaemon()
                let list = try await desktop.system.command("notifications", "list")
                #expect(list.contains("Lunch") && !list.contains("1284"), "\(list)")
                await daemon.stop()
            }
        }

        @Test func `wrong calls are errors with a name`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let add = { (arguments: String) in "attempt('Add', '(sssa(ss)a{sv})', \(arguments))" }
                let actions = "[('yes', 'Yes'), ('no', 'No')]"
                let caller = try desktop.call(
                    "",
                    add("'a', 'T', '', [], {}"),
                    "attempt('List', None)",
                    // Their arguments are not read.
                    add("'a', 'T', '', [], {'color': GLib.Variant('s', 'red')}"),
                    "attempt('Ask', '(sssa(ss)a{sv})', 'org.example.caller', 'T', 'B' * 70000, [], {})",
                    "attempt('Register', '(ss)', '', '')",
                    "attempt('Register', '(ss)', 'org.example.caller', 'N' * 129)",
                    "attempt('Register', '(ss)', 'org.example.caller', 'Cal' + chr(27) + 'ler')",
                    "attempt('Register', '(ss)', 'org.example.' + 'c' * 128, '')",
                    "attempt('Register', '(ss)', 'org.example.caller', 'Caller')",
                    "attempt('Register', '(ss)', 'org.example.caller', 'Caller')",
                    add("'a', 'T', '', [], {'color': GLib.Variant('s', 'red')}"),
                    add("'a', 'T', '', [], {'sound': GLib.Variant('s', 'loud')}"),
                    add("'a', 'T', '', [], {'level': GLib.Variant('s', 'loud')}"),
                    add("'a', 'T', '', \(actions), {'text_action': GLib.Variant('s', 'why')}"),
                    add("'a', 'T', '', \(actions), {'foreground': GLib.Variant('as', ['why'])}"),
                    add("'', 'T', '', [], {}"),
                    add("'a', '', '', [], {}"),
                    add("'a', 'T' * 513, '', [], {}"),
                    add("'a', 'T', '', [('default', 'D')], {}"),
                    add("'a', 'T', '', [('x', 'D')] * 11, {}"),
                    add("'a', 'T', 'B', \(actions), {'subtitle': GLib.Variant('s', 'S')}"),
                    "print(sorted(set(n.List()[0]) - {'date'}), n.List()[0]['actions'])",
                    "attempt('Ask', '(sssa(ss)a{sv})', 'org.example.other', 'T', '', [], {})",
                    "attempt('Acknowledge', '(s)', 'unknown')",
                    "attempt('Remove', '(as)', ['a', 'unknown'])",
                    "print(n.List(), n.get_cached_property('Version').unpack())"
                )
                #expect(try await caller.exit(within: .seconds(60)) == 0, "\(caller.lines)")
                #expect(
                    caller.lines == [
                        "NotRegistered", "NotRegistered", "NotRegistered", "PayloadTooLarge",
                        "InvalidArgument", "InvalidArgument", "InvalidArgument", "InvalidArgument", "done", "Misuse",
                        "InvalidArgument", "InvalidArgument", "InvalidArgument", "InvalidArgument",
                        "InvalidArgument", "InvalidContent", "InvalidContent", "LimitExceeded", "InvalidContent",
                        "LimitExceeded", "done", "['actions', 'body', 'id', 'subtitle', 'title'] ['yes', 'no']",
                        "Misuse", "done", "done", "[] 1",
                    ]
                )
            }
        }

        @Test func `notifications of a thread are listed together, the most relevant first (X-60)`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let add = { (id: String, options: String) in
                    "attempt('Add', '(sssa(ss)a{sv})', '\(id)', 'T', '', [], {\(options)})"
                }
                let thread = "'thread': GLib.Variant('s', 't')"
                let caller = try desktop.call(
                    "org.example.caller",
                    add("1", thread),
                    add("2", ""),
                    add("3", "\(thread), 'relevance': GLib.Variant('d', 0.5)"),
                    add("4", "'relevance': GLib.Variant('d', 2)"),
                    "print([(each['id'], each.get('thread')) for each in n.List()])"
                )
                #expect(try await caller.exit(within: .seconds(60)) == 0, "\(caller.lines)")
                #expect(
                    caller.lines == [
                        "registered", "done", "done", "done", "LimitExceeded",
                        "[('3', 't'), ('1', 't'), ('2', None)]",
                    ]
                )
            }
        }

        @Test(arguments: [true, false])
        func `an action of the foreground comes with the token for a window, others without (X-59)`(
            isForeground: Bool
        ) async throws {
            try await OneDesktop.withBusInterface(server: "token") { desktop in
                let options = isForeground ? "{'foreground': GLib.Variant('as', ['open'])}" : "{}"
                let caller = try desktop.call(
                    "org.example.caller",
                    "n.Add('(sssa(ss)a{sv})', 'lunch', 'Lunch', '', [('open', 'Open it')], \(options))",
                    "loop(600)"
                )
                _ = try await desktop.notified("Lunch")
                desktop.server.send(SIGUSR1)
                try await caller.prints("lunch open")
                #expect(caller.lines == ["registered"] + (isForeground ? ["token token-1"] : []) + ["lunch open"])
                await caller.stop()
            }
        }

        @Test func `programs, calls and notifications have limits`() async throws {
            try await OneDesktop.withBusInterface { desktop in
                let caller = try desktop.call(
                    "",
                    "many = [connect() for _ in range(33)]",
                    "for i, each in enumerate(many): attempt('Register', '(ss)', f'org.example.c{i}', '', on=each)",
                    "question = GLib.Variant('(sssa(ss)a{sv})', ('', 'Q', '', [], {}))",
                    "def ended(proxy, result):",
                    "    try: proxy.call_finish(result)",
                    "    except GLib.Error as error: print('call', name(error))",
                    "for _ in range(17): many[0].call('Ask', question, 0, -1, None, ended)",
                    "loop(5)",
                    // As many as it takes: a busy machine is slower, and more are permitted meanwhile.
                    "for i in range(400):",
                    "    values = (f'{i % 20}', 'T', '', [], {})",
                    "    try: many[1].call_sync('Add', GLib.Variant('(sssa(ss)a{sv})', values), 0, 30000, None)",
                    "    except GLib.Error as error:",
                    "        print(name(error))",
                    "        break"
                )
                #expect(try await caller.exit(within: .seconds(120)) == 0, "\(caller.lines)")
                let registered = caller.lines.prefix(33)
                #expect(registered.count { $0 == "done" } == 32 && registered.last == "LocalResources")
                #expect(caller.lines.contains("call LocalResources"))
                #expect(caller.lines.last == "RateLimited")
            }
        }
    }
}

extension OneDesktop {
    /// Runs `body` when the daemon has its name on the bus.
    static func withBusInterface(
        server: String = "plain",
        _ body: (OneDesktop) async throws -> Void
    ) async throws {
        try await Self.with(server: server) { desktop in
            try await desktop.eventually("the daemon on the bus") {
                let asking = try desktop.system.start(
                    [
                        "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
                        "org.freedesktop.DBus.NameHasOwner", "string:org.remotesystems.Notifications1",
                    ]
                )
                _ = try await asking.exit(within: .seconds(60))
                return asking.lines.contains { $0.contains("true") }
            }
            try await body(desktop)
        }
    }

    /// The path of one of the samples that notify over the session bus.
    static func path(ofSample name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Samples/notify-over-dbus").appending(path: name).standardizedFileURL.path
    }

    fileprivate func sample(_ name: String, _ arguments: String...) throws -> ChildProcess {
        try self.system.start([Self.path(ofSample: name)] + arguments)
    }

    fileprivate func invite(_ arguments: String...) throws -> ChildProcess {
        try self.system.start([Self.path(ofSample: "invite.py")] + arguments)
    }

    /// Starts a Python program that registers as an application, unless that is empty, and then runs lines.
    ///
    /// The lines may use `n`, the daemon's object; `attempt`, which prints the last part of an error's name; and
    /// `loop`, which waits so many seconds and prints tokens, and responses without acknowledging them.
    fileprivate func call(_ application: String, _ lines: String...) throws -> ChildProcess {
        let beginning =
            application.isEmpty
            ? "" : "n.Register('(ss)', '\(application)', '')\nprint('registered', flush=True)\n"
        let rest = lines.isEmpty ? "loop(600)" : lines.joined(separator: "\n")
        return try self.system.start(["/usr/bin/python3", "-u", "-c", "\(Self.caller)\n\(beginning)\(rest)\n"])
    }

    private static let caller = """
        import os
        from gi.repository import Gio, GLib
        NAME, PATH = "org.remotesystems.Notifications1", "/org/remotesystems/Notifications1"
        def connect():
            address = os.environ["DBUS_SESSION_BUS_ADDRESS"]
            flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
            bus = Gio.DBusConnection.new_for_address_sync(address, flags, None, None)
            return Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
        def name(error):
            return Gio.DBusError.get_remote_error(error).rsplit(".", 1)[1]
        def attempt(method, signature, *values, on=None):
            try:
                (on or n).call_sync(method, signature and GLib.Variant(signature, values), 0, 30000, None)
                print("done")
            except GLib.Error as error:
                print(name(error))
        def loop(seconds):
            main = GLib.MainLoop()
            GLib.timeout_add(int(seconds * 1000), main.quit)
            main.run()
        def signalled(_proxy, _sender, signal, values):
            if signal == "ActivationToken":
                print("token", values.unpack()[1])
            if signal == "Responded":
                print(*values.unpack()[:2])
        n = connect()
        n.connect("g-signal", signalled)
        """
}
