# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Checks `remotesystems serve --conformance`: it reports no broken rule for a client that keeps the rules, and the rule for
each client that breaks one.

conformance_check.py PROGRAM DIRECTORY VECTORS

Starts the program itself, on loopback. The clients are client.py and those that the vectors' conversations
describe. Prints a line for each check, and exits with 1 if one failed.
"""
import json
import pathlib
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from client import *

SERVICE = "remote-systems.conformance"


class Wrong(Exception):
    pass


class Host:
    """The program under test, and what it prints."""

    def __init__(self, program, directory):
        self.directory = pathlib.Path(directory)
        self.process = subprocess.Popen(
            [program, "serve", "--conformance", "--identity-directory", directory, "--port", "0", "--json"],
            stdout=subprocess.PIPE, text=True)
        self.events = queue.Queue()
        # The connection that was judged last. A client that breaks several rules is reported several times, perhaps only
        # while the next one runs.
        self.judged = None
        threading.Thread(target=self.read, daemon=True).start()
        self.ready = self.next("ready", 60)
        self.address, self.impostor = (("127.0.0.1", self.ready[key]) for key in ("port", "otherAccountPort"))

    def read(self):
        for line in self.process.stdout:
            self.events.put(json.loads(line))
        self.events.put(None)

    def next(self, event, timeout=20):
        """Reads the next line of output that is not about the connection judged last, which must be that event."""
        try:
            while (found := self.events.get(timeout=timeout)) and self.is_judged(found):
                pass
        except queue.Empty:
            raise Wrong(f"no '{event}' within {timeout} s") from None
        if found is None or found["event"] != event:
            raise Wrong(f"{found} where '{event}' is due")
        return found

    def is_judged(self, event):
        return self.judged is not None and event.get("connection") == self.judged

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        summary = self.next("stopped")
        return summary, self.process.wait(20)

    @property
    def identity(self):
        return Identity(self.directory)


def connect(host, service=SERVICE, **changes):
    connection = Connection(host.address, host.identity)
    if service:
        connection.open(service, **changes)
    return connection


# Conversations of the vectors

def said(array):
    """The frame without texts and without what each host chooses."""
    if array is None:
        return None
    kind = array[0]
    code = lambda failure: (failure.get("code"), failure.get("retry")) if failure else None
    if kind == ACCEPT:
        return [kind]
    if kind in (REFUSE, CLOSE):
        return [kind, array[1], code(array[2] if len(array) > 2 else None)]
    if kind == REQUEST:
        return [kind, array[1], array[3]]
    if kind == RESPONSE:
        return [kind, array[1], array[2], array[3], code(array[4] if len(array) > 4 else None)]
    return array


def replay(host, conversation):
    """Sends the caller's part of a conversation and compares the host's."""
    with Connection(host.address, host.identity) as connection:
        steps, optional = conversation["steps"], []
        for number, step in enumerate(steps):
            data = bytes.fromhex(step["hex"])
            if step["from"] == "caller":
                if not step.get("together"):
                    together = [s for s in steps[number + 1:number + 2] if s.get("together")]
                    connection.send_bytes(data + b"".join(bytes.fromhex(s["hex"]) for s in together))
                continue
            if step.get("optional"):
                optional.append(said(read_frame(data[4:])))
                continue
            expected, array = said(read_frame(data[4:])), said(connection.receive())
            if array != expected:
                raise Wrong(f"step {number}: {array} came where {expected} is due")
        try:
            while (array := said(connection.receive())) in optional:
                pass
            raise Wrong(f"{array} came where the connection ends")
        except EOFError:
            end(connection)
        except OSError as error:
            if steps[-1]["from"] == "host":
                raise Wrong(f"the end: {error!r}") from error


def wait_for_end(connection, timeout=20):
    """Reads until the end, and then sends close_notify."""
    try:
        while True:
            connection.receive(timeout)
    except EOFError:
        end(connection)
    except OSError:
        pass


def end(connection):
    """Sends close_notify. The host may have closed TCP already."""
    try:
        connection.tls.unwrap()
    except OSError:
        pass


def kept(host, vectors):
    """Clients that keep every rule."""
    for conversation in vectors["conversations"]:
        if "broken-by" not in conversation["outcome"]:
            yield conversation["name"], lambda conversation=conversation: replay(host, conversation)

    def refuses_impostor():
        with Connection(host.impostor, host.identity) as connection:
            try:
                connection.authenticate()
            except Broken:
                # Reads the host's remaining data, since TCP would otherwise discard the refusal with a reset.
                try:
                    connection.receive(5)
                except (EOFError, OSError):
                    return
        raise Wrong("the client trusts it, or it does not take the refusal")

    def whole_window():
        with connect(host) as connection:
            window = connection.accepted["window"]
            message = {"Do": "hold", "Data": bytes(connection.accepted["window-bytes"] // window - 100)}
            for number in range(1, window + 1):
                connection.send([REQUEST, number, 60_000, message])
            for number in range(1, window + 1):
                connection.send([CANCEL, number])
                connection.answer(number)
            connection.close()
            end(connection)

    def fill(connection):
        status = connection.request({"Do": "fill", "Bytes": 3000})[0]
        if status != 5:
            raise Wrong(f"status {status} where 5 is due")

    def aborts(*close, fills=False):
        """A client that ends the connection for a reason of its own."""
        def client():
            with connect(host, limit=1024, **{"window-bytes": 1024}) as connection:
                if fills:
                    fill(connection)
                connection.send([CLOSE, *close])
                wait_for_end(connection)
        return client

    def asks_on_after_too_large():
        with connect(host, limit=1024, **{"window-bytes": 1024}) as connection:
            fill(connection)
            connection.request({"Do": "echo"})
            connection.close()
            end(connection)

    yield "a host of another account is not talked to", refuses_impostor
    for close in ((1,), (2,), (3,), (4,), (3, {"text": "Out of order.", "code": "org.example.broken", "retry": False})):
        yield f"a close with {close} right after the accept", aborts(*close)
    yield "an abort after a response of status 5", aborts(1, fills=True)
    yield "a request after a response of status 5", asks_on_after_too_large
    yield "the whole window is used, in requests and bytes", whole_window


# Clients that each break a rule

BROKEN = []


def breaks(rule):
    def add(function):
        BROKEN.append((function.__doc__, rule, function))
        return function
    return add


@breaks("client-tls")
def _(host):
    """TLS 1.2"""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(host.identity.path("certificate.pem"), host.identity.path("key.pem"))
    try:
        context.wrap_socket(socket.create_connection(host.address, 5)).close()
    except (ssl.SSLError, ConnectionError):
        return
    raise Wrong("the handshake succeeded")


@breaks("client-tls")
def _(host):
    """no certificate"""
    try:
        with Stream(host.address) as stream:
            stream.receive()
    except OSError:
        pass


@breaks("protocol-not-negotiated")
def _(host):
    """no ALPN"""
    with Stream(host.address, host.identity, alpn=None) as stream:
        stream.receive()


@breaks("other-account")
def _(host):
    """a certificate of its own making"""
    with Stream(host.address, Identity.create(host.directory / "stranger")) as stream:
        stream.receive()


@breaks("certificate-invalid")
def _(host):
    """a certificate with the account's name that the account did not sign"""
    forger = Identity.create(host.directory / "forger")
    openssl("req", "-x509", "-key", forger.path("key.pem"), "-subj", "/", "-days", "30", "-sha256",
            "-addext", f"subjectAltName=URI:remote-systems://{host.identity.account}/{forger.id}",
            "-addext", "keyUsage=critical,digitalSignature", "-addext", "extendedKeyUsage=clientAuth,serverAuth",
            "-addext", "basicConstraints=critical,CA:FALSE", "-out", forger.path("certificate.pem"))
    with Stream(host.address, forger) as stream:
        stream.receive()


@breaks("client-host-not-verified")
def _(host):
    """a hello to a host of another account"""
    with Stream(host.impostor, host.identity) as stream:
        stream.send([HELLO, Connection.hello(None, SERVICE)])
        stream.receive()


@breaks("client-hello-late")
def _(host):
    """no hello"""
    with Connection(host.address, host.identity) as connection:
        try:
            connection.receive(10)
        except (EOFError, OSError):
            pass


@breaks("client-unknown-frames")
def _(host):
    """a client that chokes on an unknown frame"""
    with Connection(host.address, host.identity) as connection:
        connection.authenticate()
        connection.send([HELLO, connection.hello(SERVICE)])
        connection.receive()
        if read_frame(connection.receive_body()) is not None:
            raise Wrong("no unknown frame came")
        connection.send([CLOSE, 3, {"text": "What is that?", "code": "frame-malformed", "retry": False}])


@breaks("client-pong")
def _(host):
    """a pong with another token"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "ping"}])
        connection.receive()
        connection.send([PONG, 1])
        connection.receive()
        connection.close()


@breaks("client-pong")
def _(host):
    """no pong"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "ping"}])
        connection.receive(), connection.receive()
        connection.close()


@breaks("client-request-unanswered")
def _(host):
    """no response to the host's request"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "ask", "Number": 1}])
        connection.next()
        connection.send([CLOSE, 1])


@breaks("client-cancelled-request-unanswered")
def _(host):
    """no response to a request that the host cancelled"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "ask-and-cancel"}])
        connection.next(), connection.next(), connection.next()
        connection.send([CLOSE, 1])


@breaks("client-close")
def _(host):
    """an end without a close"""
    with connect(host) as connection:
        connection.request({"Do": "echo"})
        end(connection)


@breaks("client-close-unanswered")
def _(host):
    """no close in answer to the host's"""
    with connect(host) as connection:
        connection.request({"Do": "close"})
        connection.next()
        try:
            connection.receive(15)
        except (EOFError, OSError):
            pass


@breaks("client-close-notify")
def _(host):
    """TCP ended without close_notify"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "hold"}], [CLOSE, 0])
        connection.next()
        connection.tls.shutdown(socket.SHUT_RDWR)


REFUSAL = [REFUSE, 7, {"text": "Not you.", "code": "other-account", "retry": False}]


def after_refuse(*frames, seconds=0.0):
    """A client that continues after the host refused it."""
    def client(host):
        with Connection(host.address, host.identity) as connection:
            connection.send([HELLO, connection.hello("org.example.nothing")])
            if connection.receive()[0] != REFUSE:
                raise Wrong("no refuse")
            time.sleep(seconds)
            try:
                connection.send(*frames)
            except OSError:
                pass
            wait_for_end(connection)
    return client


@breaks("client-refusal")
def _(host):
    """a hello behind the client's own refuse"""
    with Connection(host.address, host.identity) as connection:
        connection.send(REFUSAL)
        time.sleep(0.3)
        connection.send([HELLO, connection.hello(SERVICE)])
        wait_for_end(connection)


@breaks("client-refusal")
def _(host):
    """a refuse and a hello in one go"""
    with Connection(host.address, host.identity) as connection:
        connection.send(REFUSAL, [HELLO, connection.hello(SERVICE)])
        wait_for_end(connection)


breaks("client-refusal")(after_refuse([REQUEST, 1, 1000, {}]))
BROKEN[-1] = ("a request after the host's refuse", *BROKEN[-1][1:])
breaks("client-refusal")(after_refuse([PING, 1], seconds=6))
BROKEN[-1] = ("a refused client that stays", *BROKEN[-1][1:])


def after_too_large(what, *close):
    """A client that ends the connection over a response of status 5."""
    @breaks("response-too-large")
    def _(host):
        with connect(host, limit=1024, **{"window-bytes": 1024}) as connection:
            if connection.request({"Do": "fill", "Bytes": 3000})[0] != 5:
                raise Wrong("another status than 5")
            if close:
                connection.send([CLOSE, *close])
                wait_for_end(connection)
            else:
                end(connection)
    BROKEN[-1] = (f"{what} after a response of status 5", *BROKEN[-1][1:])


after_too_large("a close with status 2", 2)
after_too_large("a close with status 2 and a failure", 2, {"text": "Too large.", "retry": False})
after_too_large("a close with status 3", 3)
after_too_large("an end without a close")


@breaks("message-malformed")
def _(host):
    """a response that cannot be read, and nothing else broken"""
    with connect(host) as connection:
        connection.send([REQUEST, 1, 5000, {"Do": "ask", "Number": 1}])
        connection.next()
        connection.send_bytes(frame(None, bytes.fromhex("84040100a10102")))
        connection.answer(1)
        connection.close()
        end(connection)
    time.sleep(0.3)
    found = [event["rule"] for event in list(host.events.queue) if not host.is_judged(event)]
    if found != ["message-malformed"]:
        raise Wrong(f"{found} were broken")


def broken(host, vectors):
    for conversation in vectors["conversations"]:
        outcome = conversation["outcome"]
        if outcome.get("broken-by") == "caller":
            yield (conversation["name"], outcome["code"],
                   lambda host, conversation=conversation: replay(host, conversation))
    yield from BROKEN


class Results:
    def __init__(self):
        self.failed = 0

    def check(self, name, function):
        try:
            problem = function()
        except Exception as error:  # every error is the check's result
            problem = repr(error)
        self.failed += problem is not None
        print(f"FAIL {name}: {problem}" if problem else f"ok {name}", flush=True)


def main(program, directory, vectors):
    vectors, results = json.loads(pathlib.Path(vectors).read_text()), Results()
    host = Host(program, directory)
    try:
        for name, client in kept(host, vectors):
            results.check(f"kept: {name}", client)
        summary, status = host.stop()
    finally:
        host.process.kill()
    results.check("a client that keeps every rule has broken none", lambda: (summary["broken"], status) != ({}, 0) and summary or None)
    results.check("every rule was exercised", lambda: summary["neverExercised"] or None)

    sections = {vector["name"]: vector["section"] for vector in vectors["conversations"] if "section" in vector}
    host, rules = Host(program, directory), set()
    try:
        for name, rule, client in broken(host, vectors):
            def run():
                while not host.events.empty():
                    host.events.get()
                client(host)
                found = host.next("broken")
                host.judged = found["connection"]
                rules.add(found["rule"])
                expected = sections.get(name, found["section"])
                return None if (found["rule"], found["section"]) == (rule, expected) and found["seen"] and found["expected"] else found
            results.check(f"broken: {name}: {rule}", run)
        summary, status = host.stop()
    finally:
        host.process.kill()
    results.check("the summary names every broken rule", lambda: set(summary["broken"]) ^ rules or None)
    results.check("a run with broken rules ends with status 1", lambda: None if status == 1 else status)
    print(f"{len(rules)} rules were broken and named")
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
