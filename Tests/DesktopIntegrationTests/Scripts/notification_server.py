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
      expire ends the time of the last notification when its user acts
      media  opens the attachment of a notification when its user acts
      token  gives a token for windows before it reports an action
      lie    also reports actions, closings and texts of numbers that it never gave, and, when its user acts, actions
             that it was never given, two hundred times
      names  states thousands of capabilities, some with very long names, and has such a name itself
      text   states its capabilities as a text
      mute   states that it has text fields, and never reports what is entered
      tags   reads markup and keeps what it has shown, and states neither
      paused, paused-other, paused-text, paused-hang
             are paused, as dunst states it; "other" has another name, "text" states it as a text, "hang" not at all
"""

import json
import os
import re
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
PROPERTIES = """
<node><interface name="org.freedesktop.DBus.Properties">
  <method name="Get"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/></method>
</interface></node>
"""
CAPABILITIES = {"reply": ["actions", "body", "inline-reply"], "bare": [], "sound": ["actions", "body", "sound"]}
CAPABILITIES["mute"] = CAPABILITIES["reply"]
CAPABILITIES["names"] = ["actions", "body", *(f"x-test-{n}" for n in range(5000)), "x" * 1_000_000, "inline-reply"]
SOFTWARE = {"names": "n" * 1_000_000, "paused": "dunst", "paused-text": "dunst", "paused-hang": "dunst"}

kind = sys.argv[1]
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
last = {"id": 0, "actions": []}
held = []


def emit(signal_name, types, *values):
    bus.emit_signal(None, PATH, NAME, signal_name, GLib.Variant(types, values))


def called(_bus, _sender, _path, _interface, method, parameters, invocation):
    values = parameters.unpack()
    if method == "GetServerInformation":
        invocation.return_value(GLib.Variant("(ssss)", (SOFTWARE.get(kind, "test"), "test", "1", "1.3")))
    elif method == "GetCapabilities" and kind == "text":
        invocation.return_value(GLib.Variant("(s)", ("actions",)))
    elif method == "GetCapabilities":
        invocation.return_value(GLib.Variant("(as)", (CAPABILITIES.get(kind, ["actions", "body"]),)))
    elif method == "Notify":
        sound = None if values[6].get("suppress-sound") else values[6].get("sound-name", "unnamed")
        call = {"notify": values[3], "body": values[4], "actions": values[5], "sound": sound}
        call["image"] = values[6].get("image-path")
        call["entry"] = values[6].get("desktop-entry")
        if kind == "tags":
            # What is left of the body for a careless reader: a tag or a comment that does not end hides the rest.
            call["seen"] = re.sub(r"<[a-zA-Z/!?][^>]*>?", "", values[4])
        print(json.dumps(call), flush=True)
        if kind == "crash":
            os._exit(1)
        if kind == "hang":
            return
        if kind == "refuse" and values[1]:
            return invocation.return_dbus_error("org.freedesktop.DBus.Error.LimitsExceeded", "Too many")
        if kind == "click" and values[1]:
            emit("ActionInvoked", "(us)", values[1], last["actions"][0])
        # A server that lies gives the numbers between to other programs.
        step = 3 if kind == "lie" else 1
        last["id"] = {"zero": 0, "same": 1}.get(kind, values[1] or last["id"] + step)
        last["actions"] = values[5]
        if kind == "lie":
            lie()
        if kind == "hold":
            return held.append((invocation, last["id"]))
        invocation.return_value(GLib.Variant("(u)", (last["id"],)))
    else:
        print(json.dumps({"close": values[0]}), flush=True)
        invocation.return_value(None)
        emit("NotificationClosed", "(uu)", values[0], 3)


def lie():
    for number in (0, 4711, last["id"] - 1, last["id"] + 1):
        emit("ActionInvoked", "(us)", number, "yes")
        emit("NotificationReplied", "(us)", number, "text")
        emit("NotificationClosed", "(uu)", number, 2)
        emit("NotificationClosed", "(uu)", number, 77)


def property_called(_bus, _sender, _path, _interface, _method, parameters, invocation):
    print(json.dumps({"read": parameters.unpack()}), flush=True)
    if kind != "paused-hang":
        value = GLib.Variant("s", "true") if kind == "paused-text" else GLib.Variant("b", True)
        invocation.return_value(GLib.Variant("(v)", (value,)))


def act():
    if kind == "lie":
        for _ in range(200):
            lie()
            # A part of a key, the action with the text, the key of its field, that of another program, and none.
            for key in ("ye", "why", "inline-reply", "other", ""):
                emit("ActionInvoked", "(us)", last["id"], key)
        print(json.dumps({"lied": last["id"]}), flush=True)
    elif kind == "mute":
        print(json.dumps({"entered": last["id"]}), flush=True)
    elif kind == "hold":
        while held:
            invocation, number = held.pop(0)
            invocation.return_value(GLib.Variant("(u)", (number,)))
    elif kind == "expire":
        emit("NotificationClosed", "(uu)", last["id"], 1)
    elif kind == "media":
        emit("ActionInvoked", "(us)", last["id"], "remote-systems.open-attachment")
    elif "inline-reply" in last["actions"]:
        emit("NotificationReplied", "(us)", last["id"], "Because")
    else:
        if kind == "token":
            emit("ActivationToken", "(us)", last["id"], "token-1")
        emit("ActionInvoked", "(us)", last["id"], last["actions"][0])
    return True


if kind == "text":
    XML = XML.replace('"as" direction="out"', '"s" direction="out"')
node = Gio.DBusNodeInfo.new_for_xml(XML)
bus.register_object(PATH, node.interfaces[0], called, None, None)
if kind.startswith("paused"):
    node = Gio.DBusNodeInfo.new_for_xml(PROPERTIES)
    bus.register_object(PATH, node.interfaces[0], property_called, None, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, act)
GLib.MainLoop().run()
