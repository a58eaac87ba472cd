# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Is a feedback service (feedbackd) on the session bus.

Usage: feedback.py

Prints "ready", then a line of JSON for each call of TriggerFeedback.
"""

import json

from gi.repository import Gio, GLib

NAME, PATH = "org.sigxcpu.Feedback", "/org/sigxcpu/Feedback"
XML = """
<node><interface name="org.sigxcpu.Feedback"><method name="TriggerFeedback"><arg type="s" direction="in"/>
<arg type="s" direction="in"/><arg type="a{sv}" direction="in"/><arg type="i" direction="in"/>
<arg type="u" direction="out"/></method></interface></node>
"""

bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def called(_bus, _sender, _path, _interface, _method, parameters, invocation):
    application, event, hints, timeout = parameters.unpack()
    call = {"application": application, "event": event, "hints": hints, "timeout": timeout}
    print(json.dumps(call), flush=True)
    invocation.return_value(GLib.Variant("(u)", (1,)))


node = Gio.DBusNodeInfo.new_for_xml(XML)
bus.register_object(PATH, node.interfaces[0], called, None, None)
Gio.bus_own_name_on_connection(bus, NAME, Gio.BusNameOwnerFlags.NONE, lambda *_: print("ready", flush=True), None)
GLib.MainLoop().run()
