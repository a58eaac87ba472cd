# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is a screen lock on the session bus, which states that the session is unlocked from its first SIGUSR1 on.

Usage: screen_lock.py KIND [NAME]

Prints "ready", then "asked" for each call of GetActive.

KIND  hang    responds to no call before
      deny    refuses all calls before
      locked  states before that the session is locked
NAME  its name on the bus. Defaults to org.freedesktop.ScreenSaver
"""

import signal
import sys

from gi.repository import Gio, GLib

NAME = sys.argv[2] if len(sys.argv) > 2 else "org.freedesktop.ScreenSaver"
PATH = "/" + NAME.replace(".", "/")
XML = f"""
<node><interface name="{NAME}"><method name="GetActive"><arg type="b" direction="out"/></method></interface></node>
"""

kind = sys.argv[1]
bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def called(_bus, _sender, _path, _interface, _method, _parameters, invocation):
    print("asked", flush=True)
    if kind == "deny":
        invocation.return_dbus_error("org.freedesktop.DBus.Error.AccessDenied", "Not now")
    elif kind != "hang":
        invocation.return_value(GLib.Variant("(b)", (kind == "locked",)))


def unlock():
    global kind
    kind = "unlocked"
    return True


node = Gio.DBusNodeInfo.new_for_xml(XML)
bus.register_object(PATH, node.interfaces[0], called, None, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, unlock)
GLib.MainLoop().run()
