# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Resolves our service type with python-zeroconf and prints each instance in a line of JSON: its name as `id`, the port,
and as `message` the address, the server's name and the whole TXT record in hexadecimal digits."""

import json
import signal
import sys
import threading

from zeroconf import IPVersion, ServiceBrowser, ServiceListener, Zeroconf

TYPE = "_remote-systems._tcp.local."


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


class Listener(ServiceListener):
    def add_service(self, zc, type_, name):
        threading.Thread(target=self.resolve, args=(zc, name), daemon=True).start()

    def resolve(self, zc, name):
        info = zc.get_service_info(TYPE, name, 15000)
        if info is not None:
            addresses = ",".join(info.parsed_addresses(IPVersion.V4Only))
            say(
                "resolved", id=name.removesuffix("." + TYPE), port=info.port,
                message=f"{addresses} {info.server} {info.text.hex()}",
            )

    def update_service(self, zc, type_, name):
        pass

    def remove_service(self, zc, type_, name):
        say("gone", id=name.removesuffix("." + TYPE))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
zeroconf = Zeroconf(ip_version=IPVersion.V4Only)
browser = ServiceBrowser(zeroconf, TYPE, Listener())
say("browsing")
threading.Event().wait(120)
