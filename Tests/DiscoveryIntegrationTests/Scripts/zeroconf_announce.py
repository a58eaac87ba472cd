# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Announces our service type with python-zeroconf: ADDRESS INSTANCE PORT KEY=VALUE..."""

import json
import signal
import socket
import sys
import time

from zeroconf import IPVersion, ServiceInfo, Zeroconf

TYPE = "_remote-systems._tcp.local."
address, instance, port = sys.argv[1:4]
properties = dict(pair.split("=", 1) for pair in sys.argv[4:])
zeroconf = Zeroconf(interfaces=[address], ip_version=IPVersion.V4Only)
info = ServiceInfo(
    TYPE, f"{instance}.{TYPE}", addresses=[socket.inet_aton(address)], port=int(port), properties=properties,
    server="stranger.local.",
)


def leave(*_):
    zeroconf.unregister_service(info)
    zeroconf.close()
    sys.exit(0)


signal.signal(signal.SIGTERM, leave)
zeroconf.register_service(info)
print(json.dumps({"time": time.time(), "event": "announcing"}), flush=True)
time.sleep(120)
