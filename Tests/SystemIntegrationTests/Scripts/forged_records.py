# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Sends forged multicast DNS packets about an instance of our service type.

Arguments: ADDRESS INSTANCE HOST KIND SECONDS. KIND is `goodbye` (records with a lifetime of zero, RFC 6762 §10.1) or
`conflict` (this machine's address for the host's name, RFC 6762 §9). Sends 100 packets a second. Prints `sending`, and
`done` at the end.
"""

import json
import socket
import struct
import sys
import time

TYPE = b"\x0f_remote-systems\x04_tcp\x05local\x00"
PTR, TXT, SRV, A, ANY = 12, 16, 33, 1, 255
address, instance, host, kind, seconds = sys.argv[1:6]


def name(text):
    return b"".join(bytes([len(label)]) + label.encode() for label in text.rstrip(".").split(".")) + b"\0"


def record(owner, type_, data, ttl, cls=0x8001):
    return owner + struct.pack(">HHIH", type_, cls, ttl, len(data)) + data


full = bytes([len(instance.encode())]) + instance.encode() + TYPE
if kind == "goodbye":
    records = [
        record(TYPE, PTR, full, 0, cls=1), record(full, SRV, struct.pack(">HHH", 0, 0, 47474) + name(host), 0),
        record(full, TXT, b"\0", 0),
    ]
else:
    records = [record(name(host), A, socket.inet_aton(address), 120)]
packet = struct.pack(">HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)

wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
wire.bind((address, 5353))
wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
print(json.dumps({"event": "sending"}), flush=True)
for _ in range(int(float(seconds) * 100)):
    wire.sendto(packet, ("224.0.0.251", 5353))
    time.sleep(0.01)
print(json.dumps({"event": "done"}), flush=True)
