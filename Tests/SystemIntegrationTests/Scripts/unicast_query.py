# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Queries a machine's multicast DNS responder by unicast for our service type: SOURCE TARGET.

Prints JSON with the number of bytes of the response, 0 if there is none within two seconds.
"""

import json
import socket
import sys

HEADER = bytes.fromhex("1234" "0000" "0001" "0000" "0000" "0000")
QUERY = HEADER + b"\x0f_remote-systems\x04_tcp\x05local\x00\x00\x0c\x00\x01"
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
wire.bind((sys.argv[1], 0))
wire.settimeout(0.5)
received = 0
for _ in range(4):
    wire.sendto(QUERY, (sys.argv[2], 5353))
    try:
        received = len(wire.recv(9000))
        break
    except TimeoutError:
        pass
print(json.dumps({"event": "answered", "systems": received}), flush=True)
