# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is the notification server of a large desktop, as a template of python-dbusmock.

Usage: desktop_server.py KIND

Prints "ready", then a line of JSON for each call of Notify and CloseNotification. The interface USER is its user.

KIND  gnome   GNOME Shell (js/ui/notificationDaemon.js): signals go only to the program that has shown the notification;
              the number of another program is refused, and an unknown one is not used; three notifications of one
              program; those of an installed application are closed when it leaves the bus; an action closes the
              notification as if the user had dismissed it
      plasma  Plasma (libnotificationmanager): text fields; a number is never checked; an action or a text closes the
              notification; what equals the last notification is refused once, in place of for a second

With both, a notification with the hint "resident" stays after an action, and a token for a window precedes an action.
"""

import json
import os
import sys

import dbus
import dbus.service

BUS_NAME = MAIN_IFACE = "org.freedesktop.Notifications"
MAIN_OBJ = "/org/freedesktop/Notifications"
SYSTEM_BUS = False
USER = "org.remotesystems.TestUser"

GNOME = ["actions", "body", "body-markup", "icon-static", "persistence", "sound"]
PLASMA = ["body", "body-hyperlinks", "body-markup", "body-images", "icon-static", "actions", "persistence"]
PLASMA += ["inline-reply", "x-kde-urls", "x-kde-origin-name", "x-kde-display-appname", "inhibitions"]
EXPIRED, DISMISSED, CLOSED = 1, 2, 3
MAX_OF_PROGRAM = 3


def load(mock, parameters):
    mock.is_plasma = parameters["kind"] == "plasma"
    mock.shown, mock.number, mock.last, mock.watches = {}, 1, None, {}
    if mock.is_plasma:
        mock.AddProperties(MAIN_IFACE, {"Inhibited": dbus.Boolean(False)})
    print("ready", flush=True)


def emit(mock, number, name, signature, *values):
    receiver = {"destination": mock.shown[number]["sender"]} if number in mock.shown else {}
    mock.EmitSignalDetailed(MAIN_IFACE, name, "u" + signature, [dbus.UInt32(number), *values], receiver)


def remove(mock, number, reason):
    emit(mock, number, "NotificationClosed", "u", dbus.UInt32(reason))
    mock.shown.pop(number, None)


def leave(mock, sender):
    """A program has left the bus."""
    for number, notification in list(mock.shown.items()):
        if notification["sender"] == sender and not mock.is_plasma:
            if notification["entry"]:
                remove(mock, number, CLOSED)
            else:
                notification["sender"] = None


def check(mock, number, sender):
    """GNOME refuses the number of another program that is still there."""
    owner = mock.shown.get(number, {}).get("sender")
    if not mock.is_plasma and owner not in (None, sender):
        raise dbus.DBusException("Invalid notification ID", name="org.freedesktop.DBus.Error.InvalidArgs")


@dbus.service.method(MAIN_IFACE, in_signature="", out_signature="ssss")
def GetServerInformation(self):
    return ("Plasma", "KDE", "5.27.5", "1.2") if self.is_plasma else ("gnome-shell", "GNOME", "46.0", "1.2")


@dbus.service.method(MAIN_IFACE, in_signature="", out_signature="as")
def GetCapabilities(self):
    return PLASMA if self.is_plasma else GNOME


@dbus.service.method(MAIN_IFACE, in_signature="susssasa{sv}i", out_signature="u", sender_keyword="sender")
def Notify(self, program, replaced, icon, summary, body, actions, hints, timeout, sender=None):
    call = {"notify": summary, "body": body, "actions": actions, "hints": hints, "timeout": timeout}
    print(json.dumps(call | {"replaces": replaced}, sort_keys=True), flush=True)
    check(self, replaced, sender)
    if self.is_plasma:
        same = (program, summary, body, actions)
        if self.last == same:
            self.last = None
            name = "org.freedesktop.Notifications.Error.ExcessNotificationGeneration"
            raise dbus.DBusException("Created too many similar notifications in quick succession", name=name)
        self.last = same
    number = replaced if replaced and (self.is_plasma or replaced in self.shown) else self.number
    self.number = max(self.number, number + 1)
    entry = str(hints.get("desktop-entry", ""))
    if not self.is_plasma and number not in self.shown:
        mine = [old for old, shown in self.shown.items() if (shown["sender"], shown["entry"]) == (sender, entry)]
        while len(mine) >= MAX_OF_PROGRAM:
            remove(self, mine.pop(0), EXPIRED)
    keys = [str(key) for key in actions[::2]]
    resident = bool(hints.get("resident", False))
    self.shown[number] = {"title": str(summary), "keys": keys, "resident": resident, "sender": sender, "entry": entry}
    if sender not in self.watches:
        watch = self.connection.watch_name_owner(sender, lambda owner: None if owner else leave(self, sender))
        self.watches[sender] = watch
    return dbus.UInt32(number)


@dbus.service.method(MAIN_IFACE, in_signature="u", out_signature="", sender_keyword="sender")
def CloseNotification(self, number, sender=None):
    print(json.dumps({"close": number}), flush=True)
    check(self, number, sender)
    if self.is_plasma or number in self.shown:
        remove(self, int(number), CLOSED)


# The user, who sees titles.


def find(mock, title):
    for number, notification in mock.shown.items():
        if notification["title"] == title:
            return number
    raise dbus.DBusException(f"{title} is not shown", name=f"{USER}.NotShown")


def used(mock, number):
    """An action or a text of a notification was used."""
    if not mock.shown[number]["resident"]:
        remove(mock, number, CLOSED if mock.is_plasma else DISMISSED)


@dbus.service.method(USER, in_signature="ss", out_signature="")
def Choose(self, title, key):
    number = find(self, title)
    if key not in self.shown[number]["keys"]:
        raise dbus.DBusException(f"{title} has no {key}", name=f"{USER}.NoAction")
    emit(self, number, "ActivationToken", "s", "token-of-the-click")
    emit(self, number, "ActionInvoked", "s", key)
    used(self, number)


@dbus.service.method(USER, in_signature="ss", out_signature="")
def Reply(self, title, text):
    number = find(self, title)
    if not self.is_plasma or "inline-reply" not in self.shown[number]["keys"]:
        raise dbus.DBusException(f"{title} has no text field", name=f"{USER}.NoField")
    emit(self, number, "NotificationReplied", "s", text)
    used(self, number)


@dbus.service.method(USER, in_signature="s", out_signature="")
def Dismiss(self, title):
    remove(self, find(self, title), DISMISSED)


@dbus.service.method(USER, in_signature="s", out_signature="")
def Expire(self, title):
    remove(self, find(self, title), EXPIRED)


@dbus.service.method(USER, in_signature="s", out_signature="")
def Inhibit(self, state):
    self.UpdateProperties(MAIN_IFACE, {"Inhibited": dbus.Boolean(state == "on")})


@dbus.service.method(USER, in_signature="", out_signature="as")
def Titles(self):
    return dbus.Array([notification["title"] for notification in self.shown.values()], signature="s")


if __name__ == "__main__":
    # Its own log would be among the lines of JSON.
    arguments = ["--session", "--logfile", os.devnull, "--template", os.path.abspath(__file__)]
    arguments += ["--parameters", json.dumps({"kind": sys.argv[1]})]
    os.execv(sys.executable, [sys.executable, "-u", "-m", "dbusmock", *arguments])
