# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Observes a conversation and reports which rule is broken, written from Docs/wire-protocol.md alone.

The numbers in brackets are sections of that document, the codes those of section 14.
"""
from client import ABORT, ACCEPT, CANCEL, CLOSE, DATA, FIN, HELLO, PING, PONG, REFUSE, REQUEST, RESPONSE, Broken, read_frame

HELLO_BYTES = 8192
# The status of a close after a broken rule [14]: that of EXCESS, or 3. After a rule in ALONE only the request fails, and
# the connection continues.
ALONE = {"message-malformed", "key-reused"}
EXCESS = {"frame-too-long", "frame-empty", "window-exceeded", "window-bytes-exceeded"}


class Side:
    """The state of one side so far."""

    def __init__(self):
        self.limit, self.window, self.window_bytes = HELLO_BYTES, 0, 0
        self.last = 0
        # This side's outstanding requests: number to bytes.
        self.outstanding = {}
        self.closed = None
        # The messages of the requests with a key.
        self.keys = {}


class Referee:
    """Gets the frames of both sides, in order."""

    def __init__(self):
        self.sides = {"caller": Side(), "host": Side()}
        self.is_open = self.is_over = False
        self.has_hello = False

    def feed(self, sender, data):
        """Processes a frame. Raises Broken, with the code, if its sender broke a rule."""
        side, other = self.sides[sender], self.sides["host" if sender == "caller" else "caller"]
        if self.is_over and not (self.is_open and data[4:6] == b"\x82\x08" and side.closed is None):
            raise Broken("something came after the end", "frame-unexpected")
        length = int.from_bytes(data[:4])
        if length == 0:
            raise Broken("a frame of no bytes [4]", "frame-empty")
        if length > other.limit:
            raise Broken(f"a frame of {length} bytes, where {other.limit} are taken [4]", "frame-too-long")
        if len(data) != length + 4:
            raise Broken("not one whole frame [4]", "frame-malformed")
        try:
            array = read_frame(data[4:])
        except Broken as broken:
            if broken.code != "message-malformed" or not self.is_open:
                raise
            # It uses a number and a place in the window like any other [6].
            kind, number = data[5], broken.number
            (self.request if kind == REQUEST else self.response)(side, other, number, length)
            raise
        (self.opened if self.is_open else self.opening)(sender, side, other, array, length)

    def opening(self, sender, side, other, array, length):
        kind = array[0] if array else None
        if sender == "caller":
            if kind == REFUSE and not self.has_hello:
                self.is_over = True
            elif kind != HELLO or self.has_hello:
                raise Broken("one hello, and nothing else, comes first [5]", "frame-unexpected")
            elif array[1]["version"][0] != 1:
                raise Broken("another major version [10]", "version-unsupported")
            else:
                self.has_hello = True
                self.take_limits(side, array[1])
        elif kind == REFUSE:
            self.is_over = True
        elif kind != ACCEPT or not self.has_hello:
            raise Broken("an answer to the hello comes first [5]", "frame-unexpected")
        elif array[1]["version"][0] != 1:
            raise Broken("another major version [10]", "version-unsupported")
        else:
            self.is_open = True
            self.take_limits(side, array[1])

    def take_limits(self, side, map):
        side.limit, side.window, side.window_bytes = map["limit"], map["window"], map["window-bytes"]

    def opened(self, sender, side, other, array, length):
        if array is None:
            return
        kind = array[0]
        if kind in (HELLO, ACCEPT, REFUSE):
            raise Broken("a frame of the opening, once open [4]", "frame-unexpected")
        if kind in (DATA, FIN, ABORT):
            raise Broken("a frame of a stream on a connection for messages [wire/streams.md]", "frame-unexpected")
        if kind == REQUEST:
            self.request(side, other, array[1], length)
            if len(array) > 4 and side.keys.setdefault(array[4], array[3]) != array[3]:
                raise Broken("a key for two messages [6]", "key-reused")
        elif kind == RESPONSE:
            self.response(side, other, array[1], length)
        elif kind == CLOSE:
            side.closed = array[1] if side.closed is None else side.closed
            self.is_over = array[1] != 0
        elif kind not in (CANCEL, PING, PONG):
            raise AssertionError(kind)

    def request(self, side, other, number, length):
        if side.closed is not None:
            raise Broken("a request behind its sender's close [8]", "request-after-close")
        if number <= side.last:
            raise Broken("each number is greater than the one before, from 1 on [6]", "request-out-of-order")
        side.last = number
        if len(side.outstanding) >= other.window:
            raise Broken(f"more than {other.window} requests outstanding [6]", "window-exceeded")
        if side.outstanding and sum(side.outstanding.values()) + length > other.window_bytes:
            raise Broken(f"more than {other.window_bytes} bytes of requests outstanding [6]", "window-bytes-exceeded")
        side.outstanding[number] = length

    def response(self, side, other, number, length):
        if other.outstanding.pop(number, None) is None:
            raise Broken("a response to what is not outstanding [6]", "response-unexpected")


def judge(steps):
    """The outcome of a conversation, in the form of the vectors. Frames after a broken rule are the other side's reaction."""
    referee, outcome = Referee(), {}
    for number, step in enumerate(steps):
        data = bytes.fromhex(step["hex"])
        if "broken-by" in outcome and outcome["code"] not in ALONE:
            check_answer(referee, outcome, step, data)
            continue
        try:
            referee.feed(step["from"], data)
        except Broken as broken:
            outcome.update({"broken-by": step["from"], "code": broken.code})
            if broken.code == "version-unsupported" and step["from"] == "caller":
                del outcome["broken-by"]  # not a broken rule, only another version
                outcome["code"] = broken.code
            continue
        array = read_frame(data[4:])
        if array and array[0] == REFUSE:
            outcome["status"] = array[1]
            outcome["code"] = array[2]["code"]
    outcome["open"] = referee.is_open
    statuses = {side.closed for side in referee.sides.values()} - {None}
    outcome.setdefault("status", max(statuses, default=0))
    if "code" in outcome and outcome.get("broken-by") and outcome["code"] not in ALONE:
        outcome["status"] = (2 if outcome["code"] in EXCESS else 3) if referee.is_open else 4
    return outcome


def check_answer(referee, outcome, step, data):
    """The reaction of the side that noticed [4]."""
    array = read_frame(data[4:])
    if array is None or step["from"] == outcome["broken-by"]:
        return
    if array[0] in (REFUSE, CLOSE) and array[2].get("code") != outcome["code"]:
        raise Broken(f"{array} where {outcome['code']} is due")
    expected = CLOSE if referee.is_open else REFUSE
    if array[0] != expected:
        raise Broken(f"{array} in answer to a broken rule")
