# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is the login manager on the bus that the environment names as the system's, with one session, whose `LockedHint`
changes with each SIGUSR1.

Usage: login_lock.py KIND

Prints "ready", then "asked" for each time that the property is read.

KIND  locked    the session is locked at first
      unlocked  it is not
"""

import signal
import sys

from gi.repository import Gio, GLib

SESSION = "org.freedesktop.login1.Session"
# The signals name the path of the session itself, as those of systemd-logind do.
ALIAS, PATH = "/org/freedesktop/login1/session/auto", "/org/freedesktop/login1/session/_32"
XML = f'<node><interface name="{SESSION}"><property name="LockedHint" type="b" access="read"/></interface></node>'

locked = sys.argv[1] == "locked"
bus = Gio.bus_get_sync(Gio.BusType.SYSTEM)


def read(_bus, _sender, _path, _interface, _name):
    print("asked", flush=True)
    return GLib.Variant("b", locked)


def change():
    global locked
    locked = not locked
    values = GLib.Variant("(sa{sv}as)", (SESSION, {"LockedHint": GLib.Variant("b", locked)}, []))
    bus.emit_signal(None, PATH, "org.freedesktop.DBus.Properties", "PropertiesChanged", values)
    return True


node = Gio.DBusNodeInfo.new_for_xml(XML)
for path in (ALIAS, PATH):
    bus.register_object(path, node.interfaces[0], None, read, None)
Gio.bus_own_name_on_connection(
    bus, "org.freedesktop.login1", Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None
)
GLib.unix_signal_add(GLib.PRIORITY_HIGH, signal.SIGUSR1, change)
GLib.MainLoop().run()
