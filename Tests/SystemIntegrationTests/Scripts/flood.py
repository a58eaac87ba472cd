# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Floods a network with forged announcements of our service type, as any machine on it can.

usage: flood.py ADDRESS COUNT RATE SECONDS

Announces COUNT instances at once, then RATE new ones a second for SECONDS. Announces the first COUNT again every five
seconds, because a busy machine drops packets. Prints lines of JSON; `flooding` once the first COUNT are announced,
`done` at the end.
"""
import json
import os
import socket
import struct
import sys
import time

address, count, rate, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
GROUP = ("224.0.0.251", 5353)
TYPE = b"".join(bytes([len(label)]) + label for label in (b"_remote-systems", b"_tcp", b"local")) + b"\0"
HOST = b"\x05flood\x05local\0"
TTL = 4500
PER_PACKET = 8
REPEAT = 5


def record(name, kind, data, unique):
    return name + struct.pack(">HHIH", kind, 0x8001 if unique else 1, TTL, len(data)) + data


def packet(instances):
    records = []
    for instance in instances:
        label = bytes([len(instance)]) + instance
        name = label + TYPE
        tag = b"t=" + os.urandom(8)
        records.append(record(TYPE, 12, name, False))
        records.append(record(name, 33, struct.pack(">HHH", 0, 0, 1024 + os.urandom(1)[0]) + HOST, True))
        records.append(record(name, 16, b"\x03v=1" + bytes([len(tag)]) + tag, True))
    records.append(record(HOST, 1, socket.inet_aton(address), True))
    return struct.pack(">HHHHHH", 0, 0x8400, 0, len(records), 0, 0) + b"".join(records)


def names(number):
    return [os.urandom(16).hex().encode() for _ in range(number)]


out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(address))
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
out.bind((address, 5353))
first = [packet(names(min(PER_PACKET, count - start))) for start in range(0, count, PER_PACKET)]


def announce_first():
    for one in first:
        out.sendto(one, GROUP)
        time.sleep(0.004)


announce_first()
print(json.dumps({"event": "flooding"}), flush=True)
end = time.monotonic() + seconds
sent, begun = 0, time.monotonic()
repeated = begun
while time.monotonic() < end:
    if time.monotonic() >= repeated + REPEAT:
        announce_first()
        repeated = time.monotonic()
    due = int((time.monotonic() - begun) * rate)
    while sent < due:
        number = min(PER_PACKET, due - sent)
        out.sendto(packet(names(number)), GROUP)
        sent += number
    time.sleep(0.01)
print(json.dumps({"event": "done"}), flush=True)
