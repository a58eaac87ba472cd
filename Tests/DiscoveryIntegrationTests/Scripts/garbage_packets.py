# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Sends mDNS responses with malformed records of our service type, then random bytes: ADDRESS."""

import json
import random
import socket
import struct
import sys
import time

TYPE = b"\x0f_remote-systems\x04_tcp\x05local\x00"
PTR, TXT, SRV, A = 12, 16, 33, 1
seed = random.randrange(2**32)
chance = random.Random(seed)


def record(name, kind, data, ttl=120, cls=0x8001):
    return name + struct.pack(">HHIH", kind, cls, ttl, len(data)) + data


def response(*records):
    return struct.pack(">HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


def label(raw):
    return bytes([len(raw)]) + raw


def garbage(number):
    raw = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 63)))
    instance = label(raw) + TYPE
    host = label(b"h%d" % number) + b"\x05local\x00"
    text = chance.choice([
        b"", b"\x00", b"\xff", b"\x05ab", b"\x01=", bytes(chance.randrange(256) for _ in range(300)),
        b"\x03a=\x00" * 300,
    ])
    port = chance.choice([0, 1, 65535])
    return response(
        record(TYPE, PTR, instance, cls=1),
        record(instance, SRV, struct.pack(">HHH", 0, 0, port) + host),
        record(instance, TXT, text),
        record(host, A, bytes(chance.randrange(256) for _ in range(chance.choice([4, 4, 4, 0, 3, 16])))),
    )


wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
wire.bind((sys.argv[1], 5353))
wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
wire.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
for number in range(300):
    packet = garbage(number)
    if number % 3 == 1:
        packet = packet[: chance.randrange(len(packet))]
    if number % 3 == 2:
        packet = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 1400)))
    wire.sendto(packet, ("224.0.0.251", 5353))
    time.sleep(0.005)
print(json.dumps({"time": time.time(), "event": "done", "message": f"seed {seed}"}), flush=True)
