# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0

"""Talks to a native-messaging host as a browser does.

Usage: native_host.py KIND PROGRAM [ARGUMENT …]

Prints each message of the program as a line of JSON, and at last its exit status and the number of bytes that it took.

KIND is a list of what is sent, separated by commas:
    ready      waits for the program
    page=URL   a page, with the title 'A page'; page=URL TITLE; leave; continue=ID
    continue   continues the first offer that is listed, and waits for the outcome
    open=TEXT  responds to each `open` from now on: with a failure, if there is a text
    opened=N   waits until N pages were to be opened
    received=TYPE  waits for a message of the type
    pause      waits for a second
    garbage    a message that is not JSON
    list       a message that is JSON of another form
    private    a page of a private window
    100MB      announces 100 MB, and sends as much as the program takes
    flood      a thousand pages
    end        closes the connection
"""

import contextlib
import json
import struct
import subprocess
import sys
import threading
import time

program = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
# What the program has sent, and whether it sends no more.
messages, has_ended = [], False
changed = threading.Condition()
writing = threading.Lock()
# The fields of the response to `open`; None for no response.
response = None
taken = 0


def read():
    global has_ended
    with contextlib.suppress(BrokenPipeError):
        while header := program.stdout.read(4):
            message = json.loads(program.stdout.read(struct.unpack("=I", header)[0]))
            print(json.dumps(message, sort_keys=True), flush=True)
            if message["type"] == "open" and response is not None:
                send(json.dumps({"type": "opened", "number": message["number"], **response}).encode())
            with changed:
                messages.append(message)
                changed.notify_all()
    with changed:
        has_ended = True
        changed.notify_all()


def wait(test, since=0, count=1):
    """Waits for so many messages. Returns the last of them; None if the program ends before, or after a minute."""

    def found():
        return [message for message in messages[since:] if test(message)]

    with changed:
        changed.wait_for(lambda: has_ended or len(found()) >= count, 60)
        return found()[-1] if len(found()) >= count else None


def continue_offer(offer):
    send(json.dumps({"type": "continue", "id": offer}).encode())


def send(body):
    global taken
    with writing:
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
                wait(lambda message: message["type"] == "ready")
            case ["page", text]:
                url, _, title = text.partition(" ")
                page(url, title=title or "A page")
            case ["leave"]:
                send(b'{"type": "leave"}')
            case ["continue", offer]:
                continue_offer(offer)
            case ["continue"]:
                if listed := wait(lambda message: message.get("offers")):
                    offer, since = listed["offers"][0]["id"], len(messages)
                    continue_offer(offer)
                    wait(lambda message: message.get("id") == offer, since)
            case ["open", failure]:
                response = {"failure": failure} if failure else {}
            case ["opened", count]:
                wait(lambda message: message["type"] == "open", count=int(count))
            case ["received", kind]:
                wait(lambda message, kind=kind: message["type"] == kind)
            case ["pause"]:
                time.sleep(1)
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
