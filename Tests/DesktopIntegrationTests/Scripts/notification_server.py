# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is a notification server on the session bus, in one of several kinds.

Usage: notification_server.py KIND

Prints "ready", then a line of JSON for each call of Notify and CloseNotification. SIGUSR1 makes its user act on the last
notification: type a text where there is a field, or else choose the first action.

KIND  reply  has text fields, as Plasma does
      bare   has no capabilities
      sound  plays sounds
      zero   gives every notification the number 0
      same   gives every notification the number 1
      hang   never responds to Notify
      hold   responds to Notify when its user acts, to all calls at once
      refuse refuses to replace a notification
      click  reports a click on a notification that is replaced, just before it replaces that one
      crash  ends at the first Notify
      media  opens the attachment of a notification when its user acts
      token  gives a token for windows before it reports an action
      lie    also reports actions, closings and texts of numbers that it never gave
"""

import json
import os
import signal
import sys

from gi.repository import Gio, GLib

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
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
CAPABILITIES = {"reply": ["actions", "body", "inline-reply"], "bare": [], "sound": ["actions", "body", "sound"]}

kind = sys.argv[1]
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
last = {"id": 0, "actions": []}
held = []


def emit(signal_name, types, *values):
    bus.emit_signal(None, PATH, NAME, signal_name, GLib.Variant(types, values))


def called(_bus, _sender, _path, _interface, method, parameters, invocation):
    values = parameters.unpack()
    if method == "GetServerInformation":
        invocation.return_value(GLib.Variant("(ssss)", ("test", "test", "1", "1.3")))
    elif method == "GetCapabilities":
        invocation.return_value(GLib.Variant("(as)", (CAPABILITIES.get(kind, ["actions", "body"]),)))
    elif method == "Notify":
        sound = None if values[6].get("suppress-sound") else values[6].get("sound-name", "unnamed")
        call = {"notify": values[3], "body": values[4], "actions": values[5], "sound": sound}
        call["image"] = values[6].get("image-path")
        call["entry"] = values[6].get("desktop-entry")
        print(json.dumps(call), flush=True)
        if kind == "crash":
            os._exit(1)
        if kind == "hang":
            return
        if kind == "refuse" and values[1]:
            return invocation.return_dbus_error("org.freedesktop.DBus.Error.LimitsExceeded", "Too many")
        if kind == "click" and values[1]:
            emit("ActionInvoked", "(us)", values[1], last["actions"][0])
        last["id"] = {"zero": 0, "same": 1}.get(kind, values[1] or last["id"] + 1)
        last["actions"] = values[5]
        if kind == "lie":
            emit("ActionInvoked", "(us)", 4711, "yes")
            emit("ActionInvoked", "(us)", last["id"] + 1, "yes")
            emit("NotificationReplied", "(us)", last["id"] + 1, "text")
            emit("NotificationClosed", "(uu)", last["id"] + 1, 2)
            emit("NotificationClosed", "(uu)", last["id"] + 2, 77)
        if kind == "hold":
            return held.append((invocation, last["id"]))
        invocation.return_value(GLib.Variant("(u)", (last["id"],)))
    else:
        print(json.dumps({"close": values[0]}), flush=True)
        invocation.return_value(None)
        emit("NotificationClosed", "(uu)", values[0], 3)


def act():
    if kind == "hold":
        while held:
            invocation, number = held.pop(0)
            invocation.return_value(GLib.Variant("(u)", (number,)))
    elif kind == "media":
        emit("ActionInvoked", "(us)", last["id"], "remote-systems.open-attachment")
    elif "inline-reply" in last["actions"]:
        emit("NotificationReplied", "(us)", last["id"], "Because")
    else:
        if kind == "token":
            emit("ActivationToken", "(us)", last["id"], "token-1")
        emit("ActionInvoked", "(us)", last["id"], last["actions"][0])
    return True


node = Gio.DBusNodeInfo.new_for_xml(XML)
bus.register_object(PATH, node.interfaces[0], called, None, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, act)
GLib.MainLoop().run()
