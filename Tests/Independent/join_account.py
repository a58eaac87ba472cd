# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""Joins an account with an invitation, written from Docs/wire-protocol.md alone (section 12, "Joining an account").

join_account.py DIRECTORY    reads the invitation from standard input; writes key.pem, certificate.pem, root.pem and
                             discovery-key into DIRECTORY and prints the new system's id, or "refused: REASON"
"""
import base64
import datetime
import hashlib
import hmac
import os
import pathlib
import socket
import ssl
import struct
import sys
import urllib.parse

import cbor2
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

HELLO, CHALLENGE, PROOF, ACCEPTED, REFUSED = range(5)


class Refused(Exception):
    pass


def unbase32(text):
    return base64.b32decode(text.upper() + "=" * (-len(text) % 8))


def base32(data):
    return base64.b32encode(data).decode().rstrip("=").lower()


def key_id(key):
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()


class Transcript:
    def __init__(self, *fields):
        self.hash = hashlib.sha256()
        self.add(*fields)

    def add(self, *fields):
        for field in fields:
            self.hash.update(struct.pack(">Q", len(field)) + field)

    def code(self, secret, account, side):
        info = b"remote-systems/1 join " + side
        key = HKDF(hashes.SHA256(), length=32, salt=account, info=info).derive(secret)
        return hmac.digest(key, self.hash.digest(), "sha256")


class Channel:
    def __init__(self, host, port, directory):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.set_alpn_protocols(["remote-systems-join/1"])
        context.load_cert_chain(directory / "joining.pem", directory / "key.pem")
        self.socket = context.wrap_socket(socket.create_connection((host, port), timeout=10))
        assert self.socket.selected_alpn_protocol() == "remote-systems-join/1"
        self.peer = self.socket.getpeercert(binary_form=True)

    def send(self, kind, content):
        message = cbor2.dumps([kind, content], canonical=True)
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def receive(self, expected):
        (length,) = struct.unpack(">I", self.exactly(4))
        assert 1 <= length <= 8192
        kind, content = cbor2.loads(self.exactly(length))[:2]
        if kind == REFUSED:
            raise Refused(content["reason"])
        assert kind == expected
        return content

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the inviter closed the connection")
            data += more
        return data


def join(invitation, directory):
    parts = urllib.parse.urlsplit(invitation.strip())
    assert (parts.scheme, parts.netloc) == ("remote-systems", "join")
    items = urllib.parse.parse_qs(parts.query)
    assert items["v"] == ["1"]
    account, secret = unbase32(items["account"][0]), unbase32(items["secret"][0])
    host, _, port = items["address"][0].rpartition(":")

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "joining")])
    now = datetime.datetime.now(datetime.timezone.utc)
    own = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    (directory / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (directory / "joining.pem").write_bytes(own.public_bytes(Encoding.PEM))
    request = x509.CertificateSigningRequestBuilder(name).sign(key, hashes.SHA256()).public_bytes(Encoding.DER)

    channel = Channel(host.strip("[]"), int(port), directory)
    nonce = os.urandom(32)
    channel.send(HELLO, {"nonce": nonce, "request": request})
    challenge = channel.receive(CHALLENGE)
    root = x509.load_der_x509_certificate(challenge["root-certificate"])
    assert key_id(root.public_key()) == account
    assert challenge["certificate"] == channel.peer
    inviter = x509.load_der_x509_certificate(challenge["certificate"])
    inviter.verify_directly_issued_by(root)

    transcript = Transcript(
        b"remote-systems/1 join", account, key_id(key.public_key()), key_id(inviter.public_key()), nonce, request,
        challenge["nonce"], challenge["certificate"], challenge["root-certificate"],
    )  # fmt: skip
    code = transcript.code(secret, account, b"joiner")
    channel.send(PROOF, {"code": code})
    accepted = channel.receive(ACCEPTED)
    transcript.add(code, accepted["certificate"], accepted["discovery-key"])
    assert hmac.compare_digest(transcript.code(secret, account, b"inviter"), accepted["code"])

    certificate = x509.load_der_x509_certificate(accepted["certificate"])
    certificate.verify_directly_issued_by(root)
    assert key_id(certificate.public_key()) == key_id(key.public_key())
    assert channel.socket.recv(1) == b""
    (directory / "certificate.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    (directory / "root.pem").write_bytes(root.public_bytes(Encoding.PEM))
    (directory / "discovery-key").write_bytes(accepted["discovery-key"])
    return base32(key_id(key.public_key()))


if __name__ == "__main__":
    try:
        print(join(sys.stdin.read(), pathlib.Path(sys.argv[1])))
    except Refused as refusal:
        print(f"refused: {refusal}")
