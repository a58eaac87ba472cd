#!/usr/bin/python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Invites the user to an event, through the host daemon on the session bus.

    invite.py invite ID TITLE    show an invitation and end; the daemon keeps it
    invite.py list               list the invitations that wait for the user
    invite.py remove ID          remove an invitation
    invite.py receive            print responses, also those from before, until stopped
"""

import sys

from gi.repository import Gio, GLib

NAME = "org.remotesystems.Notifications1"
PATH = "/org/remotesystems/Notifications1"
APPLICATION = ("org.example.calendar", "Calendar")
ACTIONS = [("accept", "Accept"), ("comment", "Comment")]


def say(line):
    print(line, flush=True)


def signalled(notifications, _sender, signal, arguments):
    """The user has responded. The daemon sends that to this program only, and again if it ends before the last line."""
    if signal == "Responded":
        event, action, text, response = arguments.unpack()
        say(f"{event}: {action}" + (f": {text}" if text else ""))
        notifications.Acknowledge("(s)", response)


def owner_changed(notifications, _property):
    """The daemon was restarted. It sends responses to the program that has registered with it."""
    if notifications.get_name_owner():
        notifications.Register(
            "(ss)",
            *APPLICATION,
            result_handler=lambda *_: None,
            error_handler=lambda _notifications, error, _data: end(error),
        )


def end(error):
    name = Gio.DBusError.get_remote_error(error)
    sys.exit("invite.py: " + error.message.removeprefix(f"GDBus.Error:{name}: "))


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in ("invite", "list", "remove", "receive"):
        sys.exit(__doc__)
    command, words = sys.argv[1], sys.argv[2:]
    if len(words) != {"invite": 2, "remove": 1}.get(command, 0):
        sys.exit(__doc__)
    notifications = Gio.DBusProxy.new_for_bus_sync(
        Gio.BusType.SESSION, Gio.DBusProxyFlags.NONE, None, NAME, PATH, NAME
    )
    # Before Register, after which responses from before come at once.
    notifications.connect("g-signal", signalled)
    notifications.Register("(ss)", *APPLICATION)
    if command == "invite":
        options = {"subtitle": GLib.Variant("s", "Invitation"), "text_action": GLib.Variant("s", "comment")}
        notifications.Add("(sssa(ss)a{sv})", words[0], words[1], "Anna invites you.", ACTIONS, options)
        say(f"invited: {words[1]}")
    elif command == "list":
        for notification in notifications.List():
            say(f"{notification['id']}: {notification['title']}")
    elif command == "remove":
        notifications.Remove("(as)", words[:1])
    else:
        notifications.connect("notify::g-name-owner", owner_changed)
        say("ready: receiving responses")
        GLib.MainLoop().run()


try:
    main()
except GLib.Error as error:
    end(error)
