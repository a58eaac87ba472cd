# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""The agent of a desktop that permits every program to learn the location. GeoClue waits for one."""
import os

from gi.repository import Gio, GLib

NAME = "org.freedesktop.GeoClue2"
XML = """
<node><interface name="org.freedesktop.GeoClue2.Agent">
  <method name="AuthorizeApp">
    <arg type="s" direction="in"/><arg type="u" direction="in"/>
    <arg type="b" direction="out"/><arg type="u" direction="out"/>
  </method>
  <property name="MaxAccuracyLevel" type="u" access="read"/>
</interface></node>
"""
EXACT = 8

flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
bus = Gio.DBusConnection.new_for_address_sync(os.environ["DBUS_SYSTEM_BUS_ADDRESS"], flags, None, None)


def authorize(_connection, _sender, _path, _interface, _method, arguments, invocation):
    invocation.return_value(GLib.Variant("(bu)", (True, arguments.unpack()[1])))


def register(*_):
    arguments = GLib.Variant("(s)", ("geoclue-demo-agent",))
    bus.call(NAME, f"/{NAME.replace('.', '/')}/Manager", f"{NAME}.Manager", "AddAgent", arguments, None, 0, -1, None)


bus.register_object(
    f"/{NAME.replace('.', '/')}/Agent",
    Gio.DBusNodeInfo.new_for_xml(XML).interfaces[0],
    authorize,
    lambda *_: GLib.Variant("u", EXACT),
    None,
)
Gio.bus_watch_name_on_connection(bus, NAME, Gio.BusNameWatcherFlags.NONE, register, None)
print("ready", flush=True)
GLib.MainLoop().run()
