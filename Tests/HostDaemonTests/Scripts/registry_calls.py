# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Calls the host daemon on a session bus in ways that its interface does not have, then in the right one.

Arguments: BUS SYSTEM ROUNDS. Prints a line for the response to each wrong call, `cut` for each malformed message for
which the bus closed the connection, and `socket` if the last call got a descriptor.
"""

import os
import struct
import sys

from bus_messages import NAME, PATH, Bus, pad, text

path, system, rounds = sys.argv[1], sys.argv[2].encode(), int(sys.argv[3])
bus = Bus(path, os.getuid())
spare = os.open("/dev/null", os.O_RDONLY)
argument = text(system)
PROPERTIES = b"org.freedesktop.DBus.Properties"
CALLS = [
    # Path, interface, member, signature, body, files.
    (PATH, NAME, b"OpenSocket", b"", b"", ()),
    (PATH, NAME, b"OpenSocket", b"u", struct.pack("<I", 2**32 - 1), ()),
    (PATH, NAME, b"OpenSocket", b"ss", pad(argument, 4) + text(b""), ()),
    (PATH, NAME, b"OpenSocket", b"s", text(b"x" * 1_000_000), ()),
    (PATH, NAME, b"OpenSocket", b"h", struct.pack("<I", 0), (spare,)),
    (PATH, NAME, b"OpenSocket", b"v", b"\1h\0\0" + struct.pack("<I", 0), (spare,)),
    (PATH, NAME, b"CloseSocket", b"s", argument, ()),
    (PATH + b"/else", NAME, b"OpenSocket", b"s", argument, ()),
    (PATH, PROPERTIES, b"Set", b"ssv", pad(text(NAME), 4) + text(b"x") + b"\1s\0" + bytes(3) + text(b"y"), ()),
]
# Messages that contradict themselves. No program receives them: the bus checks all messages.
MALFORMED = [
    # A signature that closes what it has not opened (CVE-2022-42010).
    (b"(u", struct.pack("<I", 0)),
    # An array whose length is no multiple of its elements' (CVE-2022-42011).
    (b"au", struct.pack("<I", 5) + bytes(5)),
    # An array longer than its message, and one longer than any message (CVE-2022-42012).
    (b"ay", struct.pack("<I", 64)),
    (b"ay", struct.pack("<I", 2**32 - 1)),
    # A text that does not end, and one that is no text.
    (b"s", struct.pack("<I", 4) + b"text!"),
    (b"s", struct.pack("<I", 2) + b"\xff\xfe\0"),
]
for signature, body in MALFORMED:
    cutting = Bus(path, os.getuid())
    try:
        cutting.response(cutting.call(NAME, PATH, NAME, b"OpenSocket", signature, body))
        print("answered", signature.decode(), flush=True)
    except (EOFError, ConnectionError):
        print("cut", flush=True)
for _ in range(rounds):
    for where, interface, member, signature, body, files in CALLS:
        kind, error, _ = bus.response(bus.call(NAME, where, interface, member, signature, body, files))
        print("error " + error.decode() if kind == 3 else "accepted " + member.decode(), flush=True)
    kind, error, _ = bus.response(bus.call(NAME, PATH, NAME, b"OpenSocket", b"s", argument))
    while len(bus.files) > 1:
        os.close(bus.files.pop())
print("socket" if kind == 2 and bus.files else "none", flush=True)
