# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Measures how long notifications take, beside a bare call of the notification server in the same rounds, and hand-off
from one desktop to the other.

Usage: measure.py COMMAND PROGRAM [ROUNDS] [--check]

Starts two systems of one account on the loopback interface, each with the host daemon of COMMAND (the program
remotesystems), a session bus, and a notification server in this process. PROGRAM is the program hand-off-program. ROUNDS
is from 1 to 14 and defaults to 14.

bare     a program calls Notify; the server has the call
added    a program adds a notification over the daemon's D-Bus interface; the server has the call of the daemon
due      a program adds one that is due in half a second; the server has the call that long after its date
remote   a program of the first system calls Notify; the server of the second system has the mirrored notification. The
         daemon of the first system opens a connection for it
gone     the user dismisses that mirrored notification on the second system; the server of the first one is asked to
         close the program's own
ended    the user dismisses on the second system what all systems have; the server of the first one is asked to close it
command  the command lists what waits on the first system: its start, and a request to the daemon
notify   the command sends a notification to the second system, whose server has it
offered  a program of the first system offers an activity over D-Bus; the server of the second system has the
         notification with which it can be continued there
continued the user chooses that notification; a program of the second system that runs has the content of 3 KiB
hand-off both together
module   a program of the second system continues an activity with the module, in its process: until its handler has the
         content of 3 KiB
bus      a program of the second system continues one over D-Bus: until its method is called with the content
answered the user chooses an action; the program has the signal
busy     the same right after four notifications of another program, all of which the daemon stores
list     a program lists its ten notifications while 10 000 are in the history
waiting  the command lists them
history  the command reads the newest 256 of the history

Prints a line of JSON for each: the median and the largest of the rounds in milliseconds, the median of the differences
or quotients to another one of the same round, and the goal, if there is one, with whether the median meets it. With --check, the exit
status is 1 if a goal is not met.
"""

import json
import os
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from gi.repository import Gio, GLib

SERVER, SERVER_PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
DAEMON, DAEMON_PATH = "org.remotesystems.Notifications1", "/org/remotesystems/Notifications1"
ACTIVITIES, ACTIVITIES_PATH = "org.remotesystems.Activities1", "/org/remotesystems/Activities1"
BENCH_APPLICATION, BENCH_TYPE = "org.example.bench-notes", "org.example.bench-note"
HANDLER_PATH = "/org/remotesystems/ActivityHandler1"
HANDLER_XML = """
<node><interface name="org.remotesystems.ActivityHandler1">
  <method name="Continue"><arg type="s" direction="in"/><arg type="s" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="a{sv}" direction="in"/><arg type="b" direction="out"/></method>
</interface></node>
"""
XML = """
<node><interface name="org.freedesktop.Notifications">
  <method name="GetServerInformation"><arg type="s" direction="out"/><arg type="s" direction="out"/>
    <arg type="s" direction="out"/><arg type="s" direction="out"/></method>
  <method name="GetCapabilities"><arg type="as" direction="out"/></method>
  <method name="Notify"><arg type="s" direction="in"/><arg type="u" direction="in"/><arg type="s" direction="in"/>
    <arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="as" direction="in"/>
    <arg type="a{sv}" direction="in"/><arg type="i" direction="in"/><arg type="u" direction="out"/></method>
  <method name="CloseNotification"><arg type="u" direction="in"/></method>
</interface></node>
"""
LIMIT = 60
HISTORY = 10_000
# The seconds until a notification of "due" is shown.
DELAY = 0.5
# What a figure is compared with.
BASES = {"added": "bare", "due": "bare", "remote": "bare", "gone": "bare", "notify": "command", "busy": "answered"}
BASES |= {"history": "waiting", "bus": "module"}
# The largest medians in milliseconds. Those of OVER are of the differences, those of TIMES of the quotients.
GOALS = {"added": 15, "remote": 30, "gone": 30, "notify": 30, "answered": 30, "busy": 5, "list": 10, "history": 10}
GOALS |= {"due": 15, "ended": 30, "hand-off": 1000, "bus": 2}
OVER = {"added", "due", "notify", "busy", "history"}
TIMES = {"bus"}


class Desktop:
    """A system with its session bus, notification server and daemon."""

    def __init__(self, directory, command):
        self.directory, self.command = directory, command
        self.state = str(directory / "state")
        self.processes = []
        self.seen, self.changed = {}, threading.Condition()
        self.last, self.daemon = 0, None
        directory.mkdir()
        (directory / "run").mkdir(mode=0o700)
        address = f"unix:path={directory}/bus"
        bus = ["dbus-daemon", "--session", "--nofork", "--nopidfile", f"--address={address}"]
        self.start(*bus, stderr=subprocess.DEVNULL)
        wait(lambda: (directory / "bus").exists(), "the bus")
        self.environment = os.environ | {
            "DBUS_SESSION_BUS_ADDRESS": address, "DBUS_SYSTEM_BUS_ADDRESS": address,
            "XDG_RUNTIME_DIR": str(directory / "run"), "XDG_CONFIG_HOME": str(directory / "config"),
            "XDG_DATA_HOME": str(directory / "data"), "HOME": str(directory),
        }  # fmt: skip
        self.address = address
        self.server, self.program = self.connect(address), self.connect(address)
        self.program.signal_subscribe(
            None, DAEMON, "Responded", DAEMON_PATH, None, Gio.DBusSignalFlags.NONE, self.responded
        )
        interface = Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0]
        self.server.register_object(SERVER_PATH, interface, self.called, None, None)
        self.program.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListNames", None, None, 0, -1
        )
        self.server.call_sync(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
            GLib.Variant("(su)", (SERVER, 4)), None, 0, -1,
        )  # fmt: skip

    @staticmethod
    def connect(address):
        flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
        return Gio.DBusConnection.new_for_address_sync(address, flags, None, None)

    def start(self, *arguments, **options):
        process = subprocess.Popen(arguments, **({"stdin": subprocess.DEVNULL} | options))
        self.processes.append(process)
        return process

    def start_daemon(self, settings):
        with open(self.directory / "log", "w") as log:
            process = self.start(
                self.command, "host", "run", "--loopback", "--port", "0", "--state-directory", self.state,
                env=self.environment | settings,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        if not process.stdout.readline().startswith("ready"):
            sys.exit(f"The daemon did not start: {(self.directory / 'log').read_text()}")
        self.daemon = process

    def stop(self):
        for process in reversed(self.processes):
            self.end(process)

    def stop_daemon(self):
        self.processes.remove(self.daemon)
        self.end(self.daemon)

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def called(self, _bus, _sender, _path, _interface, method, parameters, invocation):
        now, values = time.monotonic_ns(), parameters.unpack()
        if method == "GetServerInformation":
            invocation.return_value(GLib.Variant("(ssss)", ("bench", "bench", "1", "1.3")))
        elif method == "GetCapabilities":
            invocation.return_value(GLib.Variant("(as)", (["actions", "body"],)))
        elif method == "Notify":
            self.last += 1
            number = values[1] or self.last
            invocation.return_value(GLib.Variant("(u)", (number,)))
            self.note(values[3], now, number)
        else:
            invocation.return_value(None)
            self.emit_closed(values[0], 3)
            self.note(f"closed {values[0]}", now, values[0])

    def emit_closed(self, number, reason):
        arguments = GLib.Variant("(uu)", (number, reason))
        self.server.emit_signal(None, SERVER_PATH, SERVER, "NotificationClosed", arguments)

    def choose(self, number, action="yes"):
        """The user chooses an action. Returns when."""
        begun = time.monotonic_ns()
        arguments = GLib.Variant("(us)", (number, action))
        self.server.emit_signal(None, SERVER_PATH, SERVER, "ActionInvoked", arguments)
        return begun

    def responded(self, _bus, _sender, _path, _interface, _signal, parameters):
        now, (identifier, _action, _text, response) = time.monotonic_ns(), parameters.unpack()
        self.program.call(
            DAEMON, DAEMON_PATH, DAEMON, "Acknowledge", GLib.Variant("(s)", (response,)), None, 0, -1, None, None
        )
        self.note(f"responded {identifier}", now, response)

    def continue_activity(self, _bus, _sender, _path, _interface, _method, parameters, invocation):
        """A program of this desktop continues an activity."""
        now, (_type, title, content, _details) = time.monotonic_ns(), parameters.unpack()
        invocation.return_value(GLib.Variant("(b)", (True,)))
        self.note(f"continued {title}", now, len(content["Text"]))

    def ask_activities(self, method, arguments=None):
        return self.program.call_sync(ACTIVITIES, ACTIVITIES_PATH, ACTIVITIES, method, arguments, None, 0, -1)

    def note(self, what, now, number):
        with self.changed:
            self.seen[what] = (now, number)
            self.changed.notify_all()

    def wait(self, what):
        """Waits for a call, and returns its time and the notification's number."""
        with self.changed:
            if not self.changed.wait_for(lambda: what in self.seen, LIMIT):
                sys.exit(f"No call came for: {what}")
            return self.seen[what]

    def saw(self, what):
        """Whether a call comes within a second."""
        with self.changed:
            return self.changed.wait_for(lambda: what in self.seen, 1)

    def notify(self, summary):
        """A program of this desktop shows a notification. Returns when it began."""
        begun = time.monotonic_ns()
        self.program.call_sync(
            SERVER, SERVER_PATH, SERVER, "Notify",
            GLib.Variant("(susssasa{sv}i)", ("Bench", 0, "", summary, "", [], {}, -1)), None, 0, -1,
        )  # fmt: skip
        return begun

    def ask_daemon(self, method, arguments=None, program=None):
        (program or self.program).call_sync(DAEMON, DAEMON_PATH, DAEMON, method, arguments, None, 0, -1)

    def system_id(self):
        line = [self.command, "account", "show", "--json", "--state-directory", self.state]
        output = subprocess.run(line, check=True, capture_output=True, text=True, timeout=LIMIT).stdout
        return next(event["systemID"] for event in map(json.loads, output.splitlines()) if "systemID" in event)

    def run_command(self, *arguments):
        """Runs the command, and returns how long it took."""
        line = [self.command, *arguments, "--loopback", "--state-directory", self.state]
        begun = time.monotonic_ns()
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        # A wait with a time limit sleeps 0.5 ms, then 1 ms, 2 ms and so on, so that every result is 32 ms or 64 ms.
        limit = threading.Timer(LIMIT, process.kill)
        limit.start()
        status = process.wait()
        taken = time.monotonic_ns() - begun
        limit.cancel()
        if status != 0:
            sys.exit(f"'{' '.join(arguments)}' ended with {status}.")
        return taken


def wait(is_true, what):
    deadline = time.monotonic() + LIMIT
    while not is_true():
        if time.monotonic() > deadline:
            sys.exit(f"Waited in vain for {what}.")
        time.sleep(0.01)


def create_account(first, second):
    """Lets the second system join the account of the first."""
    inviting = first.start(
        first.command, "account", "invite", "--loopback", "--json", "--state-directory", first.state,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    text = ""
    while not (found := re.search(r"remote-systems:[^\"' ]+", text)):
        line = inviting.stdout.readline()
        if not line:
            sys.exit("No invitation came.")
        text += line.replace("\\/", "/")
    joining = [second.command, "account", "join", "--state-directory", second.state]
    invitation = found.group() + "\n"
    subprocess.run(joining, check=True, input=invitation, text=True, stdout=subprocess.DEVNULL, timeout=LIMIT)
    if inviting.wait(LIMIT) != 0:
        sys.exit("The invitation was not taken.")
    first.processes.remove(inviting)


def measure(first, second, rounds):
    times = {"bare": [], "added": [], "due": [], "remote": [], "gone": [], "command": [], "notify": []}
    target = second.system_id()
    first.ask_daemon("Register", GLib.Variant("(ss)", ("org.example.bench", "Bench")))
    # The daemons follow their buses and find each other, and everything was used once.
    wait(lambda: first.notify("first") and second.saw("first"), "a notification on the other system")
    for number in range(rounds):
        # The second system mirrors nothing, so that only "remote" counts in the daemon's rate.
        begun = second.notify(f"bare {number}")
        times["bare"].append(second.wait(f"bare {number}")[0] - begun)

        begun = time.monotonic_ns()
        options = GLib.Variant("(sssa(ss)a{sv})", (f"{number}", f"added {number}", "", [], {}))
        first.ask_daemon("Add", options)
        times["added"].append(first.wait(f"added {number}")[0] - begun)

        begun = time.monotonic_ns()
        later = {"delay": GLib.Variant("d", DELAY)}
        first.ask_daemon("Add", GLib.Variant("(sssa(ss)a{sv})", ("due", f"due {number}", "", [], later)))
        times["due"].append(first.wait(f"due {number}")[0] - begun - int(DELAY * 1e9))

        begun = first.notify(f"remote {number}")
        shown, there = second.wait(f"remote {number}")
        here = first.wait(f"remote {number}")[1]
        times["remote"].append(shown - begun)

        time.sleep(0.2)
        begun = time.monotonic_ns()
        second.emit_closed(there, 2)
        times["gone"].append(first.wait(f"closed {here}")[0] - begun)

        times["command"].append(first.run_command("notifications", "list"))
        begun = time.monotonic_ns()
        # One identifier: each takes the place of the one before, since few are shown at the same time.
        first.run_command("notify", target, "--id", "bench", "--title", f"notify {number}")
        times["notify"].append(second.wait(f"notify {number}")[0] - begun)
        # One notification every four seconds is mirrored for good.
        time.sleep(0.3)
    return times


def measure_everywhere(first, second, rounds):
    times = {"ended": []}
    for number in range(rounds):
        title = f"everywhere {number}"
        first.run_command("notify", "--all", "--search-time", "0.5", "--id", "everywhere", "--title", title, "--json")
        here, there = first.wait(title)[1], second.wait(title)[1]
        # Both systems know by then that the other one has it.
        time.sleep(0.2)
        begun = time.monotonic_ns()
        second.emit_closed(there, 2)
        times["ended"].append(first.wait(f"closed {here}")[0] - begun)
    return times


class Module:
    """A program of a system that uses the module."""

    def __init__(self, desktop, program):
        self.process = desktop.start(
            program, desktop.state, env=desktop.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.read("ready")

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self, beginning):
        """Reads a line, and returns what follows its beginning."""
        line = self.process.stdout.readline().strip()
        if not line.startswith(beginning):
            sys.exit(f"The program that uses the module printed '{line}' in place of '{beginning}'.")
        return line.removeprefix(beginning)


def measure_continuing(first, second, program, rounds):
    times = {"module": [], "bus": []}
    offering, continuing = Module(first, program), Module(second, program)
    # The first round is not counted: connections are opened.
    for number in range(rounds + 1):
        offering.order(f"offer module {number}")
        offering.read("offered")
        # The list of the other system has it.
        time.sleep(0.3)
        continuing.order(f"continue module {number}")
        taken = int(continuing.read(f"continued module {number} "))

        title = f"bus {number}"
        content = {"Text": GLib.Variant("s", "x" * 2900)}
        first.ask_activities("Offer", GLib.Variant("(ssa{sv}a{sv})", (BENCH_TYPE, title, content, {})))
        time.sleep(0.3)
        offers = second.ask_activities("List").unpack()[0]
        offer = next(offer["id"] for offer in offers if offer.get("title") == title)
        begun = time.monotonic_ns()
        second.ask_activities("Continue", GLib.Variant("(ss)", (offer, BENCH_APPLICATION)))
        continued = second.wait(f"continued {title}")[0]
        if number > 0:
            times["module"].append(taken)
            times["bus"].append(continued - begun)
    return times


def measure_hand_off(first, second, rounds):
    times = {"offered": [], "continued": [], "hand-off": []}
    interface = Gio.DBusNodeInfo.new_for_xml(HANDLER_XML).interfaces[0]
    second.program.register_object(HANDLER_PATH, interface, second.continue_activity, None, None)
    second.ask_activities("Register", GLib.Variant("(sas)", (BENCH_APPLICATION, [BENCH_TYPE])))
    first.ask_activities("Register", GLib.Variant("(sas)", (BENCH_APPLICATION, [])))
    content = {"Text": GLib.Variant("s", "x" * 2900)}
    # The first round is not counted: the programs have just registered.
    for number in range(rounds + 1):
        title = f"note {number}"
        begun = time.monotonic_ns()
        first.ask_activities("Offer", GLib.Variant("(ssa{sv}a{sv})", (BENCH_TYPE, title, content, {})))
        shown, place = second.wait(f"Continue on this machine: {title}")
        chosen = second.choose(place, "default")
        continued = second.wait(f"continued {title}")[0]
        if number > 0:
            times["offered"].append(shown - begun)
            times["continued"].append(continued - chosen)
            times["hand-off"].append(shown - begun + continued - chosen)
        second.wait(f"closed {place}")
        # The notifications of offers change at most once in half a second.
        time.sleep(0.6)
    return times


def fill_history(desktop):
    """Repeats one ended notification until the history is full. The daemon must not run."""
    database = sqlite3.connect(f"{desktop.state}/notifications.sqlite")
    rows = database.execute("SELECT * FROM record WHERE kind = 'history' LIMIT 1")
    columns = [column[0] for column in rows.description]
    record = dict(zip(columns, rows.fetchone()))
    database.execute("DELETE FROM record WHERE kind = 'history'")
    for number in range(HISTORY):
        values = (record | {"key": f"{number}", "date": record["date"] - number}).values()
        database.execute(f"INSERT INTO record VALUES ({', '.join('?' * len(columns))})", tuple(values))
    database.commit()
    database.close()


def measure_history(desktop, rounds):
    times = {"answered": [], "busy": [], "list": [], "waiting": [], "history": []}
    writers = [Desktop.connect(desktop.address) for _ in range(rounds)]
    for number, writer in enumerate(writers):
        desktop.ask_daemon("Register", GLib.Variant("(ss)", (f"org.example.writer{number}", "Writer")), writer)
    desktop.ask_daemon("Register", GLib.Variant("(ss)", ("org.example.asking", "Asking")))

    def add(identifier, program="asking"):
        values = (identifier, f"{program} {identifier}", "", [("yes", "Yes")], {})
        return GLib.Variant("(sssa(ss)a{sv})", values)

    def answer(identifier):
        number = desktop.wait(f"asking {identifier}")[1]
        begun = desktop.choose(number)
        return desktop.wait(f"responded {identifier}")[0] - begun

    for number, writer in enumerate(writers):
        for name in ("answered", "busy"):
            identifier = f"{name} {number}"
            desktop.ask_daemon("Add", add(identifier))
            desktop.wait(f"asking {identifier}")
            if name == "busy":
                for text in range(4):
                    arguments = add(f"{text}", f"writer {number}")
                    writer.call(DAEMON, DAEMON_PATH, DAEMON, "Add", arguments, None, 0, -1, None, None)
            times[name].append(answer(identifier))
            time.sleep(0.2)
    for number in range(10):
        desktop.ask_daemon("Add", add(f"{number}"), writers[0])
    for _ in range(rounds):
        begun = time.monotonic_ns()
        desktop.ask_daemon("List", program=writers[0])
        times["list"].append(time.monotonic_ns() - begun)
        times["waiting"].append(desktop.run_command("notifications", "list"))
        times["history"].append(desktop.run_command("notifications", "history", "--limit", "256"))
    return times


def report(times, rounds):
    """Prints the figures, and returns the names of those that miss their goals."""
    missed = []
    for name, values in times.items():
        values = [value / 1e6 for value in values]
        figures = {"median_ms": statistics.median(values), "largest_ms": max(values)}
        if base := BASES.get(name):
            over = [value - other / 1e6 for value, other in zip(values, times[base])]
            figures[f"median_over_{base}_ms"] = statistics.median(over)
            if name in TIMES:
                quotients = [value / other * 1e6 for value, other in zip(values, times[base])]
                figures[f"median_times_{base}"] = statistics.median(quotients)
        rounded = {key: round(value, 2) for key, value in figures.items()}
        if goal := GOALS.get(name):
            key = f"median_over_{BASES[name]}_ms" if name in OVER else "median_ms"
            if name in TIMES:
                key = f"median_times_{BASES[name]}"
            rounded |= {"goal" if name in TIMES else "goal_ms": goal, "met": figures[key] <= goal}
            if not rounded["met"]:
                missed.append(name)
        print(json.dumps({"figure": name, "rounds": rounds} | rounded))
    return missed


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if not 2 <= len(arguments) <= 3 or not 1 <= (rounds := int((arguments + ["14"])[2])) <= 14:
        sys.exit(__doc__)
    command, program = (str(Path(argument).resolve()) for argument in arguments[:2])
    loop = GLib.MainLoop()
    threading.Thread(target=loop.run, daemon=True).start()
    directory = Path(tempfile.mkdtemp(prefix="notifications-"))
    desktops = []
    try:
        desktops = [Desktop(directory / name, command) for name in ("first", "second")]
        create_account(*desktops)
        desktops[0].start_daemon({"REMOTE_SYSTEMS_HOST_MIRRORED_APPLICATIONS": "*"})
        desktops[1].start_daemon({"REMOTE_SYSTEMS_HOST_NOTIFY_OFFERS": "true"})
        missed = report(measure(*desktops, rounds), rounds)
        missed += report(measure_hand_off(*desktops, rounds), rounds)
        missed += report(measure_continuing(*desktops, program, rounds), rounds)
        missed += report(measure_everywhere(*desktops, rounds), rounds)
        second = desktops[1]
        second.stop_daemon()
        fill_history(second)
        second.start_daemon({})
        # The daemon accepts 120 notifications of all programs at once.
        few = min(rounds, 8)
        missed += report(measure_history(second, few), few)
    finally:
        for desktop in desktops:
            desktop.stop()
        loop.quit()
        shutil.rmtree(directory, ignore_errors=True)
    if missed and "--check" in sys.argv:
        sys.exit(f"Goals are not met: {', '.join(missed)}.")


main()
