# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""A receiver of positions: sends NMEA 0183 lines of a place over a Unix socket.

usage: gps.py DIRECTORY

The socket is DIRECTORY/gps.sock. The place is read from DIRECTORY/place before each line: latitude and longitude.
"""
import os
import socket
import sys
import threading
import time

directory = sys.argv[1]


def degrees(value, width, positive, negative):
    size = abs(value)
    minutes = (size - int(size)) * 60
    return f"{int(size):0{width}d}{minutes:07.4f},{positive if value >= 0 else negative}"


def line(latitude, longitude):
    clock = time.strftime("%H%M%S", time.gmtime())
    place = f"{degrees(latitude, 2, 'N', 'S')},{degrees(longitude, 3, 'E', 'W')}"
    body = f"GPGGA,{clock},{place},1,08,1.0,35.0,M,0,M,,"
    checksum = 0
    for character in body:
        checksum ^= ord(character)
    return f"${body}*{checksum:02X}\r\n".encode()


def serve(connection):
    with connection:
        while True:
            with open(f"{directory}/place", encoding="utf-8") as file:
                place = file.read().split()
            try:
                connection.sendall(line(float(place[0]), float(place[1])))
            except OSError:
                return
            time.sleep(0.2)


with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(f"{directory}/gps.sock")
    os.chmod(f"{directory}/gps.sock", 0o666)
    listener.listen()
    print("ready", flush=True)
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
