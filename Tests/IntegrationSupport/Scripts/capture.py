# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Prints every frame that an interface receives, one a line, in hexadecimal digits."""

import signal
import socket
import sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ETH_P_ALL = 3
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
wire.bind((sys.argv[1], 0))
print("capturing", flush=True)
PACKET_OUTGOING = 4
while True:
    frame, address = wire.recvfrom(65536)
    if address[2] != PACKET_OUTGOING:
        print("frame " + frame.hex(), flush=True)
