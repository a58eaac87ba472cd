# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""A client of the wire protocol that shares no code with RemoteSystems: written from Docs/wire-protocol.md alone.

Requires Python's standard library, cbor2 (6 or newer) and `openssl`, which makes keys and certificate requests and
verifies signatures: the standard library has no elliptic-curve keys. The numbers in brackets are sections of that
document.
"""
import base64
import dataclasses
import datetime
import functools
import hashlib
import hmac
import io
import ipaddress
import math
import os
import pathlib
import re
import socket
import ssl
import struct
import subprocess
import tempfile
import time
import unicodedata
import urllib.parse

import cbor2

HELLO, ACCEPT, REFUSE, REQUEST, RESPONSE, CANCEL, PING, PONG, CLOSE, DATA, FIN, ABORT, STATE = range(13)
ALPN, JOIN_ALPN = "remote-systems/1", "remote-systems-join/1"


class Broken(Exception):
    """The other side broke a rule, or ended the connection when it must not. With the code of the rule, if it has one."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


class Refused(Exception):
    """The host refused the connection."""

    def __init__(self, status, failure):
        super().__init__(f"refused with status {status}: {failure.get('text', '')}")
        self.status, self.failure = status, failure


class HeldUp(EOFError):
    """The other side ended the connection without sending anything, after its handshake timeout."""


# Values [9]

# The tags of dates, URLs, UUIDs and sets. They are kept as tags, since cbor2's own types can express less.
KEPT = {tag: (lambda value, *_, tag=tag: cbor2.CBORTag(tag, value)) for tag in (1, 32, 37, 258)}


def encode(value):
    return cbor2.dumps(value, canonical=True)


def decode(data, depth=32):
    """Reads one value, and accepts only the encoding that the document allows."""
    try:
        value = cbor2.loads(data, semantic_decoders=KEPT, max_depth=2 * depth + 2, allow_indefinite=False,
                            allow_duplicate_keys=False)
        check(value, depth)
        canonical = encode(value)
    except (cbor2.CBORDecodeError, cbor2.CBOREncodeError) as error:
        raise Broken(str(error)) from error
    if canonical != data:
        raise Broken(f"not in the one encoding: {data.hex()} instead of {canonical.hex()}")
    return value


def check(value, depth):
    def require(condition, text):
        if not condition:
            raise Broken(text)

    if isinstance(value, (list, dict)) or isinstance(value, cbor2.CBORTag) and value.tag == 258:
        require(depth > 0, "nested deeper than 32 levels")
    if value is None or isinstance(value, (bool, float, str, bytes)):
        return
    if isinstance(value, int):
        require(-2**63 <= value < 2**64, "an integer out of range")
    elif isinstance(value, list):
        for element in value:
            check(element, depth - 1)
    elif isinstance(value, dict):
        require(len(value) <= 10_000, "more than 10 000 keys")
        for key, element in value.items():
            require(isinstance(key, str), "a key that is no string")
            check(element, depth - 1)
    elif isinstance(value, cbor2.CBORTag):
        content = value.value
        if value.tag == 1:
            require(type(content) in (int, float) and math.isfinite(content), "a date that is no finite number")
            require(type(content) is not float or content != int(content) or abs(content) > 2**53, "an integer is due")
            require(type(content) is not int or abs(content) <= 2**53, "a float is due")
        elif value.tag == 32:
            require(isinstance(content, str) and is_uri(content), "no URL")
        elif value.tag == 37:
            require(isinstance(content, bytes) and len(content) == 16, "no UUID")
        elif value.tag == 258:
            require(isinstance(content, list), "a set of no array")
            parts = [encode(element) for element in content]
            require(all(a < b for a, b in zip(parts, parts[1:])), "a set out of order or with an element twice")
            check(content, depth)
        else:
            require(False, f"tag {value.tag}")
    else:
        require(False, f"{type(value).__name__} is no value")


# RFC 3986, appendix A, with a scheme in front.
MARKS = r"[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}"
URI = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?:(?:(?!@)(?:MARKS))*@)?(?:\[(?P<literal>[^\]]*)\]|(?:(?![:@])(?:MARKS))*)(?::[0-9]*)?(?=[/?#]|\Z)|(?!//))"
    r"(?:(?:MARKS)|/)*(?:\?(?:(?:MARKS)|[/?])*)?(?:#(?:(?:MARKS)|[/?])*)?".replace("MARKS", MARKS))
FUTURE_ADDRESS = re.compile(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")


def is_uri(text):
    """Whether a text is a URI with a scheme."""
    match = URI.fullmatch(text)
    literal = match and match["literal"]
    if literal is None or FUTURE_ADDRESS.fullmatch(literal):
        return match is not None
    try:
        return "%" not in literal and bool(ipaddress.IPv6Address(literal))
    except ValueError:
        return False


# Frames [4]

# The minimum number of elements of each kind, and the number after which further elements are ignored.
ELEMENTS = {HELLO: (2, 2), ACCEPT: (2, 2), REFUSE: (3, 3), REQUEST: (4, 6), RESPONSE: (4, 5), CANCEL: (2, 2), PING: (2, 2),
            PONG: (2, 2), CLOSE: (2, 3), DATA: (2, 2), FIN: (1, 1), ABORT: (2, 2), STATE: (3, 3)}
STREAM_SERVICE = "remote-systems.stream"
# The keys of a hello, an accept and a failure. Required keys have no default.
LIMITS = {"limit": int, "window": int, "window-bytes": int}
KEYS = {
    HELLO: {"version": list, "service": str, "target": str, "application": str, "features": list, "requires": list, **LIMITS},
    ACCEPT: {
        "version": list, "application": str, "features": list, "request-schema": dict, "response-schema": dict,
        "push-request-schema": dict, "push-response-schema": dict, **LIMITS,
    },
}
FAILURE = {"text": str, "code": str, "retry": bool}
# The keys of a state frame's body by its operation: required keys, and optional ones (wire/published-state.md).
SUBSCRIBE, SNAPSHOT, DELTA, CREDIT, END, UNSUBSCRIBE = range(6)
PARTS = {"part": int, "to": int, "put": dict, "drop": list}
STATES = [
    ({"topic": str, "schema": int, "credit": int}, {"epoch": int, "after": int}),
    ({"topic": str, "epoch": int}, PARTS),
    ({"topic": str, "epoch": int, "from": int}, PARTS),
    ({"topic": str, "credit": int}, {}),
    ({"topic": str, "reason": str}, {}),
    ({"topic": str}, {"reason": str}),
]


def frame(array, body=None):
    body = encode(array) if body is None else body
    return struct.pack(">I", len(body)) + body


def read_frame(body):
    """The array of a frame, without additions of newer versions; None for an unknown kind.

    Errors have the code of section 14. For a request or a response with an unreadable message they also have its number.
    """
    try:
        return read_array(body)
    except Broken as broken:
        number = number_of_message(body)
        broken.number, broken.code = number, broken.code or ("frame-malformed" if number is None else "message-malformed")
        raise


def number_of_message(body):
    """The number of a request or a response whose frame is valid up to its message."""
    if not body or body[0] not in range(0x84, 0x98):
        return None
    stream, numbers = io.BytesIO(body[1:]), []
    try:
        numbers = [cbor2.load(stream, allow_indefinite=False) for _ in range(3)]
    except cbor2.CBORDecodeError:
        return None
    if not all(type(number) is int and number >= 0 for number in numbers) or numbers[0] not in (REQUEST, RESPONSE):
        return None
    return numbers[1] if body.startswith(body[:1] + b"".join(map(encode, numbers))) else None


def read_array(body):
    try:
        stream = io.BytesIO(body)
        every = cbor2.load(stream, semantic_decoders=KEPT, max_depth=66, allow_indefinite=False, allow_duplicate_keys=False)
    except cbor2.CBORDecodeError as error:
        raise Broken(str(error)) from error
    if stream.tell() != len(body):
        raise Broken("bytes behind the array")
    if not isinstance(every, list) or not every or type(every[0]) is not int or every[0] < 0:
        raise Broken("not an array that begins with an unsigned integer")
    kind = every[0]
    least, most = ELEMENTS.get(kind, (1, 1))
    for element in every[most:]:
        check_depth(element, 32)
    if kind not in ELEMENTS:
        return None
    array = every[:most]
    if len(array) < least:
        raise Broken("an element is missing")
    # Ignored elements may have any encoding, all others may not.
    head = encode([None] * len(every))[:-len(every)]
    if not body.startswith(head + b"".join(map(encode, array))):
        raise Broken(f"not in the one encoding: {body.hex()}")
    if kind == DATA:
        if not (isinstance(array[1], bytes) and 1 <= len(array[1]) <= 65536):
            raise Broken("data of no bytes, of too many, or of another type")
        return array
    numbers = {REQUEST: 2, RESPONSE: 2, HELLO: 0, ACCEPT: 0, FIN: 0, ABORT: 0}.get(kind, 1)
    for element in array[1:1 + numbers]:
        if type(element) is not int or element < 0:
            raise Broken("not an unsigned integer")
    keys = array[4:] if kind == REQUEST else []
    del array[len(array) - len(keys):]
    if keys and keys[0] is not None and not (isinstance(keys[0], bytes) and 1 <= len(keys[0]) <= 64):
        raise Broken("a key that is no data of 1 to 64 bytes")
    if len(keys) > 1 and keys[1] is not None:
        check_metadata(keys[1])
    while keys and keys[-1] is None:
        keys.pop()
    for element in array[1 + numbers:]:
        if not isinstance(element, dict):
            raise Broken("not a dictionary")
        check(element, 32)
    if kind in KEYS:
        stream = array[1].get("stream")
        array[1] = {"application": "", **read_keys(array[1], KEYS[kind])}
        check_hello(kind, array[1])
        if stream is not None and array[1].get("service") == STREAM_SERVICE:
            check_stream(stream)
            array[1]["stream"] = stream
    if kind == STATE:
        if array[1] >= len(STATES):
            return None
        array[2] = read_state(array[2], *STATES[array[1]])
    failure = {REFUSE: 2, RESPONSE: 4, CLOSE: 2, ABORT: 1}.get(kind)
    if failure and len(array) > failure:
        code = array[failure].get("code")
        if not (isinstance(code, str) and re.fullmatch("[a-z0-9.-]{1,64}", code)):  # treated as missing
            array[failure].pop("code", None)
        array[failure] = read_keys(array[failure], FAILURE)
    return array + keys


def read_state(body, required, optional):
    """The body of a state frame, without additions of newer versions."""
    body = read_keys(body, required | optional)
    for key in required:
        if key not in body:
            raise Broken(f"without {key}")
    if ("epoch" in body) != ("after" in body) and "schema" in body:
        raise Broken("epoch or after without the other")
    for key, value in body.items():
        if type(value) is int and value < 0:
            raise Broken(f"{key} is below 0")
        if key in ("topic", "reason") and not re.fullmatch(r"[a-z0-9.-]{1,64}", value):
            raise Broken(f"{key} is no name")
    if not all(isinstance(record, dict) for record in body.get("put", {}).values()):
        raise Broken("a record that is no dictionary")
    for key in [*body.get("put", {}), *body.get("drop", [])]:
        if not isinstance(key, str) or not 1 <= len(key.encode()) <= 1280:
            raise Broken("a record's key of another form")
    return body


def check_metadata(metadata):
    """The rules of section 6."""
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Broken("metadata that is no dictionary of strings")
    if len(metadata) > 64 or sum(len(text.encode()) for item in metadata.items() for text in item) > 8192:
        raise Broken("too much metadata")
    for key, value in metadata.items():
        if not re.fullmatch(r"[a-z0-9._-]{1,64}", key):
            raise Broken("a metadata key of another form")
        if any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in value):
            raise Broken("a metadata value with control characters")


def check_depth(element, depth):
    """Checks the limits of ignored values."""
    if isinstance(element, (list, dict, cbor2.CBORTag)):
        if not depth:
            raise Broken("nested deeper than 32 levels")
        parts = [element.value] if isinstance(element, cbor2.CBORTag) else element
        for part in [*element, *element.values()] if isinstance(element, dict) else parts:
            check_depth(part, depth - 1)


def read_keys(map, keys):
    known = {key: value for key, value in map.items() if key in keys}
    for key, value in known.items():
        if type(value) is not keys[key]:
            raise Broken(f"{key} is of another type", "hello-malformed" if "limit" in keys else None)
    return known


def check_hello(kind, map):
    def require(condition, rule):
        if not condition:
            raise Broken(rule, "hello-malformed")

    version = map.get("version", [])
    require(len(version) >= 2 and all(type(number) is int and number >= 0 for number in version[:2]), "version")
    map["version"] = version[:2]
    if version[0] != 1:  # the rest of another version's hello may be anything
        return
    missing = {"limit", "window", "window-bytes"} | ({"service"} if kind == HELLO else set())
    missing -= map.keys()
    require(not missing, f"without {', '.join(sorted(missing))}")
    for key in ("service", "target", "application"):
        text = map.get(key, "")
        require(len(text.encode()) <= 256, f"{key} is too long")
        require(not any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in text), f"{key} is no name")
    require(map.get("service") != "" and map["limit"] >= 1024 and map["window"] >= 1 and map["window-bytes"] >= map["limit"],
            "service, limit, window or window-bytes is out of range")


def check_stream(claim):
    """The contents of a hello for a stream [wire/streams.md]."""
    ticket, purpose = (claim.get("ticket"), claim.get("purpose")) if isinstance(claim, dict) else (None, None)
    if not (isinstance(ticket, bytes) and len(ticket) == 16 and isinstance(purpose, str) and 1 <= len(purpose.encode()) <= 256):
        raise Broken("stream is of another form", "hello-malformed")


# Ids and certificates [2]

def base32(data):
    return base64.b32encode(data).decode().lower().rstrip("=")


def from_base32(text):
    try:
        data = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    except ValueError as error:
        raise Broken(f"{text!r} is not base32", "certificate-invalid") from error
    if base32(data) != text:
        raise Broken(f"{text!r} is not the one spelling", "certificate-invalid")
    return data


def openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, capture_output=True, check=True, timeout=20).stdout


def der(data):
    """The parts of DER: (tag, contents, all its bytes)."""
    parts, offset = [], 0
    while offset < len(data):
        start, tag, length = offset, data[offset], data[offset + 1]
        offset += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[offset:offset + count], "big")
            offset += count
        if offset + length > len(data):
            raise ValueError("DER that ends too soon")
        parts.append((tag, data[offset:offset + length], data[start:offset + length]))
        offset += length
    return parts


@functools.cache
def is_signature(spki, signature, data):
    """Whether a signature over data is that of a public key. Runs openssl once: a caller has one second until its hello."""
    with tempfile.TemporaryDirectory() as directory:
        key, file = pathlib.Path(directory, "key"), pathlib.Path(directory, "signature")
        key.write_bytes(openssl("pkey", "-pubin", "-inform", "DER", input=spki))
        file.write_bytes(signature)
        result = subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", file],
                                input=data, capture_output=True, timeout=20)
        return result.returncode == 0


P256_SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
ECDSA_SHA256 = bytes.fromhex("300a06082a8648ce3d040302")
# The extensions that a certificate may call critical, by the contents of their object identifiers.
NAME, CONSTRAINTS, USAGE, EXTENDED = (bytes.fromhex(text) for text in ("551d11", "551d13", "551d0f", "551d25"))
CLIENT, SERVER = bytes.fromhex("06082b06010505070302"), bytes.fromhex("06082b06010505070301")


class Certificate:
    def __init__(self, data):
        try:
            self.read(data)
        except (ValueError, IndexError) as error:
            raise Broken(f"not a certificate in DER: {error}", "certificate-invalid") from error

    def read(self, data):
        self.data = data
        (_, outer, _), = der(data)
        (_, fields, self.signed), (_, _, self.algorithm), (_, signature, _) = der(outer)
        self.signature = signature[1:]
        fields = der(fields)
        self.version = fields.pop(0)[1][-1] + 1 if fields[0][0] == 0xA0 else 1
        self.serial = int.from_bytes(fields[0][1], "big", signed=True)
        self.begin, self.end = (self.date(*part[:2]) for part in der(fields[3][1]))
        self.spki = fields[5][2]
        self.extensions = {}
        for tag, contents, _ in fields[6:]:
            if tag == 0xA3:
                for _, extension, _ in der(der(contents)[0][1]):
                    parts = der(extension)
                    self.extensions[parts[0][1]] = (parts[1][0] == 1 and parts[1][1] == b"\xff", parts[-1][1])

    @staticmethod
    def date(tag, contents):
        text = contents.decode()
        if tag == 0x17:
            text = ("20" if int(text[:2]) < 50 else "19") + text
        return datetime.datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=datetime.timezone.utc)

    @property
    def id(self):
        if not (self.spki.startswith(P256_SPKI) and len(self.spki) == 91 and self.spki[26] == 4):
            raise Broken("not a P-256 key with an uncompressed point", "certificate-invalid")
        return base32(hashlib.sha256(self.spki).digest())

    def is_signed_by(self, root):
        return self.algorithm == ECDSA_SHA256 and is_signature(root.spki, self.signature, self.signed)

    @property
    def names(self):
        return der(der(self.extensions[NAME][1])[0][1]) if NAME in self.extensions else []

    @property
    def critical(self):
        return {key for key, (critical, _) in self.extensions.items() if critical}

    def system_id(self, roots, account, now=None, revoked=(), anonymous=False, links=()):
        """The id of the certificate's system. Raises Broken if a rule is broken.

        With `anonymous` a system of another account is accepted. The links are those of its sender, newest first.
        """
        def require(condition, rule, code="certificate-invalid"):
            if not condition:
                raise Broken(f"the certificate: {rule}", code)

        now = now or datetime.datetime.now(datetime.timezone.utc)
        require(len(self.data) <= 4096 and self.version == 3, "at most 4096 bytes, version 3")
        extensions = self.extensions
        names = self.names
        own = self.id  # of a P-256 key
        first = names[0][1].decode() if names and names[0][0] == 0x86 else ""
        require(first.startswith("remote-systems://"), "names no account", "other-account")
        require(len(names) == 1, "exactly one name, a URI")
        of, _, system = first.removeprefix("remote-systems://").partition("/")
        require(len(from_base32(of)) == len(from_base32(system)) == 32, "two ids")
        require(of == account or anonymous, "another account", "other-account")
        require(self.algorithm == ECDSA_SHA256, "signed with ECDSA and SHA-256")
        root = None
        if of == account:
            roots = roots.extended(links)
            root = roots.signer(self.is_signed_by)
            require(roots.id == account and root, "signed by one of the account's root keys")
        require({CONSTRAINTS, USAGE, EXTENDED} <= extensions.keys(), "all four extensions")
        require(self.critical <= {NAME, CONSTRAINTS, USAGE, EXTENDED}, "no other critical extensions")
        require(system == own, "its own key's id")
        require(b"\x01\x01\xff" not in extensions[CONSTRAINTS][1], "not a CA")
        bits = der(extensions[USAGE][1])[0][1]
        require(bits[1] & 0x80 and not bits[1] & 0x06, "digitalSignature, neither keyCertSign nor cRLSign")
        purposes = [whole for _, _, whole in der(der(extensions[EXTENDED][1])[0][1])]
        require(CLIENT in purposes and SERVER in purposes, "clientAuth and serverAuth")
        require(self.begin <= now, "not begun", "certificate-not-yet-valid")
        require(now <= self.end, "ended", "certificate-expired")
        require(not root or not roots.is_retired(root, now), "signed by a retired root key", "certificate-expired")
        require(system not in revoked, "revoked", "revoked")
        return own


class Roots:
    """The root keys of an account, oldest first: the first one's certificate, and verified links."""

    def __init__(self, data):
        if len(data) > 7168:
            raise Broken("more than 7168 bytes of root certificates", "certificate-invalid")
        try:
            certificates = [Certificate(whole) for _, _, whole in der(data)]
        except (ValueError, IndexError) as error:
            raise Broken(f"not certificates in DER: {error}", "certificate-invalid") from error
        if not certificates:
            raise Broken("no root certificate", "certificate-invalid")
        self.certificates = certificates[:1]
        for link in certificates[1:]:
            self.append(link)

    @property
    def id(self):
        return self.certificates[0].id

    @property
    def data(self):
        return b"".join(certificate.data for certificate in self.certificates)

    def append(self, link):
        self.check(link, len(self.certificates) + 1)
        if link.id in [root.id for root in self.certificates]:
            raise Broken("a root key twice", "certificate-invalid")
        self.certificates.append(link)

    def check(self, link, number):
        """Whether a link is one of the root with this number."""
        def require(condition, rule):
            if not condition:
                raise Broken(f"a link: {rule}", "certificate-invalid")

        require(len(link.data) <= 512 and link.version == 3 and link.id, "at most 512 bytes, version 3, a P-256 key")
        require(link.serial == number <= 16, "the number of the root, at most 16")
        require([name[:2] for name in link.names] == [(0x86, f"remote-systems://{self.id}".encode())], "the account's name")
        require(link.critical <= {NAME, CONSTRAINTS, USAGE, EXTENDED}, "no other critical extensions")
        require(b"\x01\x01\xff" in link.extensions.get(CONSTRAINTS, (False, b""))[1], "a CA")
        require(USAGE in link.extensions and der(link.extensions[USAGE][1])[0][1][1] & 0x04, "keyCertSign")
        require(link.is_signed_by(self.certificates[number - 2]), "signed by the root before")

    def extended(self, links):
        """These roots, extended by those of a peer's links, which are newest first."""
        if len(links) > 15:
            raise Broken("more than 15 links", "certificate-invalid")
        roots = Roots(self.data)
        for number, data in enumerate(reversed(links), 2):
            if number > len(roots.certificates):
                roots.append(Certificate(data))
            elif data != roots.certificates[number - 1].data:
                link = Certificate(data)
                roots.check(link, number)
                if link.id != roots.certificates[number - 1].id:
                    raise Broken("another successor than the one that is known", "certificate-invalid")
        return roots

    def signer(self, has_signed):
        """The number of the newest root for which has_signed is true, or None."""
        return next((number for number in range(len(self.certificates), 0, -1) if has_signed(self.certificates[number - 1])), None)

    def is_retired(self, number, now):
        # Not valid for longer than a later one. A stolen one is retired whatever the clock says.
        return any(link.end <= now or (link.end - link.begin).total_seconds() < 3600 for link in self.certificates[number:])


@dataclasses.dataclass
class Identity:
    """The stored state of a system: its key, its certificate, and its knowledge of the account."""
    directory: pathlib.Path

    def path(self, name):
        return str(self.directory / name)

    @property
    def root(self):
        return Roots((self.directory / "root.der").read_bytes())

    @property
    def account(self):
        return self.root.id

    @property
    def id(self):
        return Certificate(ssl.PEM_cert_to_DER_cert((self.directory / "certificate.pem").read_text())).id

    def keep_certificate(self, data):
        # Replaces the file as a whole, since other threads may connect with the old one.
        new = self.directory / "certificate.new"
        new.write_text(ssl.DER_cert_to_PEM_cert(data))
        new.replace(self.directory / "certificate.pem")

    @staticmethod
    def create(directory, name="/", *options):
        """A new key with a certificate that it signed itself."""
        identity = Identity(pathlib.Path(directory))
        identity.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt", "ec_param_enc:named_curve")
        with open(os.open(identity.path("key.pem"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            file.write(key)
        openssl("req", "-x509", "-key", identity.path("key.pem"), "-subj", name, "-days", "30", "-sha256", *options,
                "-out", identity.path("certificate.pem"))
        return identity


# TLS and connections [3, 5-8]

class Stream:
    """TLS 1.3 with frames in it. TLS itself verifies no peer: the caller checks the certificate after the handshake."""

    # From the start of the TCP connection until the hello has arrived completely.
    opening_time = 1.0
    # The local address to connect from, and port 0; None for any.
    source = None

    def __init__(self, address, identity=None, alpn=ALPN, timeout=20.0, goes_on_without_alpn=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if identity:
            context.load_cert_chain(identity.path("certificate.pem"), identity.path("key.pem"))
        if alpn:
            context.set_alpn_protocols([alpn])
        self.begin, self.has_heard = time.monotonic(), False
        plain = socket.create_connection(address, timeout, self.source)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self.tls = context.wrap_socket(plain, suppress_ragged_eofs=False)
        except BaseException as error:
            plain.close()
            if isinstance(error, OSError) and not isinstance(error, TimeoutError) and self.is_late():
                raise HeldUp("the handshake took too long") from error
            raise
        if self.tls.selected_alpn_protocol() != alpn and not goes_on_without_alpn:
            self.tls.close()
            raise Broken(f"the handshake gave {self.tls.selected_alpn_protocol()!r} instead of {alpn!r}")
        self.certificate = Certificate(self.tls.getpeercert(binary_form=True))
        # Python has a public method for the further certificates only since 3.13.
        chain = self.tls._sslobj.get_unverified_chain() if hasattr(self.tls._sslobj, "get_unverified_chain") else None
        self.links = [ssl.PEM_cert_to_DER_cert(certificate.public_bytes()) for certificate in (chain or [])[1:]]
        self.received = b""

    def is_late(self):
        """Whether nothing was received until the timeout."""
        return not self.has_heard and time.monotonic() - self.begin >= self.opening_time

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tls.close()

    def send_bytes(self, data):
        self.tls.sendall(data)

    def send(self, *arrays):
        self.send_bytes(b"".join(map(frame, arrays)))

    def take(self, count, deadline):
        while len(self.received) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("nothing came in time")
            self.tls.settimeout(left)
            try:
                data = self.tls.recv(65536)  # an end without close_notify is raised as ssl.SSLEOFError
                if not data:
                    raise EOFError("the other side said close_notify")
            except TimeoutError:
                raise
            except (EOFError, OSError) as error:
                if self.is_late():
                    raise HeldUp("the opening took too long") from error
                raise
            self.has_heard = True
            self.received += data
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def receive_body(self, timeout=20.0, limit=1 << 20):
        deadline = time.monotonic() + timeout
        length, = struct.unpack(">I", self.take(4, deadline))
        if not 1 <= length <= limit:
            raise Broken(f"a frame of {length} bytes, where {limit} are taken")
        return self.take(length, deadline)

    def receive(self, timeout=20.0, limit=1 << 20):
        """The next frame that is not of an unknown kind. EOFError is an end with close_notify, OSError one without."""
        deadline = time.monotonic() + timeout
        while True:
            array = read_frame(self.receive_body(deadline - time.monotonic(), limit))
            if array:
                return array


class Connection(Stream):
    """A caller's connection to an app service."""

    def __init__(self, address, identity, **options):
        super().__init__(address, identity, **options)
        self.identity, self.number, self.accepted = identity, 0, None

    def authenticate(self):
        """The id of the host's system. Raises Broken if it is not trusted."""
        try:
            return self.certificate.system_id(self.identity.root, self.identity.account, links=self.links)
        except Broken as reason:
            self.send([REFUSE, 7, {"text": str(reason), "retry": False}])
            raise

    def hello(self, service, **changes):
        return {"version": [1, 0], "service": service, "application": "org.example.independent", "limit": 1 << 20,
                "window": 8, "window-bytes": 1 << 20, **changes}

    def open(self, service, **changes):
        """Authenticates the host, sends the hello, and returns the host's acceptance."""
        self.authenticate()
        self.send([HELLO, self.hello(service, **changes)])
        answer = self.receive(limit=8192)
        if answer[0] == REFUSE:
            raise Refused(*answer[1:])
        if answer[0] != ACCEPT:
            raise Broken(f"{answer} in answer to a hello")
        self.accepted = answer[1]
        return self.accepted

    def next(self, timeout=20.0, limit=1 << 20):
        """The next frame other than a ping. Responds to pings."""
        deadline = time.monotonic() + timeout
        while True:
            array = self.receive(deadline - time.monotonic(), limit)
            if array[0] == PING:
                self.send([PONG, array[1]])
            elif array[0] == STATE and array[1] == SUBSCRIBE:
                self.send([STATE, END, {"topic": array[2]["topic"], "reason": "topic-unknown"}])
            elif array[0] != PONG:
                return array

    def snapshot(self, topic, timeout=20.0):
        """Subscribes to a topic, and returns its records by key."""
        self.send([STATE, SUBSCRIBE, {"topic": topic, "schema": 1, "credit": 1 << 20}])
        records, part, epoch = {}, 0, None
        while True:
            array = self.next(timeout)
            if array[:2] != [STATE, SNAPSHOT] or array[2]["topic"] != topic:
                raise Broken(f"{array} in place of a snapshot of {topic}")
            body = array[2]
            if body.get("part", 0) != part or epoch not in (None, body["epoch"]):
                raise Broken(f"part {body.get('part', 0)} in place of {part}")
            records.update(body.get("put", {}))
            for key in body.get("drop", []):
                records.pop(key, None)
            part, epoch = part + 1, body["epoch"]
            if "to" in body:
                return records

    def request(self, message, timeout=20.0):
        """Sends a request, and returns the status, the message and the failure of its response."""
        self.number += 1
        self.send([REQUEST, self.number, int(timeout * 1000), message])
        return self.answer(self.number, timeout)

    def answer(self, number, timeout=20.0):
        array = self.next(timeout)
        if array[:2] != [RESPONSE, number]:
            raise Broken(f"{array} in place of the answer to request {number}")
        return array[2], array[3], array[4] if len(array) > 4 else {}

    def close(self):
        """Closes gracefully; returns whether the host sent close_notify."""
        self.send([CLOSE, 0])
        array = self.next()
        if array != [CLOSE, 0]:
            raise Broken(f"{array} in answer to close")
        try:
            self.receive()
        except EOFError:
            return True
        except ssl.SSLEOFError:
            return False
        raise Broken("something came after the close")


# Announcements, and revoked systems [12]

def discovery_tag(key, instance):
    return hmac.digest(key, b"remote-systems/1" + instance.encode(), "sha256")[:8]


def read_revocation_list(data, roots, now):
    """The number of a list and its ids, if an account with these root keys signed it."""
    if len(data) < 72 or (len(data) - 72) % 32 or len(data) > 72 + 4096 * 32:
        raise Broken("a length that no list has", "revocation-list-invalid")
    body = signed_by_root(data, b"remote-systems/1 revoked", roots, now)
    ids = [body[offset:offset + 32] for offset in range(8, len(body), 32)]
    if any(a >= b for a, b in zip(ids, ids[1:])):
        raise Broken("the ids are not in order, each once", "revocation-list-invalid")
    return int.from_bytes(body[:8]), [base32(one) for one in ids]


def read_discovery_key(data, roots, now):
    """The number of the list that a signed discovery key belongs to, and the key."""
    if len(data) != 104:
        raise Broken("a length that no signed key has", "revocation-list-invalid")
    body = signed_by_root(data, b"remote-systems/1 discovery", roots, now)
    return int.from_bytes(body[:8]), body[8:]


def signed_by_root(data, context, roots, now):
    """What comes before the signature, if a root key that is not retired made it."""
    body, raw = data[:-64], data[-64:]
    numbers = b""
    for number in (raw[:32], raw[32:]):  # as DER, the form that openssl reads
        number = number.lstrip(b"\0") or b"\0"
        number = b"\0" + number if number[0] & 0x80 else number
        numbers += bytes([2, len(number)]) + number
    signature = bytes([0x30, len(numbers)]) + numbers
    signed = context + from_base32(roots.id) + body
    root = roots.signer(lambda root: is_signature(root.spki, signature, signed))
    if not root or roots.is_retired(root, now):
        raise Broken("the signature does not hold", "revocation-list-invalid")
    return body


def launch_scheme(text):
    """The scheme of a URI that may be launched, in lower case."""
    if not is_uri(text) or "%00" in text or len(text) > 8192 or len(text.partition(":")[0]) > 64:
        raise Broken("not a URI that may be launched", "request-invalid")
    return text.partition(":")[0].lower()


# Joining an account [12]

JOIN_PARTS = {
    0: {"nonce": (32, 32), "request": (1, 2048)}, 1: {"nonce": (32, 32), "certificate": (1, 4096), "root-certificate": (1, 7168)},
    2: {"code": (32, 32)}, 3: {"code": (32, 32), "certificate": (1, 4096), "discovery-key": (32, 32)}, 4: {},
}
JOIN_OPTIONAL = {3: {"signed-discovery-key": (104, 104), "revocations": (72, 131144)}}
JOIN_REASONS = {"expired", "already-used", "wrong-secret", "malformed", "failed", "revoked"}


def read_join_message(body):
    """The kind and the parts of a message, without additions of newer versions."""
    array = decode(body)
    if not isinstance(array, list) or len(array) < 2 or array[0] not in JOIN_PARTS or not isinstance(array[1], dict):
        raise Broken("no message of joining")
    kind, map = array[:2]
    if kind == 4:
        return [4, {"reason": map["reason"] if map.get("reason") in JOIN_REASONS else "failed"}]
    parts = {**JOIN_PARTS[kind], **{name: size for name, size in JOIN_OPTIONAL.get(kind, {}).items() if name in map}}
    for name, (least, most) in parts.items():
        if not isinstance(map.get(name), bytes) or not least <= len(map[name]) <= most:
            raise Broken(f"{name} is missing, or of another size")
    if kind == 2 and "name" in map:
        if not isinstance(map["name"], str):
            raise Broken("the name is not a string")
        parts["name"] = None
    return [kind, {name: map[name] for name in parts}]


def fields(*parts):
    return hashlib.sha256(b"".join(struct.pack(">Q", len(part)) + part for part in parts)).digest()


def hkdf(secret, salt, info):
    key = hmac.digest(salt, secret, "sha256")
    return hmac.digest(key, info + b"\x01", "sha256")


@dataclasses.dataclass
class Invitation:
    account: str
    addresses: list
    expires: int
    secret: bytes

    @staticmethod
    def read(text):
        def require(condition, rule):
            if not condition:
                raise Broken(f"not an invitation that can be read: {rule}")

        start, _, query = text.strip().partition("?")
        require(start == "remote-systems://join", "remote-systems://join?")
        require("#" not in text, "no fragment")
        items = {}
        for item in query.split("&"):
            name, _, value = item.partition("=")
            items.setdefault(name, []).append(value)
        items = {name: [percent_decoded(value) for value in items[name]]
                 for name in ("v", "account", "address", "expires", "secret") if name in items}
        require(items.get("v") == ["1"], "v")
        for key in ("account", "expires", "secret"):
            require(len(items.get(key, [])) == 1, key)
        (account,), (expires,), (secret,) = (items[key] for key in ("account", "expires", "secret"))
        require(len(from_base32(account)) == 32 and len(from_base32(secret)) == 16, "base32")
        require(re.fullmatch("[0-9]+", expires) and int(expires) <= 253_402_300_799, "expires")
        addresses = []
        for address in items.get("address", []):
            match = re.fullmatch(r"(?:\[([0-9A-Za-z.:%_-]*:[0-9A-Za-z.:%_-]*)\]|([0-9A-Za-z.%_-]+)):([0-9]{1,5})", address)
            require(match and 1 <= int(match[3]) <= 65535, "a host and a port")
            addresses.append((match[1] or match[2], int(match[3])))
        require(1 <= len(addresses) <= 8, "one to eight addresses")
        return Invitation(account, addresses, int(expires), from_base32(secret))


def percent_decoded(text):
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise Broken("a % without two digits")
    try:
        return urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise Broken("no UTF-8") from error


class Joining(Stream):
    """One exchange with an inviter, step by step."""

    opening_time = 15.0

    def __init__(self, invitation, identity, address=None):
        super().__init__(address or invitation.addresses[0], identity, alpn=JOIN_ALPN)
        self.invitation, self.identity = invitation, identity
        self.request = openssl("req", "-new", "-key", identity.path("key.pem"), "-subj", "/", "-sha256", "-outform", "DER")
        self.nonce = os.urandom(32)

    def exchange(self, kind, map):
        self.send([kind, map])
        array = read_join_message(self.receive_body(limit=8192 + 131144))
        if array[0] == 4:
            raise Refused(4, {"text": array[1]["reason"]})
        if array[0] != kind + 1:
            raise Broken(f"{array} in answer to {kind}")
        return array[1]

    def challenge(self):
        """Sends the hello, and checks that the inviter belongs to the account and is the peer of the TLS connection."""
        answer = self.exchange(0, {"nonce": self.nonce, "request": self.request})
        root, inviter = Roots(answer["root-certificate"]), Certificate(answer["certificate"])
        if root.id != self.invitation.account or inviter.data != self.certificate.data:
            raise Broken("the peer is not the inviter")
        inviter.system_id(root, self.invitation.account)
        account = from_base32(root.id)
        self.root, self.transcript = root, [
            b"remote-systems/1 join", account, from_base32(self.identity.id), from_base32(inviter.id), self.nonce, self.request,
            answer["nonce"], inviter.data, root.data]
        self.keys = [hkdf(self.invitation.secret, account, b"remote-systems/1 join " + name) for name in (b"joiner", b"inviter")]

    def prove(self):
        code = hmac.digest(self.keys[0], fields(*self.transcript), "sha256")
        answer = self.exchange(2, {"code": code})
        transcript = self.transcript + [code, answer["certificate"], answer["discovery-key"]]
        if not hmac.compare_digest(answer["code"], hmac.digest(self.keys[1], fields(*transcript), "sha256")):
            raise Broken("the inviter does not know the secret")
        if Certificate(answer["certificate"]).system_id(self.root, self.invitation.account) != self.identity.id:
            raise Broken("a certificate for another key")
        return answer


def replay_joining(vector, keys, moment):
    """Plays both sides of a join vector, without a network. Returns the difference, if there is one."""
    invitation, outcome = Invitation.read(vector["invitation"]), {}
    joiner, inviter = (from_base32(keys[vector[side]]["id"]) for side in ("joiner", "inviter"))
    account, now = from_base32(invitation.account), moment(vector["now"])
    key_of = {name: hkdf(invitation.secret, account, b"remote-systems/1 join " + name) for name in (b"joiner", b"inviter")}
    said, transcript, proved = [], None, None
    for step in vector["steps"]:
        kind, parts = read_join_message(bytes.fromhex(step["hex"])[4:])
        if outcome:
            return f"something comes after {outcome}"
        if kind == 0:
            said = [parts["nonce"], parts["request"]]
            own = hashlib.sha256(subject_key(parts["request"])).digest() == joiner
            refusal = "expired" if now.timestamp() >= invitation.expires else None if own else "malformed"
        elif kind == 1:
            try:
                root, other = Roots(parts["root-certificate"]), Certificate(parts["certificate"])
                if root.id != invitation.account or from_base32(other.system_id(root, invitation.account, now)) != inviter:
                    raise Broken("the peer is not the inviter")
            except Broken:
                outcome = {"stopped-by": "joiner"}
                continue
            transcript = [b"remote-systems/1 join", account, joiner, inviter, *said, parts["nonce"], other.data, root.data]
        elif kind == 2:
            if transcript is None:
                refusal = "malformed"
                continue
            proved = parts["code"]
            refusal = None if proved == hmac.digest(key_of[b"joiner"], fields(*transcript), "sha256") else "wrong-secret"
        elif kind == 3:
            whole = [*transcript, proved, parts["certificate"], parts["discovery-key"]]
            granted = Certificate(parts["certificate"])
            if parts["code"] != hmac.digest(key_of[b"inviter"], fields(*whole), "sha256") or from_base32(granted.id) != joiner:
                outcome = {"stopped-by": "joiner"}
                continue
            outcome = {"joined": granted.system_id(root, invitation.account, now)}
            computed = {"k1": key_of[b"joiner"], "k2": key_of[b"inviter"], "t": fields(*transcript), "t2": fields(*whole)}
            if vector["computed"] != {name: value.hex() for name, value in computed.items()}:
                return f"computed {computed}"
        elif parts["reason"] != refusal:
            return f"{parts} where {refusal} is due"
        else:
            outcome = {"refused": refusal}
    return None if outcome == vector["outcome"] else f"ends with {outcome}"


def subject_key(request):
    """The SubjectPublicKeyInfo of a certificate request, if the request is signed with its key."""
    (_, outer, _), = der(request)
    (_, contents, signed), (_, _, algorithm), (_, signature, _) = der(outer)
    key = der(contents)[2][2]
    if algorithm != ECDSA_SHA256 or not is_signature(key, signature[1:], signed):
        raise Broken("a request that is not signed with its own key")
    return key


def join(invitation, directory):
    """Joins an account. Stores the new identity in a directory, and returns it."""
    identity = Identity.create(directory)
    with Joining(invitation, identity) as joining:
        joining.challenge()
        answer = joining.prove()
    identity.keep_certificate(answer["certificate"])
    (identity.directory / "root.der").write_bytes(joining.root.data)
    (identity.directory / "discovery-key").write_bytes(answer["discovery-key"])
    return identity
