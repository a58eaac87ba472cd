# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Whole conversations for Docs/wire-vectors.json: the frames of both sides in order, and how each conversation ends
(make_wire_vectors.py writes them).

The host offers the service of `remotesystems serve --conformance`, with these limits. Written from Docs/wire-protocol.md
alone.
"""
import base64

from wire_vectors import encode, frame, meaning

HELLO, ACCEPT, REFUSE, REQUEST, RESPONSE, CANCEL, PING, PONG, CLOSE = range(9)
SERVICE = "remote-systems.conformance"
LIMIT, WINDOW, WINDOW_BYTES = 4096, 4, 8192


# The sections of the rules: from the table in implementing-the-protocol.md, and otherwise from wire-protocol.md.
SECTIONS = {"frame-too-long": 4, "frame-empty": 4, "frame-malformed": 4, "frame-unexpected": 5, "hello-malformed": 5,
            "request-out-of-order": 6, "window-exceeded": 6, "window-bytes-exceeded": 6, "response-unexpected": 6,
            "key-reused": 6, "request-after-close": 8, "message-malformed": 9, "version-unsupported": 10}


def hello(**changes):
    """The caller's hello, as JSON; None removes a key."""
    keys = {"version": [1, 0], "service": SERVICE, "application": "com.example.caller", "limit": LIMIT, "window": WINDOW,
            "window-bytes": WINDOW_BYTES, **changes}
    return [HELLO, {key: value for key, value in keys.items() if value is not None}]


def accept(**changes):
    keys = {"version": [1, 0], "application": "remote-systems.conformance", "limit": LIMIT, "window": WINDOW,
            "window-bytes": WINDOW_BYTES, **changes}
    return [ACCEPT, {key: value for key, value in keys.items() if value is not None}]


def failure(code, text, retry=False):
    return {"text": text, "code": code, "retry": retry}


def data(content):
    return {"$data": base64.b64encode(content).decode()}


def double(number):
    return {"$double": number}


def step(sender, array, body=None, **more):
    """One frame, with `body` in place of the array's encoding. The array None stands for an unreadable frame."""
    bytes_ = frame(encode(meaning(array)) if body is None else body)
    return {"from": sender, "hex": bytes_.hex(), **({} if array is None else {"json": array}), **more}


def caller(array, body=None, **more):
    return step("caller", array, body, **more)


def host(array, body=None, **more):
    return step("host", array, body, **more)


def raw(sender, hex_):
    """Bytes that are not a frame."""
    return {"from": sender, "hex": hex_}


def request(number, message, *more, timeout=30000):
    return [REQUEST, number, timeout, message, *more]


def response(number, message, status=0, *more):
    return [RESPONSE, number, status, message, *more]


ECHO, HOLD = {"Do": "echo"}, {"Do": "hold"}
OPEN = (caller(hello()), host(accept()))
CLOSED = (caller([CLOSE, 0]), host([CLOSE, 0]))


def nested(levels):
    """A message with this many levels, as JSON: nested dictionaries, the innermost with a number."""
    return {"a": nested(levels - 1)} if levels > 1 else {"a": 0}


def with_message(array, message):
    """A request or a response whose message is these bytes."""
    return bytes([0x80 | len(array) + 1]) + b"".join(encode(element) for element in array) + message


def valid():
    """Conversations in which both sides keep every rule."""
    def conversation(name, *steps, status=0, opened=True, **more):
        return {"name": name, "outcome": {"open": opened, "status": status}, "steps": list(steps), **more}

    def refused(name, status, code, text, *steps):
        return {"name": name, "outcome": {"open": False, "status": status, "code": code},
                "steps": [*steps, host([REFUSE, status, failure(code, text)])]}

    def answered(name, number, message, *more, **options):
        """A request whose response is the message."""
        return conversation(name, *OPEN, caller(request(number, message, *more)), host(response(number, message)), *CLOSED, **options)

    aborting = caller([CLOSE, 1, {"text": "The user stopped it.", "retry": False}])
    undefined = encode([PING, 3])[:1].replace(b"\x82", b"\x83") + encode(PING) + encode(3) + b"\xf7"
    unordered = b"\x83" + encode(PING) + encode(4) + bytes.fromhex("a2020a0101")
    yield conversation("opened and closed", *OPEN, *CLOSED)
    yield conversation("closed by the host", *OPEN, caller(request(1, {"Do": "close"})), host(response(1, {"Do": "close"})),
                       host([CLOSE, 0]), caller([CLOSE, 0]))
    yield answered("a request and its response", 1, {**ECHO, "Text": "Hello.", "Number": 1})
    yield conversation("request numbers with gaps", *OPEN, *(
        turn for number in (5, 1000, 2**64 - 1)
        for turn in (caller(request(number, ECHO)), host(response(number, ECHO)))), *CLOSED)
    yield conversation("a whole window at once, answered in another order", *OPEN,
                       *(caller(request(number, HOLD)) for number in range(1, WINDOW)),
                       caller(request(WINDOW, ECHO)), host(response(WINDOW, ECHO)),
                       *(turn for number in range(WINDOW - 1, 0, -1)
                         for turn in (caller([CANCEL, number]), host(response(number, {}, 1, failure("cancelled", "It was cancelled.", retry=True))))),
                       *CLOSED)
    yield conversation("a request that fails", *OPEN, caller(request(1, {"Do": "fail"})),
                       host(response(1, {}, 1, failure("handler-failed", "The handler failed."))), *CLOSED)
    yield conversation("cancels of what was answered, or never asked", *OPEN, caller(request(1, ECHO)), host(response(1, ECHO)),
                       caller([CANCEL, 1]), caller([CANCEL, 77]), caller([CANCEL, 0]), caller(request(2, ECHO)), host(response(2, ECHO)), *CLOSED)
    yield conversation("the host asks, too", *OPEN, caller(request(1, {"Do": "ask", "Number": 7})),
                       host(request(1, {"Number": 7})), caller(response(1, {"Number": 8})),
                       host(response(1, {"Status": 0, "Response": {"Number": 8}})), *CLOSED)
    yield conversation("the host asks, and the caller fails", *OPEN, caller(request(1, {"Do": "ask", "Number": 7})),
                       host(request(1, {"Number": 7})), caller(response(1, {}, 1, {"text": "Not now.", "retry": True})),
                       host(response(1, {"Status": 1, "Response": {}})), *CLOSED)
    yield conversation("the host cancels what it asked", *OPEN, caller(request(1, {"Do": "ask-and-cancel"})),
                       host(request(1, {})), host([CANCEL, 1]),
                       caller(response(1, {}, 1, {"text": "It was cancelled.", "retry": False})),
                       host(response(1, {"Do": "ask-and-cancel"})), *CLOSED)
    yield conversation("the caller asks whether the host lives", *OPEN, caller([PING, 0]), host([PONG, 0]),
                       caller([PING, 2**64 - 1]), host([PONG, 2**64 - 1]), *CLOSED)
    yield conversation("the host asks whether the caller lives", *OPEN, caller(request(1, {"Do": "ping"})), host([PING, 4711]),
                       caller([PONG, 4711]), host(response(1, {"Do": "ping"})), *CLOSED)
    yield conversation("pongs to nothing", *OPEN, caller([PONG, 77]), caller(request(1, ECHO)), host(response(1, ECHO)), *CLOSED)
    yield conversation("a key: the second request is answered as the first was", *OPEN,
                       caller(request(1, {"Do": "count"}, data(b"a key"))), host(response(1, {"Count": 1})),
                       caller(request(2, {"Do": "count"}, data(b"a key"))), host(response(2, {"Count": 1})),
                       caller(request(3, {"Do": "count"}, data(b"another key"))), host(response(3, {"Count": 2})),
                       *CLOSED, needs=["keys"])
    yield answered("no key, said as null", 1, ECHO, None)
    yield conversation("a response that is too long for the caller", caller(hello(limit=1024, **{"window-bytes": 1024})),
                       host(accept()), caller(request(1, {"Do": "fill", "Bytes": 2000})),
                       host(response(1, {}, 5, failure("response-too-large", "The response is too long."))), *CLOSED)
    yield conversation("a request as long as the limit", *OPEN, *filling(), *CLOSED)
    yield conversation("a request before the close is answered behind it", *OPEN, caller(request(1, HOLD)), caller([CLOSE, 0]),
                       host([CLOSE, 0]), caller([CANCEL, 1]),
                       host(response(1, {}, 1, failure("cancelled", "It was cancelled.", retry=True))))
    yield conversation("a second close of the caller", *OPEN, caller(request(1, HOLD)), caller([CLOSE, 0]), host([CLOSE, 0]),
                       caller([CLOSE, 0]), caller([CANCEL, 1]),
                       host(response(1, {}, 1, failure("cancelled", "It was cancelled.", retry=True))))
    yield conversation("the caller aborts", *OPEN, aborting, host([CLOSE, 1], optional=True), status=1)
    yield conversation("32 levels", *OPEN, caller(request(1, nested(32))), host(response(1, nested(32))), *CLOSED)
    newer = {"encodes": False}
    yield conversation("what is newer is passed over", caller(
        hello(version=[1, 7]), encode([HELLO, {**hello()[1], "version": [1, 7, "beta"], "new": [1, {"x": None}]}, "more"]), **newer),
        host(accept(version=[1, 7]),
             encode([ACCEPT, {**accept()[1], "version": [1, 7, "beta"], "new": [1, {"x": None}]}, "more"]), **newer),
        caller([4711], encode([4711, "x", {"y": [1.5]}]), **newer), host([4712], encode([4712, "x"]), optional=True, **newer),
        caller([13], **newer), caller([PING, 3], undefined, **newer), host([PONG, 3]), caller([PING, 4], unordered, **newer),
        host([PONG, 4]), caller(request(1, ECHO), encode([*request(1, ECHO), None, None, "new", [1]]), **newer),
        host(response(1, ECHO)),
        caller([CLOSE, 0], encode([CLOSE, 0, {"text": "", "retry": False, "colour": "red"}, 1]), **newer), host([CLOSE, 0]))
    yield conversation("a feature that the host may not know", caller(hello(features=["org.example.feature"])), host(accept()),
                       caller(request(1, ECHO)), host(response(1, ECHO)), *CLOSED)
    yield refused("a feature that the host must know, and does not", 4, "feature-unknown", "The feature is not known here.",
                  caller(hello(features=["org.example.feature"], requires=["org.example.feature"])))
    yield refused("no such service", 3, "service-not-found", "There is no such service.", caller(hello(service="org.example.nothing")))
    yield refused("no such application", 1, "application-not-found", "There is no such application.",
                  caller(hello(target="org.example.nothing")))
    yield refused("another major version", 4, "version-unsupported", "This side speaks version 1.0.", caller(
        [HELLO, {"version": [2, 0], "all": "else"}], encodes=False))
    yield {"name": "the caller does not trust the host", "outcome": {"open": False, "status": 7, "code": "other-account"},
           "steps": [caller([REFUSE, 7, {"text": "You are not the host that I mean.", "code": "other-account", "retry": False}])]}


def filling():
    """A request whose frame is exactly as long as the limit, and its response."""
    def message(count):
        return {"Do": "measure", "Data": data(bytes(count))}

    size = LIMIT - len(encode(meaning(request(1, message(3000))))) + 3000
    return caller(request(1, message(size))), host(response(1, {"Bytes": size}))


def broken():
    """Conversations in which one side breaks a rule, with the other side's reaction."""
    def before(name, code, *steps, status=4):
        """The caller breaks a rule before the connection is open."""
        return {"name": name, "section": SECTIONS[code], "outcome": {"open": False, "status": status, "broken-by": "caller", "code": code},
                "steps": [*steps, host([REFUSE, status, failure(code, "The protocol was broken.")])]}

    def once_open(name, code, *steps, status=3):
        return {"name": name, "section": SECTIONS[code], "outcome": {"open": True, "status": status, "broken-by": "caller", "code": code},
                "steps": [*OPEN, *steps, host([CLOSE, status, failure(code, "The protocol was broken.")])]}

    def alone(name, body, number=1):
        """A request that cannot be read fails alone, with status 1."""
        return {"name": name, "section": SECTIONS["message-malformed"],
                "outcome": {"open": True, "status": 0, "broken-by": "caller", "code": "message-malformed"},
                "steps": [*OPEN, caller(None, with_message([REQUEST, number, 1000], body)),
                          host(response(number, {}, 1, failure("message-malformed", "The message cannot be read."))),
                          caller(request(number + 1, ECHO)), host(response(number + 1, ECHO)), *CLOSED]}

    def by_host(name, code, *steps, status=3, opened=True):
        """The host breaks a rule. On an open connection the caller reports it, before that it only closes."""
        said = [caller([CLOSE, status, failure(code, "The protocol was broken.")])] if opened else []
        return {"name": name, "section": SECTIONS[code],
                "outcome": {"open": opened, "status": status, "broken-by": "host", "code": code}, "steps": [*steps, *said]}

    def changed(name, **changes):
        return before(name, "hello-malformed", caller(None, encode(meaning(hello(**changes)))))

    yield before("a request in place of the hello", "frame-unexpected", caller(request(1, ECHO)))
    yield before("a ping in place of the hello", "frame-unexpected", caller([PING, 1]))
    yield before("an unknown frame in place of the hello", "frame-unexpected", caller([4711]))
    yield before("a request with the hello", "frame-unexpected", caller(hello()), caller(request(1, ECHO), together=True))
    yield before("a hello of 8193 bytes", "frame-too-long", raw("caller", "00002001"))
    yield before("a hello of no bytes", "frame-empty", raw("caller", "00000000"))
    yield before("a hello that is no array", "frame-malformed", caller(None, encode(hello()[1])))
    yield before("a hello with its keys out of order", "frame-malformed", caller(None, b"\x82\x00\xa2" + b"".join(
        encode(part) for part in ("version", [1, 0], "limit", 4096))))
    for key in ("version", "service", "limit", "window", "window-bytes"):
        yield changed(f"a hello without {key}", **{key: None})
    yield changed("a hello with an empty service", service="")
    yield changed("a hello with a service of 257 bytes", service="s" * 257)
    yield changed("a hello with a service that is data", service=data(b"service"))
    yield changed("a hello with a line break in the service", service="a\nb")
    yield changed("a hello with a target that turns the direction of text", target="a\u202eb")
    yield changed("a hello with an escape character in the application", application="\x1b[2J")
    yield changed("a hello with a limit of 1023", limit=1023)
    yield changed("a hello with a window of 0", window=0)
    yield changed("a hello with window-bytes below its limit", **{"window-bytes": LIMIT - 1})
    for name, claim in (("without a purpose", {"ticket": data(bytes(16))}), ("with a ticket of 15 bytes", {"ticket": data(bytes(15)), "purpose": "p"}),
                        ("that is text", "ticket")):
        yield changed(f"a hello for a stream {name}", service="remote-systems.stream", stream=claim)
    yield changed("a hello with a version that is text", version="1.0")
    yield changed("a hello with a version of one number", version=[2])
    yield changed("a hello with a version below 0", version=[1, -1])
    yield changed("a hello with a version of doubles", version=[double(1), double(0)])
    yield changed("a hello of another version whose minor is text", version=[2, "x"])
    yield changed("a hello with a limit that is a double", limit=double(LIMIT))
    yield changed("a hello with a window that is a double", window=double(WINDOW))
    yield changed("a hello with window-bytes that are a double", **{"window-bytes": double(WINDOW_BYTES)})
    yield changed("a hello with features that are no array", features="org.example.feature")
    yield changed("a hello with requires that are no array", requires="org.example.feature")

    yield once_open("a second hello", "frame-unexpected", caller(hello()))
    yield once_open("an accept from the caller", "frame-unexpected", caller(accept()))
    yield once_open("a refuse once open", "frame-unexpected", caller([REFUSE, 7, {"text": "", "retry": False}]))
    for name, array in (("bytes", [9, data(b"x")]), ("the end", [10]), ("an abort", [11, failure("stream-cancelled", "No.")])):
        yield once_open(f"{name} of a stream on a connection for messages", "frame-unexpected", caller(array))
    yield once_open("a frame longer than the limit", "frame-too-long", raw("caller", f"{LIMIT + 1:08x}"), status=2)
    yield once_open("a frame of the longest length there is", "frame-too-long", raw("caller", "ffffffff"), status=2)
    yield once_open("a frame of no bytes", "frame-empty", raw("caller", "00000000"), status=2)
    yield once_open("a frame that is no array", "frame-malformed", caller(None, b"\xa0"))
    yield once_open("a frame without a kind", "frame-malformed", caller(None, b"\x80"))
    yield once_open("a kind that is text", "frame-malformed", caller(None, encode(["ping", 1])))
    yield once_open("a ping without its token", "frame-malformed", caller(None, encode([PING])))
    yield once_open("a negative number", "frame-malformed", caller(None, encode([CANCEL, -1])))
    yield once_open("a number that is not in its shortest form", "frame-malformed", caller(None, bytes.fromhex("82051801")))
    yield once_open("a frame of indefinite length", "frame-malformed", caller(None, bytes.fromhex("9f0501ff")))
    yield once_open("bytes behind the array", "frame-malformed", caller(None, bytes.fromhex("82050100")))
    yield once_open("an unknown frame of indefinite length", "frame-malformed", caller(None, bytes.fromhex("820d9fff")))
    yield once_open("an unknown frame of 33 levels", "frame-malformed", caller(None, b"\x82\x0d" + b"\x81" * 33 + b"\x00"))
    yield once_open("request number 0", "request-out-of-order", caller(request(0, ECHO)))
    yield once_open("a request number twice", "request-out-of-order", caller(request(7, HOLD)), caller(request(7, HOLD)))
    yield once_open("request numbers that descend", "request-out-of-order", caller(request(7, HOLD)), caller(request(6, HOLD)))
    yield once_open("a response to nothing", "response-unexpected", caller(response(1, {})))
    yield once_open("response number 0", "response-unexpected", caller(response(0, {})))
    yield once_open("a close with a failure that is text", "frame-malformed", caller(None, encode([CLOSE, 1, "x"])))
    yield once_open("a graceful close with a failure that is text", "frame-malformed", caller(None, encode([CLOSE, 0, "x"])))
    yield once_open("a response twice", "response-unexpected", caller(request(1, {"Do": "ask", "Number": 7})),
                    host(request(1, {"Number": 7})), caller(response(1, {"Number": 8})),
                    host(response(1, {"Status": 0, "Response": {"Number": 8}})), caller(response(1, {"Number": 8})))
    yield once_open("more requests than the window", "window-exceeded",
                    *(caller(request(number, HOLD)) for number in range(1, WINDOW + 2)), status=2)
    large = {**HOLD, "Data": data(bytes(3000))}
    yield once_open("more bytes of requests than window-bytes", "window-bytes-exceeded",
                    *(caller(request(number, large)) for number in (1, 2, 3)), status=2)
    yield once_open("a request behind the caller's close", "request-after-close", caller(request(1, HOLD)), caller([CLOSE, 0]),
                    host([CLOSE, 0]), caller(request(2, ECHO)))

    for name, body in UNREADABLE.items():
        yield alone(f"a message with {name}", bytes.fromhex(body))
    yield alone("a message of 33 levels", encode(nested(33)))
    for name, key in (("text", "a key"), ("an empty one", data(b"")), ("one of 65 bytes", data(bytes(65))), ("a number", 7)):
        vector = alone(f"a key of another form: {name}", encode(ECHO))
        vector["steps"][2] = caller(None, encode(meaning(request(1, ECHO, key))))
        yield vector

    yield {"name": "a key with another message", "section": SECTIONS["key-reused"], "needs": ["keys"],
           "outcome": {"open": True, "status": 0, "broken-by": "caller", "code": "key-reused"},
           "steps": [*OPEN, caller(request(1, {"Do": "count"}, data(b"one key"))), host(response(1, {"Count": 1})),
                     caller(request(2, {"Do": "count", "More": 1}, data(b"one key"))),
                     host(response(2, {}, 1, failure("key-reused", "The key was used for another message."))), *CLOSED]}

    yield by_host("a response in place of the accept", "frame-unexpected", caller(hello()), host(response(1, {})), opened=False, status=4)
    yield by_host("an accept with a limit of 1023", "hello-malformed", caller(hello()), host(
        None, encode(accept(limit=1023))), opened=False, status=4)
    yield by_host("an accept of another major version", "version-unsupported", caller(hello()), host(accept(version=[2, 0])),
                  opened=False, status=4)
    yield by_host("a second accept", "frame-unexpected", *OPEN, host(accept()))
    yield by_host("a frame longer than the caller's limit", "frame-too-long", *OPEN, raw("host", f"{LIMIT + 1:08x}"), status=2)
    yield by_host("request number 0 of the host", "request-out-of-order", *OPEN, host(request(0, {})))
    yield by_host("the host responds to nothing", "response-unexpected", *OPEN, host(response(1, {})))
    yield by_host("the host responds twice", "response-unexpected", *OPEN, caller(request(1, ECHO)), host(response(1, ECHO)),
                  host(response(1, ECHO)))


UNREADABLE = {
    "an indefinite length": "bf616101ff", "keys out of order": "a2616201616102", "a key twice": "a2616101616102",
    "an integer that is not in its shortest form": "a161611801", "a float that is not in its shortest form": "a16161fb3ff8000000000000",
    "another NaN": "a16161f97e01", "invalid UTF-8": "a1616162c328", "undefined": "a16161f7", "a key that is no string": "a10102",
    "an integer below the range": "a161613b8000000000000000", "another tag": "a16161c001",
    "a date that is whole, as a float": "a16161c1f93c00", "a set out of order": "a16161d90102820201", "a URL that is none": "a16161d8206161",
    "an end too soon": "a26161", "no dictionary": "01",
}


def vectors():
    return [*valid(), *broken()]
