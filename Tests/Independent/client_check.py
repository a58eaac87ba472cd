# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks a RemoteSystems host against Docs/wire-protocol.md, with client.py (IndependentClientTests runs this).

client_check.py DIRECTORY INVITATION HOST:PORT VECTORS

The invitation is one of `remotesystems account invite --loopback`. `remotesystems serve --loopback` of the same account
listens at the address. The directory must be new, and gets the keys. Prints a line for each check, and exits with 1 if
one failed.
"""
import base64
import concurrent.futures
import json
import math
import pathlib
import select
import socket
import ssl
import struct
import sys
import time

import cbor2

from client import *

PING_SERVICE, PRESENCE = "remote-systems.ping", "remote-systems.presence"
CHECKS = []


class Wrong(Exception):
    pass


def check_that(condition, happened):
    if not condition:
        raise Wrong(happened)


def promise(name, page):
    """Marks a check: its name, and the statement of the document."""
    def add(function):
        CHECKS.append((name, page, function))
        return function
    return add


class Place:
    """The host, the vectors and the identity that the checks use."""

    def __init__(self, directory, invitation, address, vectors):
        self.directory = pathlib.Path(directory)
        self.invitation = Invitation.read(invitation)
        host, _, port = address.rpartition(":")
        self.address = (host.strip("[]"), int(port))
        self.vectors = json.loads(pathlib.Path(vectors).read_text())
        self.identity = None

    def connect(self, service=None, **hello):
        connection = Connection(self.address, self.identity)
        if service:
            connection.open(service, **hello)
        return connection

    def ping(self, payload=None):
        message = {"Type": "ping", "CreationDate": "2026-01-01T00:00:00Z", "TargetId": "org.example"}
        return message if payload is None else {**message, "Payload": payload}


def expect_end(connection, timeout=4.0):
    """Expects the end of the connection with close_notify, sooner than the five seconds that a host waits for a close."""
    try:
        array = connection.receive(timeout)
    except HeldUp:
        raise
    except EOFError:
        return
    except ssl.SSLEOFError as error:
        raise Wrong("the connection ended without close_notify") from error
    raise Wrong(f"{array} came where the connection ends")


def expect_refusal(connection, status):
    array = connection.receive()
    check_that(array[:2] == [REFUSE, status], f"{array} came")
    check_that(array[2].get("text"), "the failure has no text")
    expect_end(connection)
    return array[2]


def expect_close(connection, status, after=lambda array: False):
    """Expects the close with a status, then the end. Frames of the kinds in `after` may arrive before."""
    while True:
        array = connection.next()
        if not after(array):
            break
    check_that(array[:2] == [CLOSE, status], f"{array} came")
    expect_end(connection)


def expect_alive(place, connection):
    status, answer, _ = connection.request(place.ping(b"still there"))
    check_that(status == 0 and answer.get("Payload") == b"still there", f"status {status}, {answer}")


# Joining

@promise("joining with a wrong secret is refused", "[12] wrong-secret: the proof's code is wrong")
def _(place):
    wrong = Invitation(place.invitation.account, place.invitation.addresses, 0, bytes(16))
    with Joining(wrong, Identity.create(place.directory / "stranger")) as joining:
        joining.challenge()
        try:
            joining.prove()
        except Refused as refused:
            check_that(refused.failure["text"] == "wrong-secret", str(refused))
            return
    raise Wrong("accepted")


@promise("joining with a request for another key than TLS's is refused", "[12] malformed")
def _(place):
    with Joining(place.invitation, Identity.create(place.directory / "stranger")) as joining:
        other = Identity.create(place.directory / "other")
        joining.request = openssl("req", "-new", "-key", other.path("key.pem"), "-subj", "/", "-outform", "DER")
        try:
            joining.challenge()
        except Refused as refused:
            check_that(refused.failure["text"] == "malformed", str(refused))
            return
    raise Wrong("challenged")


@promise("joining out of turn is refused", "[12] malformed: a message came out of turn")
def _(place):
    with Joining(place.invitation, Identity.create(place.directory / "stranger")) as joining:
        try:
            joining.exchange(2, {"code": bytes(32)})
        except Refused as refused:
            check_that(refused.failure["text"] == "malformed", str(refused))
            return
    raise Wrong("answered")


@promise("silent joiners make room", "[12] 128 at once, of which an address has a share of 32; one beyond is closed")
def _(place):
    stranger, silent = Identity.create(place.directory / "stranger"), []
    neighbour = type("Neighbour", (Joining,), {"source": ("127.0.0.3", 0)})
    try:
        for _ in range(128):
            address = place.invitation.addresses[0]
            silent.append(socket.create_connection(address, timeout=10, source_address=("127.0.0.2", 0)))
        with neighbour(place.invitation, stranger) as joining:
            joining.challenge()
        try:
            check_that(silent[0].recv(1) == b"", "a silent connection keeps its place")
        except ConnectionResetError:
            pass
    finally:
        for connection in silent:
            connection.close()
    for _ in range(100):
        try:
            with Joining(place.invitation, stranger) as joining:
                return joining.challenge()
        except (EOFError, OSError):
            time.sleep(0.1)
    raise Wrong("no room afterwards")


@promise("an invitation lets a system into the account", "[12] joining; [2] trust")
def _(place):
    place.identity = join(place.invitation, place.directory / "identity")
    check_that(place.identity.account == place.invitation.account, "another account")


@promise("an invitation is good once", "[12] the inviter closes the connection, and its port")
def _(place):
    for _ in range(100):
        try:
            with Joining(place.invitation, place.identity) as joining:
                joining.challenge()
        except Refused as refused:
            check_that(refused.failure["text"] == "already-used", str(refused))
            return
        except ConnectionRefusedError:
            return
        except (EOFError, OSError):
            time.sleep(0.1)
    raise Wrong("the port is still open")


# Requests and responses

@promise("the ping service answers", "[5] accept; [12] Type pong, the CreationDate unchanged, and the Payload")
def _(place):
    with place.connect() as connection:
        accept = connection.open(PING_SERVICE)
        check_that(accept["version"] == [1, 0], f"version {accept['version']}")
        payload, times = bytes(range(256)), []
        for date in ["now", cbor2.CBORTag(1, 1_790_000_000), cbor2.CBORTag(1, 1_790_000_000.25)] * 20:
            message = {**place.ping(payload), "CreationDate": date}
            begin = time.perf_counter()
            status, answer, _ = connection.request(message)
            times.append(time.perf_counter() - begin)
            check_that(status == 0, f"status {status}")
            check_that({**answer, "TargetId": ""} == {**message, "Type": "pong", "TargetId": ""}, f"{answer}")
        status, answer, _ = connection.request(place.ping())
        check_that("Payload" not in answer, "a Payload that was not sent")
        print(f"# round trip: median {sorted(times)[len(times) // 2] * 1000:.2f} ms of {len(times)}")
        check_that(connection.close(), "the connection ended without close_notify")


@promise("a host describes itself", "[12] wire/presence.md, the description")
def _(place):
    with place.connect(PRESENCE) as connection:
        records = connection.snapshot("presence")
        system, application = records["system"], records["application"]
        check_that(isinstance(system["DisplayName"], str) and isinstance(system["Kind"], str), f"{system}")
        check_that(system["Platform"] == 4 and system["Authority"] is True, f"{system}")
        check_that(1 <= len(application["Id"].encode()) <= 256 and isinstance(application["DisplayName"], str), f"{application}")
        check_that(f"service/{PING_SERVICE}" in records, f"records {list(records)}")
        check_that(connection.close(), "the connection ended without close_notify")


@promise("a host sends the revocation list, also an empty one", "[12] wire/revocation.md, passing it on")
def _(place):
    with place.connect(PRESENCE) as connection:
        check_that(connection.snapshot("trust") == {}, "a system is revoked")
        connection.send([STATE, SUBSCRIBE, {"topic": "nothing", "schema": 1, "credit": 65536}])
        array = connection.next()
        check_that(array == [STATE, END, {"topic": "nothing", "reason": "topic-unknown"}], f"{array} came")
        check_that(connection.close(), "the connection ended without close_notify")


@promise("a host renews a certificate", "[12] Type renew, a Request; a Certificate")
def _(place):
    request = openssl("req", "-new", "-key", place.identity.path("key.pem"), "-subj", "/", "-sha256", "-outform", "DER")
    with place.connect(PRESENCE) as connection:
        status, answer, failure = connection.request({"Type": "renew", "Request": request})
        check_that(status == 0, f"status {status}, {failure}")
        system = Certificate(answer["Certificate"]).system_id(place.identity.root, place.identity.account)
        check_that(system == place.identity.id, "a certificate for another key")
        check_that(connection.close(), "the connection ended without close_notify")
    place.identity.keep_certificate(answer["Certificate"])
    with place.connect(PING_SERVICE) as connection:
        expect_alive(place, connection)


@promise("pings are answered, pongs to nothing and unknown cancels passed over", "[6, 7]")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        connection.send([PONG, 77], [CANCEL, 5], [PING, 2**64 - 1])
        check_that(connection.receive() == [PONG, 2**64 - 1], "another answer to a ping")
        expect_alive(place, connection)


@promise("a whole window of requests before a close is answered", "[6] window; [8] goes on answering")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        window = connection.accepted["window"]
        connection.send(*([REQUEST, number + 1, 5000, place.ping(b"x" * 1000)] for number in range(window)), [CLOSE, 0])
        numbers = set()
        while len(numbers) < window:
            array = connection.next()
            if array[0] == RESPONSE:
                check_that(array[1] not in numbers and array[2] == 0, f"{array}")
                numbers.add(array[1])
            else:
                check_that(array == [CLOSE, 0], f"{array}")
        try:
            while (array := connection.receive()) == [CLOSE, 0]:
                pass
            raise Wrong(f"{array} came")
        except EOFError:
            pass


@promise("a connection that we abort ends at once", "[8] the other side closes at once too, with a close of the same status")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        begin = time.monotonic()
        connection.send([CLOSE, 1, {"text": "enough", "retry": False}])
        expect_close(connection, 1)
        # A host that gets no close ends the connection after five seconds.
        check_that(time.monotonic() - begin < 4, "not at once")


@promise("a request behind its sender's close is refused", "[8] breaks the protocol; [4] status 3")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        connection.send([CLOSE, 0], [REQUEST, 1, 1000, place.ping()])
        expect_close(connection, 3, after=lambda array: array == [CLOSE, 0])


@promise("a cancelled request is answered exactly once", "[6] status 1 and an empty message, or what came of it")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        for number in range(1, 101):
            connection.send([REQUEST, number, 5000, place.ping(bytes(5000))], [CANCEL, number])
            status, message, _ = connection.answer(number)
            check_that(status == 0 or (status, message) == (1, {}), f"status {status}, {message}")
        connection.number = 100
        expect_alive(place, connection)


@promise("a request without time is answered all the same", "[6] 0: no time is left; still answers")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        for number, timeout in enumerate([0, 0, 1, 86_400_000, 86_400_001, 2**64 - 1], 1):
            connection.send([REQUEST, number, timeout, place.ping()])
            status, message, _ = connection.answer(number)
            check_that(status in (0, 1) if timeout < 2 else status == 0, f"status {status} with {timeout} ms")
        connection.number = 6
        expect_alive(place, connection)


@promise("ids may have gaps up to the largest", "[6] each number greater than the one before; gaps are allowed")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        for number in (5, 1000, 2**64 - 1):
            connection.send([REQUEST, number, 5000, place.ping()])
            check_that(connection.answer(number)[0] == 0, "not answered with success")


@promise("an answer that is too long is replaced", "[6] status 5, an empty message and a failure")
def _(place):
    with place.connect(PING_SERVICE, **{"limit": 1024, "window-bytes": 1024}) as connection:
        status, message, failure = connection.request(place.ping(bytes(1024)))
        check_that((status, message) == (5, {}) and failure.get("text"), f"status {status}, {message}, {failure}")
        expect_alive(place, connection)


@promise("a message of the wrong type fails alone", "[11] status 1: could not read the message")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        status, message, failure = connection.request({"Type": "pang"})
        check_that(status != 0 and failure.get("text"), f"status {status}, {message}, {failure}")
        expect_alive(place, connection)


# Newer versions

@promise("a newer minor version with unknown keys works", "[4] what is newer is passed over; [10]")
def _(place):
    with place.connect() as connection:
        new = {"version": [1, 7, "beta"], "new": cbor2.CBORTag(258, [1, 2]), "colour": {"red": None}}
        body = bytes([0x83]) + encode([0, connection.hello(PING_SERVICE, **new)])[1:] + encode("more")
        connection.send_bytes(frame(None, body))
        array = connection.receive()
        check_that(array[0] == ACCEPT and array[1]["version"] == [1, 0], f"{array} came")
        expect_alive(place, connection)


@promise("frames of an unknown kind and further elements are passed over", "[4] what is newer is passed over")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        connection.send([13], [4711, "x", {"y": [1.5, cbor2.CBORTag(99, 1)]}])
        # Undefined, keys that are not strings and out of order, 32 levels.
        for element in ("f7", "a2020a0101", "81" * 32 + "00"):
            connection.send_bytes(frame(None, bytes.fromhex("830603" + element)))
            check_that(connection.receive() == [PONG, 3], f"another answer to a ping, with {element}")
        connection.send([REQUEST, 1, 5000, place.ping(), None, None, "new", [1]])
        check_that(connection.answer(1)[0] == 0, "not answered with success")


@promise("metadata is taken, and a request whose metadata breaks a rule fails alone", "[6] Metadata")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        largest = {f"key-{number}": "v" * 122 for number in range(10, 74)}
        for number, metadata in enumerate((largest, {"a.b_c-1": "", "traceparent": "é"}, {}, None), 1):
            connection.send([REQUEST, number, 5000, place.ping(), None, metadata])
            check_that(connection.answer(number)[0] == 0, f"not answered with success: {metadata}")
        broken = ("text", [], {"A": "b"}, {"": "b"}, {"a b": ""}, {"a": 1}, {"a": None}, {"a": "\x1b[2J"}, {"a": "\u202e"},
                  {"a": "b" * 8192}, {"a" * 65: "b"}, {**largest, "one-more": ""})
        for number, metadata in enumerate(broken, 5):
            connection.send([REQUEST, number, 5000, place.ping(), b"key", metadata])
            check_that(connection.answer(number)[0] == 1, f"the metadata {metadata!r} was taken")
        connection.send([REQUEST, 99, 5000, place.ping()])
        check_that(connection.answer(99)[0] == 0, "not answered with success")


@promise("a request with a key is answered as the first one was, a key of another form fails its request alone", "[6] Keys")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        for number in (1, 2):
            connection.send([REQUEST, number, 5000, place.ping(b"first"), b"a key"])
            check_that(connection.answer(number)[0] == 0, "not answered with success")
        connection.send([REQUEST, 3, 5000, place.ping(b"second"), b"a key"])
        check_that(connection.answer(3)[0] == 1, "a key was taken for two messages")
        for number, key in enumerate(("text", b"", bytes(65), 7), 4):
            connection.send([REQUEST, number, 5000, place.ping(), key])
            check_that(connection.answer(number)[0] == 1, f"the key {key!r} was taken")
        connection.send([REQUEST, 8, 5000, place.ping(), bytes(64)])
        check_that(connection.answer(8)[0] == 0, "not answered with success")


@promise("another major version gets the refusal that says which", "[5] 4, with a text that says which versions the two speak")
def _(place):
    for version in ([2, 0], [0, 9]):
        with place.connect() as connection:
            connection.send([HELLO, {**connection.hello(PING_SERVICE), "version": version}])
            text = expect_refusal(connection, 4)["text"]
            check_that(str(version[0]) in text and "1" in text, text)
    with place.connect() as connection:  # the rest of another version's hello may be anything
        connection.send([HELLO, {"version": [2, 0], "all": "else"}])
        check_that("2" in expect_refusal(connection, 4)["text"], "the version is not named")


# Authentication

@promise("another ALPN protocol, or none, is refused", "[3] so that it can say why in a refuse with status 4")
def _(place):
    for alpn in (None, "remote-systems/2", "h2", JOIN_ALPN):
        with Stream(place.address, place.identity, alpn=alpn, goes_on_without_alpn=True) as stream:
            stream.send([HELLO, Connection.hello(None, PING_SERVICE)])
            try:
                failure = expect_refusal(stream, 4)
            except (Wrong, EOFError, OSError) as error:
                raise Wrong(f"{alpn}: {error!r}") from error
            check_that("1" in failure["text"], failure["text"])


@promise("TLS 1.2 gets nowhere", "[3] TLS 1.3 only")
def _(place):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(place.identity.path("certificate.pem"), place.identity.path("key.pem"))
    context.set_alpn_protocols([ALPN])
    try:
        context.wrap_socket(socket.create_connection(place.address, 5)).close()
    except (ssl.SSLError, ConnectionError):
        return
    raise Wrong("the handshake succeeded")


@promise("no certificate gets the alert certificate_required", "[3] on the first read")
def _(place):
    try:
        with Stream(place.address) as stream:
            raise Wrong(f"{stream.receive()} came")
    except ssl.SSLError as error:
        check_that("certificate required" in str(error).lower().replace("_", " "), str(error))


def expect_not_authorised(place, identity):
    with Stream(place.address, identity) as stream:
        stream.send([HELLO, Connection.hello(None, PING_SERVICE)])
        expect_refusal(stream, 7)


@promise("a certificate of one's own making is not authorised", "[5] a caller that is not trusted gets 7")
def _(place):
    expect_not_authorised(place, Identity.create(place.directory / "stranger"))


@promise("a certificate with the account's name but another's signature is not authorised", "[2] the signature")
def _(place):
    # Made twice, since the name contains the id of the key. Everything except the signature is valid.
    stranger = Identity.create(place.directory / "forger")
    openssl("req", "-x509", "-key", stranger.path("key.pem"), "-subj", "/", "-days", "30", "-sha256",
            "-addext", f"subjectAltName=URI:remote-systems://{place.identity.account}/{stranger.id}",
            "-addext", "keyUsage=critical,digitalSignature", "-addext", "extendedKeyUsage=clientAuth,serverAuth",
            "-addext", "basicConstraints=critical,CA:FALSE", "-out", stranger.path("certificate.pem"))
    expect_not_authorised(place, stranger)


@promise("the account's root certificate is no system's", "[2] not a CA; [3] both sides prove their key")
def _(place):
    thief = Identity.create(place.directory / "thief")
    (thief.directory / "certificate.pem").write_text(ssl.DER_cert_to_PEM_cert(place.identity.root.data))
    try:
        Stream(place.address, thief).tls.close()
    except ssl.SSLError:  # the key does not match, so TLS itself refuses it
        return
    raise Wrong("a foreign certificate could be shown")


# The hello

@promise("a hello that is too long is refused", "[4] at most 8192 before the connection is open; [4] refuse, 4")
def _(place):
    with place.connect() as connection:  # 8192 bytes are accepted
        hello = connection.hello(PING_SERVICE, new=b"")
        hello["new"] = bytes(8192 - len(encode([HELLO, hello])) - 2)
        check_that(len(encode([HELLO, hello])) == 8192, "miscounted")
        connection.send([HELLO, hello])
        check_that(connection.receive()[0] == ACCEPT, "8192 bytes are refused")
    with place.connect() as connection:
        connection.send_bytes(struct.pack(">I", 8193))
        expect_refusal(connection, 4)


@promise("silence instead of a hello ends the connection within about a second", "[3] a caller has 1 second")
def _(place):
    for connect in (lambda: place.connect(), lambda: socket.create_connection(place.address, 10)):
        begin = time.monotonic()
        with connect() as connection:
            if isinstance(connection, Stream):
                try:
                    array = connection.receive(10)
                    check_that(array[0] == REFUSE, f"{array} came")
                    expect_end(connection)
                except (EOFError, OSError) as error:
                    check_that(not isinstance(error, TimeoutError), "still open after 10 seconds")
            else:
                try:
                    check_that(connection.recv(1) == b"", "something came")
                except ConnectionResetError:
                    pass
        took = time.monotonic() - begin
        check_that(0.5 < took < 6, f"it took {took:.2f} s")


@promise("strangers without a hello are bounded", "[3] 128 at this stage; closes those beyond the bound without a word")
def _(place):
    for _ in range(5):
        sockets, closed, begin = [], [], time.monotonic()
        try:
            for _ in range(140):
                # An address that no member has used has none of the further places.
                sockets.append(socket.create_connection(place.address, 5, source_address=("127.0.9.9", 0)))
            while time.monotonic() - begin < (0.5 if len(closed) == 12 else 0.8):
                time.sleep(0.05)
                closed = select.select(sockets, [], [], 0)[0]
            # Only before the first one's timeout do the closed connections show which ones exceeded the limit.
            if time.monotonic() - begin < 0.95 and len(closed) >= 12:
                for each in closed:
                    try:
                        check_that(each.recv(1) == b"", "a word")
                    except ConnectionResetError:
                        pass
                break
        finally:
            for each in sockets:
                each.close()
        time.sleep(1.5)  # the machine was too slow: repeats once all connections are closed
    check_that(len(closed) == 12, f"{140 - len(closed)} of 140 connections stay open without a hello")
    for _ in range(100):  # a retry succeeds after a while
        try:
            with place.connect(PING_SERVICE) as connection:
                return expect_alive(place, connection)
        except (EOFError, OSError):
            time.sleep(0.1)
    raise Wrong("no room afterwards")


@promise("a hello that trickles in wins no time", "[3] from the beginning until its hello has come whole")
def _(place):
    with place.connect() as connection:
        begin = time.monotonic()
        data = frame([HELLO, connection.hello(PING_SERVICE)])
        for byte in data[:60]:  # slowly, for six seconds: a single byte must not extend the timeout
            try:
                connection.send_bytes(bytes([byte]))
                check_that(connection.receive(0.1)[0] == REFUSE, "something else than a refusal")
            except TimeoutError:
                pass
            except (EOFError, OSError):
                break
        check_that(time.monotonic() - begin < 5, "slow bytes won time")


@promise("a hello twice breaks the protocol", "[4] a frame that may not come now: status 3")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        connection.send([HELLO, connection.hello(PING_SERVICE)])
        expect_close(connection, 3)


@promise("anything behind the hello, before its answer, breaks the protocol",
         "[5] one hello, then must send nothing until it has the answer")
def _(place):
    with place.connect() as connection:
        connection.send([HELLO, connection.hello(PING_SERVICE)], [REQUEST, 1, 1000, place.ping()])
        array = connection.receive()
        # If the host has accepted before the frame arrives, it is an ordinary request.
        if array[0] != ACCEPT:
            check_that(array[:2] == [REFUSE, 4], f"{array} came")


@promise("other frames in place of the hello are refused", "[4] refuse (4, unknown)")
def _(place):
    for array in ([REQUEST, 1, 1000, {}], [PING, 1], [ACCEPT, {}], [CLOSE, 0], [4711]):
        with place.connect() as connection:
            connection.send(array)
            try:
                expect_refusal(connection, 4)
            except (Wrong, EOFError, OSError) as error:
                raise Wrong(f"{array}: {error!r}") from error


@promise("a caller may say why it does not trust the host", "[5] refuse (7) in place of the hello, and close")
def _(place):
    with place.connect() as connection:
        connection.send([REFUSE, 7, {"text": "not mine", "retry": False}])
        expect_end(connection)


@promise("hellos that break the table are refused", "[5] the hello-map")
def _(place):
    changes = [
        {"service": ""}, {"service": "x" * 257}, {"service": b"x"}, {"target": "x" * 257}, {"application": "x" * 257},
        {"limit": 1023}, {"window": 0}, {"window-bytes": 1}, {"limit": -1}, {"version": [1]}, {"version": ["1", "0"]},
        {"version": "1.0"}, {"target": 1}, {"new": cbor2.CBORTag(99, 1)},
        {"service": "a\nb"}, {"target": "a\u202eb"}, {"application": "\x1b[2J"},
    ]
    for change in changes + [key for key in ("version", "service", "limit", "window", "window-bytes")]:
        with place.connect() as connection:
            hello = connection.hello(PING_SERVICE)
            if isinstance(change, str):
                del hello[change]
            else:
                hello.update(change)
            connection.send([HELLO, hello])
            try:
                expect_refusal(connection, 4)
            except (Wrong, EOFError, OSError) as error:
                raise Wrong(f"{change}: {error!r}") from error


@promise("a hello in another encoding is refused", "[4, 9] coded as section 9 says")
def _(place):
    with place.connect() as connection:
        hello = connection.hello(PING_SERVICE)
        connection.send_bytes(frame(None, cbor2.dumps([HELLO, dict(reversed(hello.items()))])))
        expect_refusal(connection, 4)


@promise("a service that is not offered is refused", "[11] 3: the application offers no service of that name")
def _(place):
    with place.connect() as connection:
        connection.send([HELLO, connection.hello("org.example.nothing")])
        expect_refusal(connection, 3)


@promise("an application that is not there is refused", "[11] 1: there is no application of that name")
def _(place):
    with place.connect() as connection:
        connection.send([HELLO, connection.hello(PING_SERVICE, target="org.example.nothing")])
        expect_refusal(connection, 1)
    with place.connect() as connection:
        application = connection.open(PING_SERVICE)["application"]
    with place.connect(PING_SERVICE, target=application) as connection:
        expect_alive(place, connection)


# Breaking the rules of an open connection

def breaks(name, page, status, *data, service=PING_SERVICE):
    """A check that some bytes, sent once open, end the connection with a status."""
    @promise(name, page)
    def _(place):
        with place.connect(service) as connection:
            connection.send_bytes(b"".join(data))
            expect_close(connection, status, after=lambda array: array[0] in (REQUEST, RESPONSE))


breaks("a frame longer than the limit", "[4] status 2 for a length that was not kept", 2, struct.pack(">I", 1 << 20 | 1))
breaks("a frame of the longest length there is", "[4] before it allocates anything", 2, b"\xff\xff\xff\xff")
breaks("a frame of length 0", "[4] must be at least 1; status 2", 2, bytes(4))
breaks("a frame that is no array", "[4] cannot be read: 3", 3, frame({}))
breaks("an empty array", "[4] cannot be read: 3", 3, frame([]))
breaks("a kind that is no number", "[4] cannot be read: 3", 3, frame(["ping", 1]))
breaks("a ping without a token", "[4] cannot be read: 3", 3, frame([PING]))
breaks("an id that is no unsigned integer", "[4] cannot be read: 3", 3, frame([CANCEL, -1]))
breaks("an id that is not in its shortest form", "[4] coded as section 9 says", 3, bytes.fromhex("0000000482051801"))
breaks("an array of indefinite length", "[4] coded as section 9 says", 3, bytes.fromhex("000000049f0501ff"))
breaks("bytes behind the array", "[4] the length is that of the array alone", 3, bytes.fromhex("0000000482050100"))
breaks("an unknown kind that is not well-formed", "[4] must still be well-formed", 3, bytes.fromhex("00000004821911ff"))
breaks("an unknown kind of indefinite length", "[4] of definite length", 3, bytes.fromhex("00000004820d9fff"))
breaks("a number passed over, not in its shortest form", "[4] in their shortest form", 3, frame(None, bytes.fromhex("8306031801")))
breaks("an unknown kind that is nested too deep", "[4] at most 32 levels deep", 3, frame(None, b"\x82\x0d" + b"\x81" * 40 + b"\x00"))
breaks("an accept from the caller", "[4] may not come now: 3", 3, frame([ACCEPT, {}]))
breaks("a refuse once open", "[4] may not come now: 3", 3, frame([REFUSE, 7, {}]))
breaks("a request with number 0", "[6] from 1 on", 3, frame([REQUEST, 0, 1000, {}]))
breaks("request numbers that do not ascend", "[6] each number greater than the one before", 3,
       frame([REQUEST, 7, 1000, {}]), frame([REQUEST, 6, 1000, {}]))
breaks("a request number twice", "[6] each number greater than the one before", 3,
       frame([REQUEST, 7, 1000, {}]), frame([REQUEST, 7, 1000, {}]))
breaks("an answer to nothing", "[6] an answer to something that is not outstanding", 3, frame([RESPONSE, 1, 0, {}]))
breaks("an answer to nothing, of a watcher", "[6] an answer to something that is not outstanding", 3, frame([RESPONSE, 1, 0, {}]),
       service=PRESENCE)


def unread(name, size):
    """A check that sends requests without reading: unsent responses keep their requests in the window."""
    @promise(name, "[6] closed with status 2")
    def _(place):
        with place.connect(PING_SERVICE) as connection:
            # By default the kernel's buffer would grow to megabytes, which could hold the responses.
            connection.tls.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            payload = place.ping(bytes(size))
            # More than buffers and window hold, but not much more: the close is lost if it is not read within a second.
            for number in range(1, 20_000_000 // size):
                try:
                    connection.send([REQUEST, number, 5000, payload])
                except OSError:
                    break
            expect_close(connection, 2, after=lambda array: array[0] == RESPONSE)


# Of this size 128 are less than 8 MiB.
unread("more requests than the window", 50_000)
unread("more bytes of requests than window-bytes", 1_000_000)




@promise("a request as long as the limit works", "[6] no request may make a frame longer than the receiver's limit")
def _(place):
    with place.connect(PING_SERVICE, **{"limit": 2 << 20, "window-bytes": 2 << 20}) as connection:
        request = [REQUEST, 1, 5000, place.ping(bytes(1 << 19))]
        request[3]["Payload"] += bytes((1 << 20) - len(encode(request)))
        check_that(len(encode(request)) == 1 << 20, "miscounted")
        connection.send(request)
        array = connection.next(limit=2 << 20)
        check_that(array[:3] == [RESPONSE, 1, 0], f"{array[:3]} came")


def nested(levels):
    return b"\xa1\x61a" * levels + b"\x00"


UNREADABLE = {
    "indefinite length": "bf616101ff", "a string of indefinite length": "a161617f6162ff", "keys out of order": "a2616201616102",
    "a longer key first": "a262616101616202", "a key twice": "a2616101616102", "an integer not in its shortest form": "a161611801",
    "a length not in its shortest form": "a161617801" + "61", "invalid UTF-8": "a1616162c328", "invalid UTF-8 in a key": "a162c32801",
    "nesting too deep": nested(33).hex(), "a float not in its shortest form": "a16161fb3ff8000000000000", "another NaN": "a16161f97e01",
    "undefined": "a16161f7", "a key that is no string": "a10102", "an integer below the range": "a161613b8000000000000000",
    "another tag": "a16161c001", "a date that is whole, as a float": "a16161c1f93c00", "a set out of order": "a16161d90102820201",
    "a URL that is none": "a16161d8206161", "an unassigned simple value": "a16161f0", "a reserved head": "a161611c",
    "a message that is no dictionary": "01", "an array as message": "8101", "a message that ends too soon": "a26161",
}


@promise("a message that cannot be read fails alone", "[6] status 1, an empty message and a failure; the connection goes on")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        for name, message in UNREADABLE.items():
            connection.number += 1
            number = connection.number
            connection.send_bytes(frame(None, bytes([0x84]) + b"".join(map(encode, [REQUEST, number, 5000])) + bytes.fromhex(message)))
            try:
                status, answer, failure = connection.answer(number)
            except (Broken, EOFError, OSError) as error:
                raise Wrong(f"{name}: {error!r}") from error
            check_that((status, answer) == (1, {}) and failure.get("text"), f"{name}: status {status}, {answer}, {failure}")
            expect_alive(place, connection)
        # 32 levels are allowed.
        connection.number += 1
        number = connection.number
        connection.send_bytes(frame(None, bytes([0x84]) + b"".join(map(encode, [REQUEST, number, 5000])) + nested(32)))
        status, _, failure = connection.answer(number)
        check_that("level" not in failure.get("text", ""), f"32 levels: {failure}")
        expect_alive(place, connection)


@promise("an end without close_notify is survived", "[3] counts as lost")
def _(place):
    with place.connect(PING_SERVICE) as connection:
        connection.tls.shutdown(socket.SHUT_RDWR)
    with place.connect(PING_SERVICE) as connection:
        expect_alive(place, connection)


@promise("a client that answers no pings is dead after 15 seconds", "[7] pings after a third and two thirds, then lost")
def silence(place):
    begin, pings = time.monotonic(), []
    with place.connect(PING_SERVICE) as connection:
        try:
            while True:
                array = connection.receive(20 - (time.monotonic() - begin))
                check_that(array[0] in (PING, CLOSE), f"{array} came")
                if array[0] == PING:
                    pings.append(round(time.monotonic() - begin, 1))
        except (EOFError, OSError) as error:
            check_that(not isinstance(error, TimeoutError), "still open after 20 s")
    took = time.monotonic() - begin
    check_that(14 <= took <= 20, f"closed after {took:.1f} s")
    check_that(len(pings) == 2 and 4 <= pings[0] <= 9 and 9 <= pings[1] <= 14, f"pings after {pings} s")


@promise("a client that only answers pings lives on", "[7] a client that never pings is fine")
def alive(place):
    with place.connect(PING_SERVICE) as connection:
        end = time.monotonic() + 17
        while time.monotonic() < end:
            try:
                array = connection.next(end - time.monotonic())
                raise Wrong(f"{array} came")
            except TimeoutError:
                pass
        expect_alive(place, connection)


# Vectors

DOUBLES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0}


def from_json(what):
    """The value of a vector's JSON."""
    if isinstance(what, list):
        return [from_json(element) for element in what]
    if not isinstance(what, dict):
        return what
    if len(what) == 1:
        (key, value), = what.items()
        if key == "$date":
            return cbor2.CBORTag(1, int(value) if value == int(value) and abs(value) <= 2**53 else float(value))
        if key == "$uuid":
            return cbor2.CBORTag(37, bytes.fromhex(value.replace("-", "")))
        if key == "$data":
            return base64.b64decode(value, validate=True)
        if key == "$url":
            return cbor2.CBORTag(32, value)
        if key == "$set":
            return cbor2.CBORTag(258, sorted(map(from_json, value), key=encode))
        if key == "$double":
            return DOUBLES[value] if isinstance(value, str) else float(value)
        check_that(not key.startswith("$") or key.startswith("$$"), f"{key} is not described")
    return {key[1:] if key.startswith("$") else key: from_json(value) for key, value in what.items()}


def vectors(name, read):
    @promise(f"every vector of {name} means what it says", "[13] test vectors")
    def _(place):
        for vector in place.vectors[name]:
            data = bytes.fromhex(vector["hex"])
            try:
                value = read(data)
            except (Broken, IndexError) as error:
                check_that("refused" in vector, f"{vector['name']}: cannot be read: {error!r}")
                continue
            check_that("refused" not in vector, f"{vector['name']}: read as {value}")
            meant = from_json(vector["json"])
            # Encoded again, so that 1, 1.0 and true differ.
            check_that(encode(value) == encode(meant), f"{vector['name']}: read as {value}, not {meant}")
            if vector.get("encodes", True):
                own = frame(meant) if name == "frames" else encode(meant)
                check_that(own == data, f"{vector['name']}: encoded as {own.hex()}")


def read_whole(data):
    if len(data) < 5 or struct.unpack(">I", data[:4])[0] != len(data) - 4:
        raise Broken("the length is not the array's")
    return read_frame(data[4:])


vectors("values", decode)
vectors("urls", decode)
vectors("frames", read_whole)


def run(place, name, page, function):
    for tries_left in (2, 1, 0):
        try:
            function(place)
            return None
        except Exception as error:  # every error is the check's result
            # Except HeldUp: a busy machine delayed the hello by a second, and the host ended the connection by the rules.
            if tries_left and (isinstance(error, HeldUp) or isinstance(error.__cause__, HeldUp)):
                continue
            return f"FAIL {name}: the page says {page}; {error if isinstance(error, Wrong) else repr(error)}"


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__)
    place = Place(*arguments)
    failed, slow = 0, {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for name, page, function in CHECKS:
            # The two slow checks run in parallel to the others, once there is an identity.
            if place.identity and not slow:
                slow = {long: pool.submit(run, place, "", "", long) for long in (silence, alive)}
            if function in slow:
                result = slow[function].result()
                result = result and result.replace("FAIL : the page says ;", f"FAIL {name}: the page says {page};")
            else:
                result = run(place, name, page, function)
            failed += result is not None
            print(result or f"ok {name}", flush=True)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
