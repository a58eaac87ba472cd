# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is a desktop portal for notifications of version 2 on the session bus, whose desktop has text fields.

Usage: portal.py KIND

Prints "ready", then a line of JSON for each notification. SIGUSR1 makes its user type a text at the button of the last
notification that takes one.

KIND  data  reports the text after the data of the desktop, as the specification says
      bare  reports the text without such data
"""

import json
import signal
import sys

from gi.repository import Gio, GLib

NAME, PATH = "org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"
INTERFACE = "org.freedesktop.portal.Notification"
XML = f"""
<node><interface name="{INTERFACE}">
  <method name="AddNotification"><arg type="s" direction="in"/><arg type="a{{sv}}" direction="in"/></method>
  <method name="RemoveNotification"><arg type="s" direction="in"/></method>
  <signal name="ActionInvoked"><arg type="s"/><arg type="s"/><arg type="av"/></signal>
  <property name="version" type="u" access="read"/>
  <property name="SupportedOptions" type="a{{sv}}" access="read"/>
</interface></node>
"""
OPTIONS = {
    "category": GLib.Variant("as", ["im.received"]),
    "button-purpose": GLib.Variant("as", ["im.reply-with-text"]),
}

kind = sys.argv[1]
bus = Gio.bus_get_sync(Gio.BusType.SESSION)
last = {}


def called(_bus, _sender, _path, _interface, method, parameters, invocation):
    values = parameters.unpack()
    if method == "AddNotification":
        last["id"], last["buttons"] = values[0], values[1].get("buttons", [])
        print(json.dumps(values[1]), flush=True)
    invocation.return_value(None)


def read(_bus, _sender, _path, _interface, name):
    return GLib.Variant("u", 2) if name == "version" else GLib.Variant("a{sv}", OPTIONS)


def act():
    for button in last.get("buttons", []):
        if button.get("purpose") != "im.reply-with-text":
            continue
        values = [GLib.Variant("s", button["target"])]
        if kind == "data":
            values.append(GLib.Variant("a{sv}", {"activation-token": GLib.Variant("s", "token-1")}))
        values.append(GLib.Variant("s", "Because"))
        parameters = GLib.Variant("(ssav)", (last["id"], button["action"], values))
        bus.emit_signal(None, PATH, INTERFACE, "ActionInvoked", parameters)
    return True


node = Gio.DBusNodeInfo.new_for_xml(XML)
bus.register_object(PATH, node.interfaces[0], called, read, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, act)
GLib.MainLoop().run()
