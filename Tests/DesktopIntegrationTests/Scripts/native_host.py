# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Talks to a native-messaging host as a browser does.

Usage: native_host.py KIND PROGRAM [ARGUMENT …]

Prints each message of the program as a line of JSON, and at last its exit status and the number of bytes that it took.

KIND is a list of what is sent, separated by commas:
    ready      waits for the program
    page=URL   a page; leave; continue=ID
    garbage    a message that is not JSON
    list       a message that is JSON of another form
    private    a page of a private window
    100MB      announces 100 MB, and sends as much as the program takes
    flood      a thousand pages
    end        closes the connection
"""

import json
import struct
import subprocess
import sys
import threading

program = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
ready = threading.Event()
taken = 0


def read():
    while header := program.stdout.read(4):
        message = json.loads(program.stdout.read(struct.unpack("=I", header)[0]))
        print(json.dumps(message, sort_keys=True), flush=True)
        if message["type"] == "ready":
            ready.set()
    # It will not be ready any more.
    ready.set()


def send(body):
    global taken
    program.stdin.write(struct.pack("=I", len(body)) + body)
    program.stdin.flush()
    taken += 4 + len(body)


def page(url, **more):
    send(json.dumps({"type": "page", "url": url, "title": "A page", **more}).encode())


reader = threading.Thread(target=read)
reader.start()
try:
    for word in sys.argv[1].split(","):
        match word.split("=", 1):
            case ["ready"]:
                ready.wait(60)
            case ["page", url]:
                page(url)
            case ["leave"]:
                send(b'{"type": "leave"}')
            case ["continue", offer]:
                send(json.dumps({"type": "continue", "id": offer}).encode())
            case ["garbage"]:
                send(b"\xff\x00 no JSON")
            case ["list"]:
                send(b'["page"]')
            case ["private"]:
                page("https://example.com/", incognito=True)
            case ["flood"]:
                for number in range(1000):
                    page(f"https://example.com/{number}")
            case ["100MB"]:
                program.stdin.write(struct.pack("=I", 100_000_000))
                for _ in range(100):
                    program.stdin.write(b"x" * 1_000_000)
                    program.stdin.flush()
                    taken += 1_000_000
            case ["end"]:
                program.stdin.close()
            case _:
                sys.exit(__doc__)
except BrokenPipeError:
    pass
status = program.wait(60)
reader.join(60)
print(json.dumps({"status": status, "taken": taken}), flush=True)
