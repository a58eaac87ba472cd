# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Browses for our service type with python-zeroconf and prints the events as lines of JSON."""

import json
import signal
import sys
import threading
import time

from zeroconf import IPVersion, ServiceBrowser, ServiceListener, Zeroconf

TYPE = "_remote-systems._tcp.local."


def say(event, **fields):
    print(json.dumps({"time": time.time(), "event": event, **fields}), flush=True)


class Listener(ServiceListener):
    def add_service(self, zc, type_, name):
        threading.Thread(target=self.resolve, args=(zc, name), daemon=True).start()

    def resolve(self, zc, name):
        info = zc.get_service_info(TYPE, name, 15000)
        if info is None:
            say("unresolved", id=name.removesuffix("." + TYPE))
            return
        properties = " ".join(f"{k.decode()}={(v or b'').decode()}" for k, v in sorted(info.properties.items()))
        endpoints = " ".join(f"{a}:{info.port}" for a in info.parsed_addresses())
        say("appeared", id=name.removesuffix("." + TYPE), endpoints=endpoints, properties=properties)

    def update_service(self, zc, type_, name):
        pass

    def remove_service(self, zc, type_, name):
        say("vanished", id=name.removesuffix("." + TYPE))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
browser = ServiceBrowser(zeroconf, TYPE, Listener())
say("browsing")
time.sleep(120)
