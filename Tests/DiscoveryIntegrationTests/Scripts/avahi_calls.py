# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Calls avahi-daemon on the bus at a path with arguments that ended older versions: BUS.

Prints `accepted` or `refused` with the member for each call, and `alive` or `ended` at the end.
"""
import os
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "HostDaemonTests/Scripts"))
from bus_messages import Bus, pad, text  # noqa: E402

AVAHI, SERVER, GROUP = b"org.freedesktop.Avahi", b"org.freedesktop.Avahi.Server", b"org.freedesktop.Avahi.EntryGroup"
A, PTR, TXT, SRV = 1, 12, 16, 33
# CVE-2023-38471.
NAMES = [b"", b".", b"..", b"\\", b"\\.", b"a\\", b"\\000", b"\\999", b".a", b"a.b", b"x" * 64, b"\xc3\xa9" * 40]
# CVE-2023-38472: data that is empty, or shorter than it states.
RECORDS = [(kind, data) for kind in (A, PTR, TXT, SRV, 255, 65535) for data in (b"", b"\xff", b"\3ab", b"\xc0\x0c")]


def call(member, signature=b"", body=b"", path=b"/", interface=SERVER):
    """The body of the response, or None for an error."""
    kind, _, answer = bus.response(bus.call(AVAHI, path, interface, member, signature, body))
    print("accepted" if kind == 2 else "refused", member.decode(), flush=True)
    return answer if kind == 2 else None


def record(kind, data):
    body = pad(struct.pack("<iiI", -1, -1, 0) + text(b"odd.local"), 2)
    body = pad(body + struct.pack("<HH", 1, kind), 4)
    return body + struct.pack("<II", 120, len(data)) + data


bus = Bus(sys.argv[1], os.getuid())
try:
    for name in NAMES:
        call(b"SetHostName", b"s", text(name))
    for kind, data in RECORDS:
        group = call(b"EntryGroupNew")
        if group is None:
            break
        path = group[4:4 + struct.unpack_from("<I", group)[0]]
        call(b"AddRecord", b"iiusqquay", record(kind, data), path, GROUP)
        call(b"Free", path=path, interface=GROUP)
    print("alive" if call(b"GetHostName") is not None else "ended", flush=True)
except (EOFError, ConnectionError):
    print("ended", flush=True)
