# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""States since when the session was not used, as one of the programs that know it.

Usage: idle_time.py KIND MILLISECONDS

Prints "ready".

KIND  compositor   GNOME's compositor
      screensaver  the screen saver of Plasma
      login        systemd-logind, on the bus that the environment names as the system's
"""

import sys
import time

from gi.repository import Gio, GLib

kind, idle = sys.argv[1], int(sys.argv[2])
NAME, PATH, INTERFACE, CONTENT = {
    "compositor": (
        "org.gnome.Mutter.IdleMonitor",
        "/org/gnome/Mutter/IdleMonitor/Core",
        "org.gnome.Mutter.IdleMonitor",
        '<method name="GetIdletime"><arg type="t" direction="out"/></method>',
    ),
    "screensaver": (
        "org.freedesktop.ScreenSaver",
        "/org/freedesktop/ScreenSaver",
        "org.freedesktop.ScreenSaver",
        '<method name="GetSessionIdleTime"><arg type="u" direction="out"/></method>'
        '<method name="GetActive"><arg type="b" direction="out"/></method>',
    ),
    "login": (
        "org.freedesktop.login1",
        "/org/freedesktop/login1/user/self",
        "org.freedesktop.login1.User",
        '<property name="IdleHint" type="b" access="read"/>'
        '<property name="IdleSinceHintMonotonic" type="t" access="read"/>',
    ),
}[kind]
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM if kind == "login" else Gio.BusType.SESSION)


def called(_bus, _sender, _path, _interface, method, _parameters, invocation):
    types, value = {"GetIdletime": ("(t)", idle), "GetSessionIdleTime": ("(u)", idle), "GetActive": ("(b)", False)}[method]
    invocation.return_value(GLib.Variant(types, (value,)))


def read(_bus, _sender, _path, _interface, name):
    if name == "IdleHint":
        return GLib.Variant("b", True)
    return GLib.Variant("t", time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000 - idle * 1000)


node = Gio.DBusNodeInfo.new_for_xml(f'<node><interface name="{INTERFACE}">{CONTENT}</interface></node>')
bus.register_object(PATH, node.interfaces[0], called, read, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.MainLoop().run()
