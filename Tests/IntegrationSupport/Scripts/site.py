#!/usr/bin/env python3
# This source file is part of the RemoteSystems open source project
# SPDX-License-Identifier: Apache-2.0
"""HTTPS sites on loopback, each with an association file or one of the ways in which it can be wrong.

Usage: site.py DIRECTORY [APPLICATION]. Makes a test authority, certificates and signed files in the directory, prints
"port N", and serves until its standard input ends. The files approve the application, too. Signatures are made by
openssl."""

import contextlib
import datetime
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import threading
import time

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DIRECTORY = pathlib.Path(sys.argv[1])
APPROVED = "KEY1.com.example.reader"
FILE = json.dumps({
    "applinks": {"apps": [], "details": []},
    "webcredentials": {"apps": ["KEY9.com.example.reader"]},
    "activitycontinuation": {"apps": [APPROVED, "KEY2.com.example.other", *sys.argv[2:]], "later": 1},
}).encode()
WELL_KNOWN, ROOT = "/.well-known/apple-app-site-association", "/apple-app-site-association"
JSON, SIGNED = "application/json", "application/pkcs7-mime"
NOW = datetime.datetime.now(datetime.timezone.utc)


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificate(subject, hosts, key, issuer=None, begin=-1, end=30, usage=ExtendedKeyUsageOID.SERVER_AUTH):
    """Makes a certificate. Without hosts, it is that of an authority; without an issuer, it is signed by itself."""
    issuer_name, issuer_key = issuer or (name(subject), key)
    builder = (
        x509.CertificateBuilder().subject_name(name(subject)).issuer_name(issuer_name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + datetime.timedelta(days=begin)).not_valid_after(NOW + datetime.timedelta(days=end))
        .add_extension(x509.BasicConstraints(ca=not hosts, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def write(stem, key, *chain):
    (DIRECTORY / f"{stem}.key").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    pem = [one.public_bytes(serialization.Encoding.PEM) for one in chain]
    (DIRECTORY / f"{stem}.pem").write_bytes(b"".join(pem))
    (DIRECTORY / f"{stem}.chain").write_bytes(b"".join(pem[1:]))


def signed(stem, *options):
    """Signs the file as Apple's instructions say."""
    (DIRECTORY / "file.json").write_bytes(FILE)
    extra = ["-certfile", str(DIRECTORY / f"{stem}.chain")] if (DIRECTORY / f"{stem}.chain").stat().st_size else []
    return subprocess.run(
        ["openssl", "smime", "-sign", "-nodetach", "-outform", "DER", "-in", str(DIRECTORY / "file.json"),
         "-inkey", str(DIRECTORY / f"{stem}.key"), "-signer", str(DIRECTORY / f"{stem}.pem"), *extra, *options],
        check=True, stdout=subprocess.PIPE).stdout


def p256():
    return ec.generate_private_key(ec.SECP256R1())


root_key, middle_key = p256(), p256()
root = certificate("Test authority", [], root_key)
middle = certificate("Test intermediate", [], middle_key, (root.subject, root_key))
by_root, by_middle = (root.subject, root_key), (middle.subject, middle_key)
write("authority", root_key, root)
strange_key = p256()
strange = certificate("Strange authority", [], strange_key)

# stem: (hosts, key, issuer, chain, changes)
for stem, hosts, key, issuer, chain, changes in [
    ("rsa", ["signed-rsa.example", "altered.example"], rsa.generate_private_key(65537, 2048), by_middle, [middle], {}),
    ("ec", ["signed-ec.example", "*.wild.example"], p256(), by_root, [], {}),
    ("foreign", ["other.example"], p256(), by_root, [], {}),
    ("untrusted", ["untrusted-signer.example"], p256(), (strange.subject, strange_key), [strange], {}),
    ("mail", ["mail-signer.example"], p256(), by_root, [], {"usage": ExtendedKeyUsageOID.EMAIL_PROTECTION}),
    ("past", ["past-signer.example"], p256(), by_root, [], {"begin": -20, "end": -10}),
]:
    write(stem, key, certificate(stem, hosts, key, issuer, **changes), *chain)

original = signed("rsa", "-noattr")
RESPONSES = {
    "plain.example": {WELL_KNOWN: (200, {"Content-Type": JSON + "; charset=utf-8"}, FILE)},
    "root.example": {ROOT: (200, {"Content-Type": JSON}, FILE)},
    "signed-rsa.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, original)},
    "signed-ec.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("ec"))},
    "a.wild.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("ec", "-noattr", "-md", "sha384"))},
    "short.example": {WELL_KNOWN: (200, {"Content-Type": JSON, "Cache-Control": "max-age=600"}, FILE)},
    "moved.example": {
        WELL_KNOWN: (301, {"Location": "/elsewhere?a=b"}, b""),
        "/elsewhere?a=b": (200, {"Content-Type": JSON}, FILE),
    },
    # What is wrong.
    "gone.example": {},
    "error.example": {WELL_KNOWN: (500, {}, b""), ROOT: (200, {"Content-Type": JSON}, FILE)},
    "wrong-name.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE)},
    "self-signed.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE)},
    "expired.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE)},
    "to-http.example": {WELL_KNOWN: (302, {"Location": "http://to-http.example" + ROOT}, b"")},
    "to-other.example": {WELL_KNOWN: (302, {"Location": "https://plain.example" + WELL_KNOWN}, b"")},
    "loop.example": {WELL_KNOWN: (302, {"Location": WELL_KNOWN}, b"")},
    "large.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE + b" " * (128 << 10))},
    "slow.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE)},
    "page.example": {WELL_KNOWN: (200, {"Content-Type": "text/html"}, FILE)},
    "compressed.example": {WELL_KNOWN: (200, {"Content-Type": JSON, "Content-Encoding": "gzip"}, FILE)},
    "broken.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, FILE[:-2])},
    "unlisted.example": {WELL_KNOWN: (200, {"Content-Type": JSON}, json.dumps({
        "activitycontinuation": {"apps": ["KEY2.com.example.reader", "KEY1.com.example.writer"]},
    }).encode())},
    "altered.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, original.replace(b"KEY2", b"KEY3"))},
    "foreign-signer.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("foreign", "-noattr"))},
    "untrusted-signer.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("untrusted", "-noattr"))},
    "mail-signer.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("mail", "-noattr"))},
    "past-signer.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, signed("past", "-noattr"))},
    "unsigned.example": {WELL_KNOWN: (200, {"Content-Type": SIGNED}, FILE)},
}

site_key = p256()
for stem, chain in [
    ("sites", [certificate("sites", [host for host in RESPONSES if host != "wrong-name.example"], site_key, by_middle), middle]),
    ("self-signed", [certificate("self-signed.example", ["self-signed.example"], site_key)]),
    ("expired", [certificate("expired.example", ["expired.example"], site_key, by_root, begin=-20, end=-10)]),
]:
    write(f"tls-{stem}", site_key, *chain)


def context(stem):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(DIRECTORY / f"tls-{stem}.pem", DIRECTORY / f"tls-{stem}.key")
    return made


usual = context("sites")
special = {"self-signed.example": context("self-signed"), "expired.example": context("expired")}


def choose(connection, host, _):
    connection.context = special.get(host, usual)


usual.sni_callback = choose


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        host = self.headers["Host"].split(":")[0]
        print(f"GET {host} {self.path}", flush=True)
        status, fields, body = RESPONSES.get(host, {}).get(self.path, (404, {}, b""))
        self.send_response(status)
        for field, value in fields.items():
            self.send_header(field, value)
        # The size is not told, so that it is met on the way.
        if host == "large.example":
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if host == "slow.example":
            for byte in body:
                self.wfile.write(bytes([byte]))
                time.sleep(0.2)
        else:
            self.wfile.write(body)
        if host == "large.example":
            # Only TLS's own end distinguishes a whole body of unknown size from a cut one.
            with contextlib.suppress(OSError):
                self.connection.unwrap()
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        # In the thread of the connection, so that a failing handshake holds up no other.
        try:
            request.settimeout(20)
            super().finish_request(usual.wrap_socket(request, server_side=True), client_address)
        except OSError:
            pass

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(f"port {server.server_address[1]}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
