#!/usr/bin/python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Hands a note over, or continues one, through the host daemon on the session bus.

    note.py offer TITLE TEXT    offer a note until another system has continued it
    note.py receive             continue notes of other systems until stopped
    note.py list                list what other systems offer
    note.py continue ID         let a program of this system continue an activity
"""

import sys

from gi.repository import Gio, GLib

NAME = "org.remotesystems.Activities1"
PATH = "/org/remotesystems/Activities1"
NOTE = "org.example.note"
HANDLER = """
<node><interface name="org.remotesystems.ActivityHandler1">
  <method name="Continue">
    <arg name="type" type="s" direction="in"/>
    <arg name="title" type="s" direction="in"/>
    <arg name="content" type="a{sv}" direction="in"/>
    <arg name="details" type="a{sv}" direction="in"/>
    <arg name="continued" type="b" direction="out"/>
  </method>
</interface></node>
"""


def say(line):
    print(line, flush=True)


def continue_note(_connection, _sender, _path, _interface, _method, arguments, invocation):
    """Another system has handed a note over. Its content comes from there: check it."""
    _type, title, content, _details = arguments.unpack()
    text = content.get("Text")
    if isinstance(text, str):
        say(f"continued: {title}: {text}")
    invocation.return_value(GLib.Variant("(b)", (isinstance(text, str),)))


def keep(activities, start):
    """Calls `start` now, and again when another daemon has the name: it does not know what an earlier one was told."""
    start()
    known = activities.get_name_owner()

    def changed(*_):
        nonlocal known
        owner = activities.get_name_owner()
        if owner and known and owner != known:
            start()
        known = owner or known

    activities.connect("notify::g-name-owner", changed)


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("offer", "receive", "list", "continue"):
        sys.exit(__doc__)
    command, words = sys.argv[1], sys.argv[2:]
    if len(words) != {"offer": 2, "continue": 1}.get(command, 0):
        sys.exit(__doc__)
    loop = GLib.MainLoop()
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    activities = Gio.DBusProxy.new_sync(bus, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME)
    if command == "list":
        for offer in activities.List():
            account = f" (of {offer['account_name']})" if "account_name" in offer else ""
            say(f"{offer['id']} {offer['system_name']}{account}: {offer.get('title', offer['type'])}")
    elif command == "continue":
        # An application may take minutes to continue, so the default of 25 s is too short.
        say(f"continued in {activities.Continue('(ss)', words[0], '', timeout=300_000)}")
    elif command == "receive":
        bus.register_object(
            "/org/remotesystems/ActivityHandler1",
            Gio.DBusNodeInfo.new_for_xml(HANDLER).interfaces[0],
            continue_note,
        )
        keep(activities, lambda: activities.Register("(sas)", "org.example.notes", [NOTE]))
        say("ready: continuing notes")
        loop.run()
    else:

        def signalled(_proxy, _sender, signal, arguments):
            if signal == "Continued":
                say(f"handed over to {arguments.unpack()[2]}")
                loop.quit()

        def offer():
            activities.Register("(sas)", "org.example.notes", [])
            content = {"Text": GLib.Variant("s", words[1])}
            activities.Offer("(ssa{sv}a{sv})", NOTE, words[0], content, {})

        activities.connect("g-signal", signalled)
        keep(activities, offer)
        say(f"offered: {words[0]}")
        loop.run()


try:
    main()
except GLib.Error as error:
    name = Gio.DBusError.get_remote_error(error)
    if name == "org.freedesktop.DBus.Error.ServiceUnknown":
        sys.exit("note.py: The host daemon does not run. Start it with 'remotesystems host run'.")
    # In Python, strip_remote_error changes a copy of the error.
    sys.exit("note.py: " + error.message.removeprefix(f"GDBus.Error:{name}: "))
