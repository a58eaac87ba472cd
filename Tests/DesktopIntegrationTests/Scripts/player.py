# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Asks and plays media players on the session bus.

Usage: player.py state      prints the state of the only player as JSON, with the time at which its position was right
       player.py pause      pauses it
       player.py play       lets it play
       player.py next       lets it play the next track of its list
       player.py previous   lets it play the previous one
       player.py seek S     moves it to a second
       player.py quit       ends it
       player.py lie KIND   is a player that lies; prints "ready", then each order that it gets
       player.py hold URL   is a player that plays a URL and opens no other; prints as the one that lies
"""

import json
import os
import sys
import time

from gi.repository import Gio, GLib

PREFIX, PATH = "org.mpris.MediaPlayer2", "/org/mpris/MediaPlayer2"
PLAYER, PROPERTIES = PREFIX + ".Player", "org.freedesktop.DBus.Properties"

bus = Gio.bus_get_sync(Gio.BusType.SESSION)


def call(name, interface, method, values, path=PATH):
    return bus.call_sync(name, path, interface, method, values, None, 0, 10000, None).unpack()


def players():
    names = call("org.freedesktop.DBus", "org.freedesktop.DBus", "ListNames", None, "/org/freedesktop/DBus")[0]
    return [name for name in names if name.startswith(PREFIX + ".")]


def state():
    found = players()
    if len(found) != 1:
        return {"players": len(found)}
    before = time.monotonic()
    try:
        properties = call(found[0], PROPERTIES, "GetAll", GLib.Variant("(s)", (PLAYER,)))[0]
    except GLib.Error:
        return {"players": 0}
    middle = (before + time.monotonic()) / 2
    metadata = properties.get("Metadata", {})
    return {
        "players": 1,
        "status": properties["PlaybackStatus"],
        "url": metadata.get("xesam:url", ""),
        "length": metadata.get("mpris:length", 0) / 1e6,
        "position": properties["Position"] / 1e6,
        "volume": properties["Volume"],
        "time": middle,
    }


def order(method, values=None):
    call(players()[0], PLAYER, method, values)


NODE = """
<node><interface name="org.mpris.MediaPlayer2">
<property name="Identity" type="s" access="read"/>
<property name="SupportedUriSchemes" type="as" access="read"/>
<property name="SupportedMimeTypes" type="as" access="read"/>
</interface><interface name="org.mpris.MediaPlayer2.Player">
<method name="OpenUri"><arg name="uri" type="s" direction="in"/></method>
<method name="Play"/><method name="Pause"/>
<method name="SetPosition"><arg name="track" type="o" direction="in"/><arg name="to" type="x" direction="in"/></method>
<property name="PlaybackStatus" type="s" access="read"/>
<property name="Metadata" type="a{sv}" access="read"/>
<property name="Position" type="x" access="read"/>
<property name="Volume" type="d" access="readwrite"/>
<property name="CanSeek" type="b" access="read"/>
<property name="CanPause" type="b" access="read"/>
</interface></node>
"""


class Liar:
    """Plays nothing.

    still:    states that it plays what it opened, and its position does not move
    absurd:   states a position before the beginning, a length of 300 years, and a title that steers a terminal
    huge:     states a title of 2 MB
    restless: changes its title a thousand times a second
    mute:     does not respond to anything
    brief:    ends when it is asked to play
    """

    def __init__(self, kind, url):
        self.kind = kind
        self.title = "A song"
        self.url = url
        self.status = "Paused" if kind == "brief" else "Playing" if url else "Stopped"
        self.changes = 0
        self.position = -7_000_000 if kind == "absurd" else 3_000_000

    def get(self, name):
        title = self.title
        length = 120_000_000
        if self.kind == "absurd":
            title, length = "\033]0;owned\007\u202eA \nsong", 2**63 - 1
        if self.kind == "huge":
            title = "x" * 2_000_000
        if self.kind == "restless":
            title = f"Song {self.changes}"
        metadata = {"mpris:trackid": GLib.Variant("o", "/1")}
        if self.url:
            metadata |= {
                "xesam:url": GLib.Variant("s", self.url),
                "xesam:title": GLib.Variant("s", title),
                "mpris:length": GLib.Variant("x", length),
            }
        return {
            "Identity": GLib.Variant("s", "Liar"),
            "SupportedUriSchemes": GLib.Variant("as", ["http", "https"]),
            "SupportedMimeTypes": GLib.Variant("as", ["audio/x-wav"]),
            "PlaybackStatus": GLib.Variant("s", self.status),
            "Metadata": GLib.Variant("a{sv}", metadata),
            "Position": GLib.Variant("x", self.position),
            "Volume": GLib.Variant("d", float("nan") if self.kind == "absurd" else 1.0),
            "CanSeek": GLib.Variant("b", True),
            "CanPause": GLib.Variant("b", True),
        }[name]

    def called(self, _bus, _sender, _path, _interface, method, values, invocation):
        print(method, *values.unpack(), flush=True)
        if self.kind == "mute":
            return
        if self.kind == "brief" and method == "Play":
            os._exit(1)
        if method == "OpenUri":
            self.url, self.status, self.position = values.unpack()[0], "Playing", 0
        if method == "Pause":
            self.status = "Paused"
        if method == "SetPosition":
            self.position = values.unpack()[1]
        invocation.return_value(None)
        self.changed()

    def changed(self):
        self.changes += 1
        changes = {} if self.kind == "mute" else {"Metadata": self.get("Metadata")}
        body = GLib.Variant("(sa{sv}as)", (PLAYER, changes, []))
        bus.emit_signal(None, PATH, PROPERTIES, "PropertiesChanged", body)
        return True

    def run(self):
        for interface in Gio.DBusNodeInfo.new_for_xml(NODE).interfaces:
            bus.register_object(
                PATH,
                interface,
                self.called,
                (lambda *_: time.sleep(30)) if self.kind == "mute" else (lambda _b, _s, _p, _i, name: self.get(name)),
                lambda *_: True,
            )
        request = GLib.Variant("(su)", (PREFIX + ".liar", 4))
        call("org.freedesktop.DBus", "org.freedesktop.DBus", "RequestName", request, "/org/freedesktop/DBus")
        print("ready", flush=True)
        if self.kind == "restless":
            GLib.timeout_add(1, self.changed)
        GLib.MainLoop().run()


class Holder(Liar):
    """Plays in silence what it has open, and opens nothing else, as a page of a browser does."""

    def __init__(self, url):
        super().__init__("still", url)
        self.title = os.path.basename(url)
        self.moved = time.monotonic()

    def settle(self):
        now = time.monotonic()
        if self.status == "Playing":
            self.position += int((now - self.moved) * 1e6)
        self.moved = now

    def get(self, name):
        self.settle()
        if name in ("SupportedUriSchemes", "SupportedMimeTypes"):
            return GLib.Variant("as", [])
        return super().get(name)

    def called(self, _bus, _sender, _path, _interface, method, values, invocation):
        self.settle()
        if method == "Play":
            self.status = "Playing"
        super().called(_bus, _sender, _path, _interface, method, values, invocation)


match sys.argv[1:]:
    case ["state"]:
        print(json.dumps(state()))
    case ["pause"]:
        order("Pause")
    case ["play"]:
        order("Play")
    case ["next"]:
        order("Next")
    case ["previous"]:
        order("Previous")
    case ["quit"]:
        call(players()[0], PREFIX, "Quit", None)
    case ["seek", second]:
        order("SetPosition", GLib.Variant("(ox)", ("/0", int(float(second) * 1e6))))
    case ["lie", kind, *url]:
        Liar(kind, url[0] if url else "").run()
    case ["hold", url]:
        Holder(url).run()
    case _:
        sys.exit(__doc__)
