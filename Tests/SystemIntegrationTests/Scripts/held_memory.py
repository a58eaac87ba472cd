# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Makes a host hold memory: half ADDRESS PORT STATE COUNT LENGTH, or silent ADDRESS PORT COUNT.

`half` opens connections as the system with this state directory, and sends most of a request of LENGTH bytes on each.
`silent` opens connections that send the beginning of a TLS record. Prints lines of JSON; `held` once the host has taken
what it takes, with the number of connections that it accepted. Holds the connections until it is ended.
"""
import json
import signal
import socket
import ssl
import struct
import sys
import threading
import time

kind, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
HELLO, ACCEPT = 0, 1
# The time without progress after which a host takes no more, in seconds.
PATIENCE = 3
# A connection that a host gives up counts as failed, and after 32 of those the host accepts two in each second.
RETRY_INTERVAL, RETRY_TIME = 0.25, 60
held, lock = [], threading.Lock()
# A host has few places for handshakes.
handshakes = threading.Semaphore(8)
deadline = time.monotonic() + RETRY_TIME


def encode(value):
    """CBOR: the least that a hello needs."""
    def head(major, number):
        if number < 24:
            return bytes([major << 5 | number])
        size, form = next((s, f) for s, f in ((1, "B"), (2, ">H"), (4, ">I")) if number < 1 << 8 * s)
        return bytes([major << 5 | {1: 24, 2: 25, 4: 26}[size]]) + struct.pack(form, number)

    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(encode, value))
    items = sorted((encode(key), encode(element)) for key, element in value.items())
    return head(5, len(items)) + b"".join(key + element for key, element in items)


def frame(body):
    return struct.pack(">I", len(body)) + body


def read(wire, count):
    data = b""
    while len(data) < count:
        part = wire.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def open_as(state):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(f"{state}/account/system-certificate.pem", f"{state}/account/system-key.pem")
    context.set_alpn_protocols(["remote-systems/1"])
    wire = context.wrap_socket(socket.create_connection((address, port), 20))
    hello = {"version": [1, 0], "service": "remote-systems.ping", "application": "org.example.attacker",
             "limit": 1 << 20, "window": 8, "window-bytes": 1 << 20}
    wire.sendall(frame(encode([HELLO, hello])))
    length, = struct.unpack(">I", read(wire, 4))
    if read(wire, length)[1] != ACCEPT:
        raise EOFError
    return wire


def hold_half(state, length):
    while True:
        try:
            with handshakes:
                wire = open_as(state)
            break
        except (OSError, EOFError):
            if time.monotonic() > deadline:
                return
            time.sleep(RETRY_INTERVAL)
    with lock:
        held.append(wire)
    wire.settimeout(PATIENCE)
    try:
        wire.sendall(struct.pack(">I", length) + b"\x84" + bytes(length * 9 // 10))
    except OSError:
        pass


def hold_silent():
    try:
        wire = socket.create_connection((address, port), 20)
        wire.settimeout(PATIENCE)
        wire.sendall(b"\x16\x03\x01\x40\x00" + bytes(16000))
        with lock:
            held.append(wire)
    except OSError:
        pass


if kind == "half":
    state, count, length = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
    threads = [threading.Thread(target=hold_half, args=(state, length)) for _ in range(count)]
else:
    threads = [threading.Thread(target=hold_silent) for _ in range(int(sys.argv[4]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"event": "held", "sent": len(held)}), flush=True)
signal.pause()
