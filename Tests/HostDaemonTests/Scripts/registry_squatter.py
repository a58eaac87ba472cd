# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Takes the host daemon's name on a session bus, and gives each caller a socket of its own.

Arguments: BUS USER SOCKET. Prints `owner`, `called` for the first call, and `received` with the bytes of the first
connection to the socket in hexadecimal digits.
"""

import os
import socket
import struct
import sys
import threading

from bus_messages import NAME, Bus, pad, text

path, user, trap = sys.argv[1], int(sys.argv[2]), sys.argv[3]
listener = socket.socket(socket.AF_UNIX)
listener.bind(trap)
os.chmod(trap, 0o777)
listener.listen(16)
# Opened before the change of the user, because the directory belongs to another one. The process that listens later is
# reported with the user it had when it called listen, so that call is repeated below.
descriptor = os.open(trap, os.O_PATH)


def serve():
    is_first = True
    while True:
        connection, _ = listener.accept()
        connection.settimeout(2)
        received = b""
        try:
            received = connection.recv(65536)
            # No TLS: the caller gives up after this.
            connection.sendall(bytes(100))
            while data := connection.recv(65536):
                received += data
        except OSError:
            pass
        if is_first:
            print("received " + received.hex(), flush=True)
        is_first = False
        connection.close()


bus = Bus(path, user)
listener.listen(16)
threading.Thread(target=serve, daemon=True).start()
number = bus.call(
    b"org.freedesktop.DBus", b"/org/freedesktop/DBus", b"org.freedesktop.DBus", b"RequestName", b"su",
    pad(text(NAME), 4) + struct.pack("<I", 4),
)
kind, error, body = bus.response(number)
assert kind == 2 and struct.unpack("<I", body)[0] == 1, (kind, error, body)
print("owner", flush=True)
bus.socket.settimeout(120)
has_called = False
while True:
    kind, fields, body, serial = bus.next()
    if kind == 1 and fields.get(3) == b"OpenSocket":
        if not has_called:
            print("called", flush=True)
        has_called = True
        bus.respond(serial, fields[7], b"h", struct.pack("<I", 0), [descriptor])
