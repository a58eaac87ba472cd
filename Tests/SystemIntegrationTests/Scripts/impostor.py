# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Announces our service type with python-zeroconf and responds to every connection with garbage.

Arguments: ADDRESS INSTANCE PORT TXT, where TXT is the whole record in hexadecimal digits. A name that is already taken is
used all the same. Prints lines of JSON; `connected` for each connection.
"""

import json
import os
import signal
import socket
import sys
import threading

from zeroconf import IPVersion, ServiceInfo, Zeroconf

TYPE = "_remote-systems._tcp.local."
address, instance, port, txt = sys.argv[1], sys.argv[2], int(sys.argv[3]), bytes.fromhex(sys.argv[4])


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def answer(listener):
    while True:
        connection, _ = listener.accept()
        say("connected")
        try:
            connection.settimeout(1)
            connection.recv(4096)
            connection.sendall(os.urandom(4096))
        except OSError:
            pass
        connection.close()


try:
    listener = socket.create_server((address, port))
    threading.Thread(target=answer, args=(listener,), daemon=True).start()
except (OSError, OverflowError) as error:
    say("not-listening", message=str(error))

zeroconf = Zeroconf(interfaces=[address], ip_version=IPVersion.V4Only)
info = ServiceInfo(
    TYPE, f"{instance}.{TYPE}", addresses=[socket.inet_aton(address)], port=port, properties=txt,
    server="stranger.local.",
)


def leave(*_):
    zeroconf.unregister_service(info)
    zeroconf.close()
    os._exit(0)


signal.signal(signal.SIGTERM, leave)
zeroconf.register_service(info, cooperating_responders=True, strict=False)
say("announcing")
threading.Event().wait(120)
